//! What a fence sees.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What kind of thing an entry is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symlink.
    Symlink,
    /// A FIFO, a socket or a device.
    Other,
}

/// Whether a symlink in the last place is followed. One on the way always is, beneath the root.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Follow {
    /// It is followed.
    Yes,
    /// It is looked at itself.
    No,
}

/// Which version of which file, as the file system tells it. Compare only for equality.
///
/// Two writes in one tick of the file system's clock can leave equal stamps. Where that matters,
/// compare a digest of the bytes too.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub struct Stamp {
    pub(crate) id: FileId,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i128,
    pub(crate) ctime_ns: i128,
}

impl Stamp {
    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When the inode last changed, in nanoseconds since 1970.
    pub fn changed_ns(&self) -> i128 {
        self.ctime_ns
    }
}

/// Which place a name meant at one instant. Two spellings of one place are equal, two hard links
/// to one file are not. Opaque, and good within one boot of one host.
///
/// A directory that exists is its own identity; anything else is its parent's identity and the
/// name in it, so the key survives the atomic replacement of a file.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct TargetKey {
    pub(crate) parent: FileId,
    pub(crate) rest: PathBuf,
}

/// The numbers that the system has for it, which mean nothing elsewhere or once it is gone.
impl fmt::Display for TargetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parent: FileId { dev, ino }, rest } = self;
        write!(f, "{dev}:{ino}")?;
        if rest.as_os_str().is_empty() { Ok(()) } else { write!(f, " {rest:?}") }
    }
}

impl TargetKey {
    /// Of the entry `rest` of a directory; of the directory itself, if that is empty.
    pub(crate) fn entry(parent: FileId, rest: impl AsRef<Path>) -> Self {
        Self { parent, rest: rest.as_ref().to_owned() }
    }
}

/// What a path names, or would name.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stat {
    /// The place, whether or not anything is there.
    pub key: TargetKey,
    /// What is there.
    pub found: Option<(Kind, Stamp)>,
}

/// An open file and the stamp of what will be read from it, both of one descriptor.
#[derive(Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// The file, at its start, for reading.
    pub file: File,
    /// Its stamp when it was opened.
    pub stamp: Stamp,
}

/// An entry of a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The name, lossless.
    pub name: OsString,
    /// Its kind; a symlink is not followed. Of one that may not be looked at it is what the system
    /// tells of it in the listing, and [`Kind::Other`] where that is nothing.
    pub kind: Kind,
    /// Its own stamp, nothing where it may not be looked at. Each entry is looked at by itself, so
    /// two may tell of different moments.
    pub stamp: Option<Stamp>,
}

/// Device and inode: which object, for as long as it is held or exists.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub(crate) struct FileId {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
}
