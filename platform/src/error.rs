//! What happened to a call.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// The result of a platform call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refused or failed call.
///
/// `Display` names the operation, the path and what was wrong, and never repeats
/// [`source`](std::error::Error::source), which is the system's own error where there was one. In
/// the alternate form (`{:#}`) it says only what was wrong.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    op: &'static str,
    path: PathBuf,
    fault: Fault,
}

/// Why a call was refused or failed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The path leads outside its root, or would on the way. Never folded into another kind.
    #[error("it leads outside the root")]
    Escape,
    /// A protected place would be changed, moved or removed.
    #[error("it is protected, or on the way to a protected place")]
    Protected,
    /// The path is not one that a fence takes: empty, absolute, with `..`, NUL or a trailing slash.
    #[error("it is not a relative path of plain names")]
    InvalidPath,
    /// Nothing is there, or a directory on the way is missing.
    #[error("it, or a directory on the way, does not exist")]
    NotFound,
    /// Something is there already.
    #[error("it already exists")]
    AlreadyExists,
    /// What is there is not the version that was expected.
    #[error("it is not the version that was expected")]
    Stale,
    /// What is there is of another kind: a directory for a file, a device, a full directory.
    #[error("what is there is of another kind, or a directory that is not empty")]
    WrongKind,
    /// The host refuses: `EACCES`, `EPERM`, `EROFS`.
    #[error("the host does not permit it")]
    Denied,
    /// Something holds it: a mount point, a lock, a rename storm that outlasted the deadline.
    #[error("it is in use")]
    Busy,
    /// More than 40 symlinks on the way, or a magic link of `/proc`, which is never followed.
    #[error("too many symlinks, or a magic link, on the way")]
    Loop,
    /// A name or a path is longer than the system takes.
    #[error("a name on the way, or the path, is too long")]
    NameTooLong,
    /// No space or no inode is left.
    #[error("no space is left")]
    NoSpace,
    /// A quota is used up.
    #[error("the quota is used up")]
    Quota,
    /// The two ends of a rename are on different mounts, or this process is in a sandbox that lets
    /// nothing move between them: the kernel answers both alike.
    #[error("the two places are on different mounts, or a sandbox around this process parts them")]
    CrossDevice,
    /// The caller cancelled before the change was published.
    #[error("it was cancelled")]
    Cancelled,
    /// The host cannot give the enforcement that was required.
    #[error("the host cannot give the required enforcement")]
    TooWeak,
    /// The file system or the system cannot do this.
    #[error("the file system does not support it")]
    Unsupported,
    /// The confined thread is gone, or this is a forked child: the fence refuses from now on.
    #[error("the fence has lost its confined thread")]
    ConfinementLost,
    /// Any other failure of the system; see the source.
    #[default]
    #[error("the system reported an error")]
    Io,
}

impl Error {
    /// What went wrong, for a program to decide on.
    pub fn kind(&self) -> ErrorKind {
        self.0.fault.kind
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether something was done that remains: directories made for the change, or a part of a
    /// tree that was to be removed.
    pub fn remains(&self) -> bool {
        self.0.fault.remains
    }

    /// By what name a foreign writer's file lies beside the target, if it could not be put back.
    ///
    /// Only a third writer that acts between two exchanges of a guarded change can cause it. The
    /// file is whole; it only has another name.
    pub fn stranded(&self) -> Option<&OsStr> {
        self.0.fault.stranded.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            write!(f, "cannot {} {:?}: ", self.0.op, self.path())?;
        }
        self.kind().fmt(f)?;
        if self.0.fault.of_directory && self.kind() == ErrorKind::Denied {
            f.write_str("; it is the directory that may not be changed")?;
        }
        if self.remains() {
            f.write_str("; a part of it was done, and remains")?;
        }
        if let Some(name) = self.stranded() {
            write!(f, "; another writer's file was left beside it as {name:?}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.fault.source.as_ref().map(|e| e as _)
    }
}

/// The one place where an errno gets its meaning: to a call that acts on a name it has pinned.
fn classify(error: &io::Error) -> ErrorKind {
    let Some(errno) = Errno::from_io_error(error) else {
        let lacks = error.kind() == io::ErrorKind::Unsupported;
        return if lacks { ErrorKind::Unsupported } else { ErrorKind::Io };
    };
    match errno {
        Errno::XDEV => ErrorKind::CrossDevice,
        Errno::NOENT => ErrorKind::NotFound,
        Errno::EXIST => ErrorKind::AlreadyExists,
        Errno::NOTDIR | Errno::ISDIR | Errno::NOTEMPTY | Errno::NXIO => ErrorKind::WrongKind,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::Denied,
        Errno::BUSY | Errno::TXTBSY | Errno::AGAIN => ErrorKind::Busy,
        Errno::LOOP => ErrorKind::Loop,
        Errno::NAMETOOLONG => ErrorKind::NameTooLong,
        Errno::NOSPC => ErrorKind::NoSpace,
        Errno::DQUOT => ErrorKind::Quota,
        Errno::OPNOTSUPP | Errno::NOSYS => ErrorKind::Unsupported,
        _ => ErrorKind::Io,
    }
}

/// Why a step failed, before anybody has said in which call and on which path. Made on the way, so
/// it allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) source: Option<io::Error>,
    /// The name by which a file is left that is not ours and could not be put back.
    pub(crate) stranded: Option<OsString>,
    /// It is about the second of two paths.
    pub(crate) second: bool,
    /// The host refuses a change of the directory, and not of what is in it.
    pub(crate) of_directory: bool,
    /// Somebody holds the lock of the directory, who may soon let it go.
    pub(crate) locked: bool,
    /// Something was done on the way that remains.
    pub(crate) remains: bool,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Fails with this, unless it `holds` what was to be seen.
    pub(crate) fn unless(self, holds: bool) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(self) }
    }

    /// What a lookup has found, in the kernel's word for it, whoever looked. There `EXDEV` is an
    /// escape, and not a second file system.
    pub(crate) fn found(errno: Errno) -> Self {
        let fault = Self::from(errno);
        if errno == Errno::XDEV { Self { kind: ErrorKind::Escape, ..fault } } else { fault }
    }

    /// What a probe has found: that the system lacks something, or hides it, is an answer; anything
    /// else is a failure.
    pub(crate) fn too_weak(self) -> Self {
        let lacks = matches!(self.kind, ErrorKind::Unsupported | ErrorKind::Denied);
        if lacks { Self { kind: ErrorKind::TooWeak, ..self } } else { self }
    }

    pub(crate) fn at(self, op: &'static str, path: impl Into<PathBuf>) -> Error {
        Error(Box::new(Inner { op, path: path.into(), fault: self }))
    }
}

impl From<io::Error> for Fault {
    fn from(source: io::Error) -> Self {
        Self { kind: classify(&source), source: Some(source), ..Self::default() }
    }
}

impl From<Errno> for Fault {
    fn from(source: Errno) -> Self {
        io::Error::from(source).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_errno_has_the_kind_that_callers_decide_on() {
        let table = [
            (Errno::NOENT, ErrorKind::NotFound),
            (Errno::EXIST, ErrorKind::AlreadyExists),
            (Errno::NOTDIR, ErrorKind::WrongKind),
            (Errno::ISDIR, ErrorKind::WrongKind),
            (Errno::NOTEMPTY, ErrorKind::WrongKind),
            (Errno::NXIO, ErrorKind::WrongKind),
            (Errno::ACCESS, ErrorKind::Denied),
            (Errno::PERM, ErrorKind::Denied),
            (Errno::ROFS, ErrorKind::Denied),
            (Errno::BUSY, ErrorKind::Busy),
            (Errno::TXTBSY, ErrorKind::Busy),
            (Errno::AGAIN, ErrorKind::Busy),
            (Errno::LOOP, ErrorKind::Loop),
            (Errno::NAMETOOLONG, ErrorKind::NameTooLong),
            (Errno::NOSPC, ErrorKind::NoSpace),
            (Errno::DQUOT, ErrorKind::Quota),
            (Errno::OPNOTSUPP, ErrorKind::Unsupported),
            (Errno::NOSYS, ErrorKind::Unsupported),
            (Errno::INVAL, ErrorKind::Io),
            (Errno::IO, ErrorKind::Io),
            (Errno::NOMEM, ErrorKind::Io),
        ];
        for (errno, kind) in table {
            assert_eq!(Fault::found(errno).kind, kind, "{errno:?}");
            assert_eq!(Fault::from(errno).kind, kind, "{errno:?}");
        }
    }

    #[test]
    fn leaving_the_root_is_an_escape_and_another_file_system_is_not() {
        assert_eq!(Fault::found(Errno::XDEV).kind, ErrorKind::Escape);
        assert_eq!(Fault::from(Errno::XDEV).kind, ErrorKind::CrossDevice);
    }

    #[test]
    fn the_text_names_the_call_and_the_path_and_leaves_the_cause_to_the_source() {
        let error = Fault::from(Errno::ACCESS).at("write", "a/b");
        assert_eq!(error.to_string(), "cannot write \"a/b\": the host does not permit it");
        assert_eq!(format!("{error:#}"), "the host does not permit it");
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("denied"));
    }
}
