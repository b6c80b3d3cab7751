//! What ends the commands of this process when it dies, however it dies.
//!
//! Landlock's signal scope (ABI 6) makes a domain a set of processes that nobody leaves and whose
//! members can signal only each other: `kill(-1)` there reaches them all, and nobody else. One
//! thread enters such a domain, and every thread that starts a command is started by it, so all
//! commands are within. A small shell in the domain waits for the end of a pipe that this process
//! holds, and then ends all that is left. Each command has a domain of its own inside, so none can
//! signal the shell.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use landlock::{
    AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, test_kill_process, waitpid};

use super::command::Streams;
use super::landlock::not_entered;
use super::spawn::{Image, SHELL};
use crate::own_process::{Process, this_process};

/// Waits for the end of the pipe.
const WAIT: &str = "read -r _ <&3";

/// The same, without a parent that would have to wait for it, and then ends its whole domain. Says
/// who it is.
const WATCH: &str = "{ read -r _ <&3; kill -KILL -1; } </dev/null >/dev/null 2>&1 & echo $!";

type Job = Box<dyn FnOnce() + Send>;

/// The domain around all commands of this process, for as long as this process lives.
#[derive(Debug)]
pub(super) struct Supervisor {
    process: Process,
    threads: Sender<Job>,
    watcher: Watched,
    /// Closed by the kernel when this process ends.
    _alive: OwnedFd,
}

static SUPERVISOR: Mutex<Option<Arc<Supervisor>>> = Mutex::new(None);

impl Supervisor {
    /// That of this process, started if it was not yet or is gone.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Unsupported`] if the kernel has no signal scope, or does not hold it.
    pub(super) fn get() -> io::Result<Arc<Self>> {
        let mut slot = SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner);
        let usable = |own: &&Arc<Self>| own.process == this_process() && own.watcher.is_alive();
        if let Some(own) = slot.as_ref().filter(usable) {
            return Ok(Arc::clone(own));
        }
        let own = Arc::new(Self::start()?);
        *slot = Some(Arc::clone(&own));
        Ok(own)
    }

    fn start() -> io::Result<Self> {
        let (theirs, alive) = pipe_with(PipeFlags::CLOEXEC)?;
        let (threads, jobs) = channel();
        let (tell, told) = sync_channel(1);
        thread::Builder::new().name("ringfence-commands".into()).spawn(move || {
            let watcher = enter(&theirs);
            drop(theirs);
            let entered = watcher.is_ok();
            drop(tell.send(watcher));
            if entered {
                start_each(&jobs);
            }
        })?;
        let died = |_| Err(io::Error::other("the thread that starts commands has died"));
        let watcher = told.recv().unwrap_or_else(died)?;
        Ok(Self { process: this_process(), threads, watcher, _alive: alive })
    }

    /// Runs `job` on a new thread in the domain.
    pub(super) fn start_thread(&self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.send(Box::new(job)).map_err(|_| io::Error::other("there is no thread for it"))
    }

    /// Sees that this thread, in a domain of its own, cannot signal what is outside of it.
    ///
    /// # Errors
    ///
    /// If it can, or there is nobody any more to see it by.
    pub(super) fn prove_scoped(&self) -> io::Result<()> {
        self.watcher.prove_unreachable()
    }
}

fn start_each(jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        if let Err(error) = thread::Builder::new().name("ringfence-command".into()).spawn(job) {
            // Whoever waits for the job sees that it was dropped.
            tracing::debug!(%error, "a command has no thread");
        }
    }
}

/// Enters the domain on this thread, for good, and starts the shell that watches over it.
fn enter(pipe: &OwnedFd) -> io::Result<Watched> {
    let (canary_pipe, canary_alive) = pipe_with(PipeFlags::CLOEXEC)?;
    let canary = shell(WAIT)?.spawn(Streams::Captured, &[canary_pipe.as_fd()])?.pid;
    let proved = Watched::hold(canary).and_then(|canary| {
        test_kill_process(canary.pid)?;
        scope_signals(Scope::Signal.into())?;
        canary.prove_unreachable()
    });
    drop(canary_alive);
    let _ = waitpid(Some(canary), WaitOptions::empty());
    proved?;
    let shell = shell(WATCH)?.spawn(Streams::Captured, &[pipe.as_fd()])?;
    let mut told = String::new();
    File::from(shell.stdout.expect("it is captured")).read_to_string(&mut told)?;
    let _ = waitpid(Some(shell.pid), WaitOptions::empty());
    let watcher = told.trim().parse().ok().and_then(Pid::from_raw);
    Watched::hold(watcher.ok_or_else(|| io::Error::other("nobody watches over the commands"))?)
}

/// Gives up, on this thread and for good, to signal any process that is not in its domain, which the
/// kernel does not record where it can be told so. Renames and links between directories, which every
/// domain forbids but where it grants them, stay as they are.
pub(super) fn scope_signals(scopes: BitFlags<Scope>) -> io::Result<()> {
    let everywhere = PathFd::new("/").map_err(io::Error::other)?;
    let scoped = || -> Result<_, RulesetError> {
        let strict = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = strict.handle_access(AccessFs::Refer)?.scope(scopes)?.create()?;
        let ruleset = ruleset.add_rule(PathBeneath::new(everywhere, AccessFs::Refer))?;
        let quiet = ruleset.set_compatibility(CompatLevel::BestEffort).log_same_exec(false)?;
        quiet.restrict_self()
    };
    match scoped().map(|status| status.ruleset) {
        Ok(RulesetStatus::FullyEnforced) => Ok(()),
        Ok(RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced) => Err(not_scoped()),
        Err(error) => Err(not_entered(error)),
    }
}

fn not_scoped() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "signals are not held within a Landlock domain")
}

fn shell(script: &str) -> io::Result<Image> {
    Image::new(Path::new(SHELL), ["-c".into(), script.into()], &[])
}

/// A process of this user, which is not another's by now.
#[derive(Debug)]
struct Watched {
    pid: Pid,
    pidfd: OwnedFd,
}

impl Watched {
    fn hold(pid: Pid) -> io::Result<Self> {
        Ok(Self { pid, pidfd: pidfd_open(pid, PidfdFlags::empty())? })
    }

    fn is_alive(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&now)), Ok(0))
    }

    /// Sees that this thread may not signal it, though it is there and of the same user.
    fn prove_unreachable(&self) -> io::Result<()> {
        let refused = test_kill_process(self.pid) == Err(Errno::PERM);
        if refused && self.is_alive() { Ok(()) } else { Err(not_scoped()) }
    }
}
