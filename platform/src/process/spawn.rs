//! Starts a program: posix_spawn(3), which does not copy the memory of this process, however large
//! that is, and has the child begin with what the calling thread is confined to.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, accessat, statat};
use rustix::process::Pid;

use super::child::Child;
use super::command::{Command, Streams};
use super::plan::SpawnError;
use super::tree::{Mark, Tree};

/// The shell of the system, POSIX sh.
pub(super) const SHELL: &str = "/bin/sh";

/// What a system without it looks in, as execvp(3) does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Descriptors are kept above those that a child is given, so that none is overwritten on the way.
const ABOVE: i32 = 16;

/// A program that was started, and where its pipes are on this side.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: Pid,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
}

impl Started {
    /// Hands it on with all that it will start.
    pub(super) fn child(self, tree: Tree) -> Result<Child, SpawnError> {
        let Self { pid, stdout, stderr } = self;
        Child::new(pid, stdout, stderr, tree).map_err(SpawnError::Runner)
    }

    /// The same where only the mark tells what it will start.
    pub(super) fn marked(self, mark: Mark) -> Result<Child, SpawnError> {
        let tree = Tree::Marked(self.pid, mark);
        self.child(tree)
    }
}

/// A program that can be started.
#[derive(Debug)]
pub(super) struct Image {
    program: CString,
    arguments: Vec<CString>,
    env: Vec<CString>,
}

impl Image {
    /// `program` called by its own name, which is not looked up.
    pub(super) fn new(
        program: &Path,
        arguments: impl IntoIterator<Item = OsString>,
        env: &[(OsString, OsString)],
    ) -> io::Result<Self> {
        let program = c_string(program.as_os_str().to_owned())?;
        let rest: io::Result<Vec<_>> = arguments.into_iter().map(c_string).collect();
        let arguments = [vec![program.clone()], rest?].concat();
        let pair = |(name, value): &(OsString, OsString)| {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            c_string(pair)
        };
        let env = env.iter().map(pair).collect::<io::Result<_>>()?;
        Ok(Self { program, arguments, env })
    }

    /// The program of `command`, found as a shell finds it.
    pub(super) fn of(command: &Command) -> io::Result<Self> {
        let program = found(&command.program, &command.env)?;
        if program.as_os_str().as_bytes().contains(&b'/') {
            is_executable(&command.workdir, &program)?;
        }
        Self::new(&program, command.arguments.iter().cloned(), &command.env)
    }

    /// The path that is executed.
    pub(super) fn program(&self) -> &[u8] {
        self.program.as_bytes()
    }

    /// The command line, to be started by another program.
    pub(super) fn words(&self) -> impl Iterator<Item = OsString> + '_ {
        self.arguments.iter().map(|word| OsString::from_vec(word.as_bytes().to_vec()))
    }

    /// Starts it with these streams, and with `extra` as its descriptors from 3 on. No other
    /// descriptor is inherited, not even one that this process was started with.
    pub(super) fn spawn(&self, streams: Streams, extra: &[BorrowedFd<'_>]) -> io::Result<Started> {
        self.begin(streams, extra, None)
    }

    /// The same, but that `errors` is its standard error. That of `streams` is the first descriptor
    /// after `extra`.
    pub(super) fn spawn_apart(
        &self,
        streams: Streams,
        extra: &[BorrowedFd<'_>],
        errors: BorrowedFd<'_>,
    ) -> io::Result<Started> {
        self.begin(streams, extra, Some(errors))
    }

    fn begin(
        &self,
        streams: Streams,
        extra: &[BorrowedFd<'_>],
        errors: Option<BorrowedFd<'_>>,
    ) -> io::Result<Started> {
        let mut actions = PosixSpawnFileActions::init()?;
        let mut attributes = PosixSpawnAttr::init()?;
        let mut flags = PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
        attributes.set_sigmask(&SigSet::empty())?;
        let (mut stdout, mut stderr, mut theirs) = (None, None, Vec::new());
        if streams == Streams::Captured {
            let read = OFlags::RDONLY | OFlags::CLOEXEC;
            let nothing = above(rustix::fs::open("/dev/null", read, Mode::empty())?)?;
            actions.add_dup2(nothing.as_raw_fd(), 0)?;
            theirs.push(nothing);
            for (number, ours) in [(1, &mut stdout), (2, &mut stderr)] {
                let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
                let write = above(&write)?;
                actions.add_dup2(write.as_raw_fd(), number)?;
                theirs.push(write);
                *ours = Some(read);
            }
            // What this process ignores, or has handled, its command does not know of.
            attributes.set_sigdefault(&defaults())?;
            flags |= PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | SET_SESSION;
        }
        for (number, fd) in (3..).zip(extra) {
            let fd = above(fd)?;
            actions.add_dup2(fd.as_raw_fd(), number)?;
            theirs.push(fd);
        }
        if let Some(errors) = errors {
            let after = i32::try_from(3 + extra.len()).map_err(io::Error::other)?;
            actions.add_dup2(2, after)?;
            let errors = above(errors)?;
            actions.add_dup2(errors.as_raw_fd(), 2)?;
            theirs.push(errors);
        }
        let given = 3 + extra.len() + usize::from(errors.is_some());
        for other in open_from(given) {
            actions.add_close(other)?;
        }
        attributes.set_flags(flags)?;
        let pid = posix_spawn(
            self.program.as_c_str(),
            &actions,
            &attributes,
            &self.arguments,
            &self.env,
        )?;
        drop(theirs);
        let pid = Pid::from_raw(pid.as_raw()).expect("a child has an id");
        Ok(Started { pid, stdout, stderr })
    }
}

/// `POSIX_SPAWN_SETSID`, which glibc and musl have and the crate does not name.
const SET_SESSION: PosixSpawnFlags = PosixSpawnFlags::from_bits_retain(0x80);

/// All signals that a program may expect to find as they are by default.
fn defaults() -> SigSet {
    Signal::iterator()
        .filter(|signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP))
        .collect()
}

/// The descriptors of this process from this number on. One that is gone when it is to be closed is
/// no error, and one that another thread makes meanwhile is closed on exec(3).
fn open_from(first: usize) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(|number| usize::try_from(*number).is_ok_and(|own| own >= first)).collect()
}

fn above(fd: impl AsFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, ABOVE)?)
}

fn c_string(text: OsString) -> io::Result<CString> {
    CString::new(text.into_vec()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// The path of a program: as it is if it has a separator, otherwise the first of its name in the
/// `PATH` of `env` that is a file which may be executed.
fn found(program: &OsStr, env: &[(OsString, OsString)]) -> io::Result<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut error = io::ErrorKind::NotFound.into();
    for directory in std::env::split_paths(path) {
        let candidate = directory.join(program);
        match is_executable(CWD, &candidate) {
            Ok(()) => return Ok(candidate),
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => error = why,
            Err(_) => {}
        }
    }
    Err(error)
}

/// Fails if `path`, taken against `base`, is no file that may be executed.
fn is_executable(base: impl AsFd, path: &Path) -> io::Result<()> {
    let found = statat(&base, path, AtFlags::empty())?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(accessat(&base, path, Access::EXEC_OK, AtFlags::EACCESS)?)
}
