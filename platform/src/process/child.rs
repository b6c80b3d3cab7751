//! A command that runs: what it writes, how it ends, and the end of all that it started.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, waitid};

use super::records::Records;
use super::tree::Tree;

/// The most that is read at once.
const CHUNK: usize = 64 * 1024;

/// How long the processes of a command that was killed may take to be gone.
const PASSING: Duration = Duration::from_millis(500);

/// A command that was started, and every process that it starts. Dropping it ends them all.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    /// Becomes readable at its end.
    pidfd: OwnedFd,
    stdout: Option<File>,
    stderr: Option<File>,
    tree: Arc<Tree>,
    ended: Option<Ended>,
    records: Option<Records>,
}

/// A change that the kernel has recorded as denied to a command.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct KernelDenial {
    /// The file; for what makes, removes or moves an entry, the directory that it is in.
    pub path: PathBuf,
    /// The rights that were missing, as the kernel names them: `fs.make_reg,fs.refer`.
    pub rights: String,
}

/// Ends all processes of a command, from whatever thread.
#[derive(Clone, Debug)]
pub struct Killer(Arc<Tree>);

/// One of the streams that a command writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a command ended. What bubblewrap runs and a signal has ended that nobody here sent has exited,
/// with 128 and the number of the signal, as a shell says it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Ended {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// Somehow: another part of this process has taken its status.
    Unknown,
}

/// What was waited for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Happened {
    /// The command wrote this.
    Wrote(Stream, Vec<u8>),
    /// The command itself has ended. What it started may still run, and write.
    Ended(Ended),
    /// Everything that can write has ended or closed its streams.
    Silent,
    /// It is later than was to be waited for.
    Late,
}

impl Child {
    pub(super) fn new(
        pid: Pid,
        stdout: Option<OwnedFd>,
        stderr: Option<OwnedFd>,
        tree: Tree,
    ) -> io::Result<Self> {
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        for stream in [&stdout, &stderr].into_iter().flatten() {
            rustix::io::ioctl_fionbio(stream, true)?;
        }
        let (stdout, stderr) = (stdout.map(File::from), stderr.map(File::from));
        Ok(Self { pid, pidfd, stdout, stderr, tree: Arc::new(tree), ended: None, records: None })
    }

    /// The same, with what the kernel records of it.
    pub(super) fn recorded(mut self, records: Option<Records>) -> Self {
        self.records = records;
        self
    }

    /// Waits for the next that happens, until then at the latest; without a limit if `None`.
    ///
    /// The end of the command is told once. After it, what is still written is told until nobody is
    /// left who could write.
    ///
    /// # Errors
    ///
    /// As `poll(2)` and `read(2)`.
    pub fn next(&mut self, until: Option<Instant>) -> io::Result<Happened> {
        loop {
            if let Some(records) = &mut self.records {
                records.take();
            }
            if self.ended.is_some() && self.stdout.is_none() && self.stderr.is_none() {
                return Ok(Happened::Silent);
            }
            let Some(ready) = self.ready(until)? else { return Ok(Happened::Late) };
            if let Some(happened) = self.look(ready)? {
                return Ok(happened);
            }
        }
    }

    /// Asks every process of the command to end, with `SIGTERM`.
    pub fn terminate(&self) {
        self.tree.signal(Signal::TERM);
    }

    /// Ends every process of the command, with `SIGKILL`.
    pub fn kill(&self) {
        self.tree.signal(Signal::KILL);
    }

    /// Something that ends it from another thread.
    pub fn killer(&self) -> Killer {
        Killer(Arc::clone(&self.tree))
    }

    /// What the kernel has recorded as denied to the command by now: some of it, where that is much.
    /// It does so only where a Landlock domain of ABI 7 holds the command, audit was enabled when the
    /// runner was proved, and this process may read what is recorded. It can be asked once.
    pub fn denials(&mut self) -> Vec<KernelDenial> {
        let Some(records) = self.records.take() else { return Vec::new() };
        records.end()
    }

    /// The process of the command, to be shown.
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Which can be read or has ended: the command, its output, its errors. Nothing if it is late.
    fn ready(&self, until: Option<Instant>) -> io::Result<Option<[bool; 3]>> {
        let streams = [&self.stdout, &self.stderr];
        let mut waited: Vec<_> = Vec::with_capacity(3);
        if self.ended.is_none() {
            waited.push(PollFd::new(&self.pidfd, PollFlags::IN));
        }
        waited.extend(streams.into_iter().flatten().map(|file| PollFd::new(file, PollFlags::IN)));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.map(|left| Timespec::try_from(left).expect("a time that can be told"));
            match poll(&mut waited, left.as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let mut seen = waited.iter().map(|fd| !fd.revents().is_empty());
        let mut next = |is_waited: bool| is_waited && seen.next().unwrap_or(false);
        let ended = next(self.ended.is_none());
        Ok(Some([ended, next(self.stdout.is_some()), next(self.stderr.is_some())]))
    }

    /// The end comes before what is written, which may go on for ever: somebody is to end that.
    fn look(&mut self, [ended, stdout, stderr]: [bool; 3]) -> io::Result<Option<Happened>> {
        if ended {
            return self.reap().map(Happened::Ended).map(Some);
        }
        let streams = [
            (stdout, Stream::Stdout, &mut self.stdout),
            (stderr, Stream::Stderr, &mut self.stderr),
        ];
        for (_, stream, file) in streams.into_iter().filter(|(ready, ..)| *ready) {
            if let Some(bytes) = read(file)? {
                return Ok(Some(Happened::Wrote(stream, bytes)));
            }
        }
        Ok(None)
    }

    fn reap(&mut self) -> io::Result<Ended> {
        let waited = waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED);
        let ended = match waited {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Ended::Exited(code),
                (None, Some(signal)) => Ended::Signalled(signal),
                (None, None) => Ended::Unknown,
            },
            Ok(None) | Err(Errno::CHILD) => Ended::Unknown,
            Err(errno) => return Err(errno.into()),
        };
        let ended = self.tree.understood(ended);
        self.ended = Some(ended);
        Ok(ended)
    }
}

/// What can be read now. At its end the stream is given up.
fn read(stream: &mut Option<File>) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = stream else { return Ok(None) };
    let mut bytes = vec![0; CHUNK];
    match file.read(&mut bytes) {
        Ok(0) => {
            *stream = None;
            Ok(None)
        }
        Ok(length) => {
            bytes.truncate(length);
            Ok(Some(bytes))
        }
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Drop for Child {
    /// Nothing that was started is left, and no process that has ended waits to be looked at.
    fn drop(&mut self) {
        self.kill();
        let passed = Instant::now() + PASSING;
        while self.ended.is_none() {
            self.stdout = None;
            self.stderr = None;
            match self.next(Some(passed)) {
                Ok(Happened::Ended(_)) => {}
                Ok(_) | Err(_) => return,
            }
        }
    }
}

impl Killer {
    /// Ends every process of the command, with `SIGKILL`.
    pub fn kill(&self) {
        self.0.signal(Signal::KILL);
    }

    /// Asks every process of the command to end, with `SIGTERM`.
    pub fn terminate(&self) {
        self.0.signal(Signal::TERM);
    }
}
