//! A command as data. Nothing here can run it.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags};

use crate::error::{Fault, Result};
use crate::path::RootedPath;
use crate::roots::Roots;

/// A program with its arguments, its whole environment and where it begins. `Debug` shows neither
/// arguments nor environment, which may hold secrets.
#[derive(Clone)]
#[non_exhaustive]
pub struct Command {
    /// The program: a path, or a name that is looked up in the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// All of its environment; nothing is added but by a runner that says so.
    pub env: Vec<(OsString, OsString)>,
    /// Where it begins.
    pub workdir: Workdir,
    /// What its standard streams are.
    pub streams: Streams,
}

impl Command {
    /// A command in an empty environment, whose output is captured.
    pub fn new(program: impl Into<OsString>, workdir: Workdir) -> Self {
        let (arguments, env) = (Vec::new(), Vec::new());
        Self { program: program.into(), arguments, env, workdir, streams: Streams::Captured }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, workdir, streams, .. } = self;
        f.debug_struct("Command")
            .field("program", program)
            .field("workdir", workdir)
            .field("streams", streams)
            .finish_non_exhaustive()
    }
}

/// What the standard streams of a command are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Streams {
    /// Nothing to read; what is written is read by whoever has the [`Child`](super::Child). The
    /// command has a session of its own and no terminal.
    Captured,
    /// Those of this process, its terminal included.
    Inherited,
}

/// A directory that a command begins in, held open: it is entered by descriptor, whatever has its
/// name by then.
#[derive(Clone, Debug)]
pub struct Workdir {
    path: PathBuf,
    dir: std::sync::Arc<OwnedFd>,
}

impl Workdir {
    /// Opens a directory by a path of the whole process.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) or
    /// [`ErrorKind::WrongKind`](crate::ErrorKind::WrongKind) if there is no directory;
    /// [`ErrorKind::Denied`](crate::ErrorKind::Denied) if it may not be entered.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || {
            let dir = rustix::fs::open(path, flags, Mode::empty())?;
            rustix::fs::accessat(&dir, c".", Access::EXEC_OK, AtFlags::EACCESS)?;
            Ok(dir)
        };
        let dir = open().map_err(|errno| Fault::found(errno).at("enter", path))?;
        Ok(Self { path: path.to_owned(), dir: dir.into() })
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its path still leads to it.
    pub fn is_there(&self) -> bool {
        let identity = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
        let (own, there) = (rustix::fs::fstat(&self.dir), rustix::fs::stat(&self.path));
        own.is_ok_and(|own| there.is_ok_and(|there| identity(own) == identity(there)))
    }
}

impl AsFd for Workdir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// What a confined command is held to.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Restrictions {
    /// Beneath which directories it may change files; nowhere without.
    pub roots: Option<Roots>,
    /// Whether modes, owners, times and attributes of files elsewhere have to be held too.
    pub metadata: bool,
    /// What it may reach beyond this machine's files.
    pub network: Network,
    /// Whether no runner will do that does not hold the network and the protected places of these
    /// restrictions, however little is required otherwise.
    pub strict: bool,
}

/// What every command may write to, whatever confines it: it changes no file.
pub const SAFE_DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"];

impl Restrictions {
    /// What it may not change all the same. What is missing when the command begins is not held.
    pub(super) fn protected(&self) -> &[RootedPath] {
        self.roots.as_ref().map_or(&[], Roots::protected)
    }
}

/// Whether a command has a network.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Network {
    /// That of this process.
    #[default]
    Shared,
    /// None.
    Denied,
}
