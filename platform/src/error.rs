//! What happened to a call.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of a platform call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refused or failed call.
///
/// `Display` names the operation, the path and what was wrong, and never repeats
/// [`source`](std::error::Error::source), which is the system's own error where there was one.
pub struct Error(Box<Inner>);

struct Inner {
    op: &'static str,
    path: PathBuf,
    kind: ErrorKind,
    source: Option<io::Error>,
    stranded: Option<PathBuf>,
}

/// Why a call was refused or failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The path leads outside its root, or would on the way. Never folded into another kind.
    Escape,
    /// The path is not one that a fence takes: empty, absolute, with `..`, NUL or a trailing slash.
    InvalidPath,
    /// Nothing is there, or a directory on the way is missing.
    NotFound,
    /// Something is there already.
    AlreadyExists,
    /// What is there is not the version that was expected.
    Stale,
    /// What is there is of another kind: a directory for a file, a device, a full directory.
    WrongKind,
    /// The host refuses: `EACCES`, `EPERM`, `EROFS`.
    Denied,
    /// Something holds it: a mount point, a lock, a rename storm that outlasted the deadline.
    Busy,
    /// More than 40 symlinks on the way, or a magic link of `/proc`, which is never followed.
    Loop,
    /// A name or a path is longer than the system takes.
    NameTooLong,
    /// No space or no inode is left.
    NoSpace,
    /// A quota is used up.
    Quota,
    /// The two ends of a rename are on different file systems.
    CrossDevice,
    /// The caller cancelled before the change was published.
    Cancelled,
    /// The host cannot give the enforcement that was required.
    TooWeak,
    /// The file system or the system cannot do this.
    Unsupported,
    /// The confined thread is gone, or this is a forked child: the fence refuses from now on.
    ConfinementLost,
    /// Any other failure of the system; see the source.
    Io,
}

/// Whether a failed call was looking a path up or acting on a name it had pinned. The same errno
/// means different things there: `EXDEV` is an escape in the one and two file systems in the other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    Resolve,
    Act,
}

impl Error {
    pub(crate) fn new(op: &'static str, path: impl Into<PathBuf>, kind: ErrorKind) -> Self {
        Self(Box::new(Inner { op, path: path.into(), kind, source: None, stranded: None }))
    }

    pub(crate) fn because(mut self, source: impl Into<io::Error>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// What went wrong, for a program to decide on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was being done: a verb such as `write` or `remove`.
    #[must_use]
    pub fn op(&self) -> &'static str {
        self.0.op
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Where a foreign writer's file lies that could not be put back, if that happened.
    ///
    /// Only a third writer that acts between two exchanges of a guarded write can cause it. The
    /// file is whole; it only has another name.
    #[must_use]
    pub fn stranded(&self) -> Option<&Path> {
        self.0.stranded.as_deref()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("op", &self.0.op)
            .field("path", &self.0.path)
            .field("kind", &self.0.kind)
            .field("source", &self.0.source)
            .field("stranded", &self.0.stranded)
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {:?}: {}", self.0.op, self.0.path, self.0.kind)?;
        if let Some(place) = &self.0.stranded {
            write!(f, "; another writer's file was left at {place:?}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|e| e as _)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Escape => "it leads outside the root",
            Self::InvalidPath => "it is not a relative path of plain names",
            Self::NotFound => "it does not exist",
            Self::AlreadyExists => "it already exists",
            Self::Stale => "it is not the version that was expected",
            Self::WrongKind => "what is there is of the wrong kind",
            Self::Denied => "the host does not permit it",
            Self::Busy => "it is in use",
            Self::Loop => "too many symlinks, or a magic link, on the way",
            Self::NameTooLong => "a name on the way, or the path, is too long",
            Self::NoSpace => "no space is left",
            Self::Quota => "the quota is used up",
            Self::CrossDevice => "the two places are on different file systems",
            Self::Cancelled => "it was cancelled",
            Self::TooWeak => "the host cannot give the required enforcement",
            Self::Unsupported => "the file system does not support it",
            Self::ConfinementLost => "the fence has lost its confined thread",
            Self::Io => "the system reported an error",
        })
    }
}

/// The one place where an errno gets its meaning.
#[cfg(unix)]
fn classify(step: Step, error: &io::Error) -> ErrorKind {
    use rustix::io::Errno;
    let Some(errno) = Errno::from_io_error(error) else { return ErrorKind::Io };
    match errno {
        Errno::XDEV if step == Step::Resolve => ErrorKind::Escape,
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
        // A directory renamed into itself, a name the file system cannot hold.
        Errno::INVAL => ErrorKind::InvalidPath,
        _ => ErrorKind::Io,
    }
}

/// Why a step failed, before anybody has said in which call and on which path. Made on the way, so
/// it allocates nothing.
#[derive(Debug)]
pub(crate) struct Fault {
    kind: ErrorKind,
    source: Option<io::Error>,
    stranded: Option<PathBuf>,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self { kind, source: None, stranded: None }
    }

    pub(crate) fn os(step: Step, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        Self { kind: classify(step, &source), source: Some(source), stranded: None }
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn with_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    pub(crate) fn stranded_at(self, place: PathBuf) -> Self {
        Self { stranded: Some(place), ..self }
    }

    /// Where a file lies that is not ours and could not be put back.
    pub(crate) fn stranded(&self) -> Option<&Path> {
        self.stranded.as_deref()
    }

    pub(crate) fn is_stranded(&self) -> bool {
        self.stranded.is_some()
    }

    pub(crate) fn at(self, op: &'static str, path: impl Into<PathBuf>) -> Error {
        let Self { kind, source, stranded } = self;
        Error(Box::new(Inner { op, path: path.into(), kind, source, stranded }))
    }
}

impl From<io::Error> for Fault {
    fn from(source: io::Error) -> Self {
        Self::os(Step::Act, source)
    }
}

#[cfg(unix)]
impl From<rustix::io::Errno> for Fault {
    fn from(source: rustix::io::Errno) -> Self {
        Self::os(Step::Act, source)
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

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
            (Errno::INVAL, ErrorKind::InvalidPath),
            (Errno::IO, ErrorKind::Io),
            (Errno::NOMEM, ErrorKind::Io),
        ];
        for (errno, kind) in table {
            for step in [Step::Resolve, Step::Act] {
                assert_eq!(Fault::os(step, errno).kind(), kind, "{errno:?}");
            }
        }
    }

    #[test]
    fn leaving_the_root_is_an_escape_and_another_file_system_is_not() {
        assert_eq!(Fault::os(Step::Resolve, Errno::XDEV).kind(), ErrorKind::Escape);
        assert_eq!(Fault::os(Step::Act, Errno::XDEV).kind(), ErrorKind::CrossDevice);
    }

    #[test]
    fn the_text_names_the_call_and_the_path_and_leaves_the_cause_to_the_source() {
        let error = Fault::os(Step::Act, Errno::ACCESS).at("write", "a/b");
        assert_eq!(error.to_string(), "cannot write \"a/b\": the host does not permit it");
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("denied"));
    }
}
