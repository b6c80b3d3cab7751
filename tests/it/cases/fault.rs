//! The errors of the case tables, and which errno and which kind of error stands for each.

use ringfence_platform::ErrorKind;
use rustix::io::Errno;
use serde::Deserialize;

/// An error as a table names it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
pub(crate) enum Fault {
    Escape,
    InvalidPath,
    Denied,
    WrongKind,
    AlreadyExists,
    /// Whatever is said to a spelling that names no entry.
    Refused,
    #[serde(rename = "ENOENT")]
    NoEnt,
    #[serde(rename = "EEXIST")]
    Exist,
    #[serde(rename = "ENOTDIR")]
    NotDir,
    #[serde(rename = "EISDIR")]
    IsDir,
    #[serde(rename = "ENOTEMPTY")]
    NotEmpty,
    #[serde(rename = "ENXIO")]
    NxIo,
    #[serde(rename = "ELOOP")]
    Loop,
    #[serde(rename = "EACCES")]
    Acces,
    #[serde(rename = "EPERM")]
    Perm,
    #[serde(rename = "EBUSY")]
    Busy,
    #[serde(rename = "EINVAL")]
    Inval,
    #[serde(rename = "ENAMETOOLONG")]
    NameTooLong,
    #[serde(rename = "EXDEV")]
    XDev,
    #[serde(rename = "E2BIG")]
    TooBig,
    #[serde(rename = "EAGAIN")]
    Again,
    #[serde(rename = "ENOMSG")]
    NoMsg,
    #[serde(rename = "ERROR_INVALID_NAME")]
    WinInvalidName,
    #[serde(rename = "ERROR_SHARING_VIOLATION")]
    WinSharingViolation,
    #[serde(rename = "ERROR_ACCESS_DENIED")]
    WinAccessDenied,
    #[serde(rename = "ERROR_DIRECTORY")]
    WinDirectory,
}

impl Fault {
    /// The errno of the bare call, where it is one.
    fn errno(self) -> Option<Errno> {
        Some(match self {
            Self::NoEnt => Errno::NOENT,
            Self::Exist => Errno::EXIST,
            Self::NotDir => Errno::NOTDIR,
            Self::IsDir => Errno::ISDIR,
            Self::NotEmpty => Errno::NOTEMPTY,
            Self::NxIo => Errno::NXIO,
            Self::Loop => Errno::LOOP,
            Self::Acces => Errno::ACCESS,
            Self::Perm => Errno::PERM,
            Self::Busy => Errno::BUSY,
            Self::Inval => Errno::INVAL,
            Self::NameTooLong => Errno::NAMETOOLONG,
            Self::XDev => Errno::XDEV,
            Self::TooBig => Errno::TOOBIG,
            Self::Again => Errno::AGAIN,
            Self::NoMsg => Errno::NOMSG,
            Self::Escape
            | Self::InvalidPath
            | Self::Denied
            | Self::WrongKind
            | Self::AlreadyExists
            | Self::Refused
            | Self::WinInvalidName
            | Self::WinSharingViolation
            | Self::WinAccessDenied
            | Self::WinDirectory => return None,
        })
    }

    /// Whether a fence that answers `kind` gives this answer.
    pub(crate) fn admits(self, kind: ErrorKind) -> bool {
        match self {
            // A bare lookup answers `EXDEV` where a fence says what it means.
            Self::Escape | Self::XDev => kind == ErrorKind::Escape,
            Self::InvalidPath | Self::Inval => kind == ErrorKind::InvalidPath,
            Self::Denied | Self::Acces | Self::Perm => kind == ErrorKind::Denied,
            Self::WrongKind | Self::NotDir | Self::IsDir | Self::NotEmpty | Self::NxIo => {
                kind == ErrorKind::WrongKind
            }
            Self::AlreadyExists | Self::Exist => kind == ErrorKind::AlreadyExists,
            Self::NoEnt => kind == ErrorKind::NotFound,
            Self::Loop => kind == ErrorKind::Loop,
            Self::Busy | Self::Again => kind == ErrorKind::Busy,
            Self::NameTooLong => kind == ErrorKind::NameTooLong,
            Self::Refused => matches!(
                kind,
                ErrorKind::InvalidPath
                    | ErrorKind::Busy
                    | ErrorKind::AlreadyExists
                    | ErrorKind::WrongKind
                    | ErrorKind::NotFound
            ),
            Self::TooBig
            | Self::NoMsg
            | Self::WinInvalidName
            | Self::WinSharingViolation
            | Self::WinAccessDenied
            | Self::WinDirectory => false,
        }
    }
}

/// Whether a bare call that failed with `errno` failed as one of `faults` says.
pub(crate) fn errno_of(faults: &[Fault], errno: Errno) -> bool {
    faults.iter().any(|fault| fault.errno() == Some(errno))
}
