//! Changes as data. Nothing here does anything.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use crate::assurance::Enforcement;
use crate::cancel::Cancel;
use crate::error::{Error, ErrorKind, Fault, Result};
use crate::path::{LinkText, RootedPath};
use crate::stat::{Stamp, TargetKey};

/// One change, as data. Building one does nothing; [`Fence::apply`](crate::Fence::apply) does it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Mutation {
    /// Creates a regular file or atomically replaces one. A symlink in the last place is followed.
    /// A file that has these bytes already is left as it is, inode and times included, if it might
    /// have been replaced.
    Write {
        /// The file.
        path: RootedPath,
        /// All its new bytes.
        contents: Vec<u8>,
        /// What must be there.
        when: Precondition,
        /// What is done about missing directories on the way.
        parents: Parents,
    },
    /// Creates a directory; succeeds if one is there. A symlink in the last place is followed to a
    /// directory only with [`Parents::Create`], and nothing is made through one that dangles.
    CreateDir {
        /// The directory.
        path: RootedPath,
        /// What is done about missing directories on the way.
        parents: Parents,
    },
    /// Removes the entry itself; a symlink is not followed.
    Remove {
        /// The entry.
        path: RootedPath,
        /// What may be removed.
        what: Removal,
    },
    /// Renames an entry; neither end is followed. `when` is about `to`.
    Rename {
        /// The entry.
        from: RootedPath,
        /// Its new place, beneath the same or another root of the fence.
        to: RootedPath,
        /// What must be at the new place.
        when: Precondition,
    },
    /// Exchanges two entries in one step; neither is followed and both must exist.
    Exchange {
        /// One entry.
        first: RootedPath,
        /// The other.
        second: RootedPath,
    },
    /// Creates a symlink.
    Symlink {
        /// The link.
        path: RootedPath,
        /// Where it points, relative to the link and beneath its root.
        text: LinkText,
    },
}

impl Mutation {
    /// Says of which change, and on which of its paths, this is the fault.
    pub(crate) fn failed(&self, fault: Fault) -> Error {
        let (op, path, second) = match self {
            Self::Write { path, .. } => ("write", path, None),
            Self::CreateDir { path, .. } => ("create directory", path, None),
            Self::Remove { path, .. } => ("remove", path, None),
            Self::Rename { from, to, .. } => ("rename", from, Some(to)),
            Self::Exchange { first, second } => ("exchange", first, Some(second)),
            Self::Symlink { path, .. } => ("create symlink", path, None),
        };
        // The place that an entry is renamed to is the one that can be taken, old or wrong.
        let of_second = [ErrorKind::AlreadyExists, ErrorKind::Stale, ErrorKind::WrongKind];
        let about_second = fault.second || of_second.contains(&fault.kind);
        fault.at(op, second.filter(|_| about_second).unwrap_or(path).path.as_path())
    }

    /// The answer of a thread that is no more.
    pub(crate) fn lost(&self) -> Result<Receipt> {
        Err(self.failed(Fault::new(ErrorKind::ConfinementLost)))
    }
}

/// What must be true of the destination at the instant of publication.
///
/// There is no default: overwriting is something one says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Precondition {
    /// Nothing is required; whatever is there is replaced.
    None,
    /// Nothing may be there. Enforced by the kernel.
    Absent,
    /// Exactly this version must be there. A change of the metadata alone, such as `chmod(2)`, or a
    /// rewrite of the same bytes makes another version.
    Matches {
        /// The stamp it must have.
        stamp: Stamp,
        /// The digest its bytes must have. Two writes in one tick of the file system's clock can
        /// leave the same stamp, so it is left out only where the stamp alone is proof: where the
        /// file last changed longer ago than a tick, ten milliseconds, when it was read.
        digest: Option<Digest>,
    },
}

/// A BLAKE3 digest of a whole file.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub struct Digest(pub(crate) [u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

/// A [`Digest`] in the making, of bytes that come in pieces.
#[derive(Clone, Debug, Default)]
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// Adds the bytes that come next.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes so far.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

/// What a change does about missing directories on the way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Parents {
    /// They must be there.
    Require,
    /// They are made as `mkdir(2)` would, and may remain if the change then fails. None is made
    /// through a dangling symlink.
    Create,
}

/// What a removal may remove.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Removal {
    /// Anything but a directory.
    File,
    /// An empty directory.
    EmptyDir,
    /// Anything, and all that is in it. Stays on the mount it began on.
    Tree,
}

/// How surely a change survives a crash of the system, least surely first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Ord, PartialOrd, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Durability {
    /// Nothing is synced: after a crash the file may be old, new or, on some file systems, empty.
    None,
    /// The new bytes are on disk before they are published.
    #[default]
    File,
    /// As [`File`](Self::File), and the directory entry too before the call returns.
    Full,
}

/// The terms on which a change is made.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Cancels the change while it is not yet published.
    pub cancel: Cancel,
    /// What is synced.
    pub durability: Durability,
    /// Where the file of a [`Mutation::Write`] must be, as
    /// [`Fence::rehearse`](crate::Fence::rehearse) told it: if the directory that is pinned for the change is elsewhere by then, that is
    /// [`ErrorKind::Stale`]. With any other change it is [`ErrorKind::Unsupported`].
    pub at: Option<PathBuf>,
}

/// What a call did, and under which enforcement.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use = "a receipt says what happened and what the file's stamp is now"]
#[non_exhaustive]
pub struct Receipt {
    /// What happened.
    pub effect: Effect,
    /// The place it happened at; of two, the second.
    pub key: TargetKey,
    /// The stamp of what is there now, if anything is.
    pub after: Option<Stamp>,
    /// Who held the boundary.
    pub enforcement: Enforcement,
    /// How surely the precondition held.
    pub cas: Cas,
    /// What was synced. Less than was asked for only where a directory cannot be opened to sync it.
    pub durability: Durability,
    /// What the new file does not have that the old one had. Nothing is lost without being named.
    pub not_kept: Vec<Lost>,
    /// How many missing directories were made on the way.
    pub parents_created: u32,
}

/// What a change did.
#[derive(Clone, Copy, Debug, Eq, PartialEq, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// Something is there that was not.
    Created,
    /// A file was replaced.
    Replaced,
    /// An entry is gone.
    Removed,
    /// An entry has another name.
    Renamed,
    /// Two entries have each other's names.
    Exchanged,
    /// It was so already.
    Unchanged,
}

/// How surely a precondition held at the instant of publication.
#[derive(Clone, Copy, Debug, Eq, PartialEq, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Cas {
    /// None was asked for.
    Unconditional,
    /// Held by the kernel in the publishing call, or examined after an exchange and under the lock
    /// between processes.
    Atomic,
    /// Looked at immediately before publication: the file system cannot exchange two entries, or
    /// the directory cannot be locked.
    Checked,
}

/// One thing that a replacement did not keep. `Display` gives its stable token.
#[derive(Clone, Debug, Eq, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Lost {
    /// The owner: the caller may not give files away.
    Owner,
    /// The group; its rights were cut to those of others.
    Group,
    /// An extended attribute.
    Xattr(OsString),
    /// The access control list.
    Acl,
    /// The security label.
    Label,
    /// The setuid or setgid bit, dropped as the kernel drops it on a write.
    Setid,
    /// The file capabilities, dropped as the kernel drops them on a write.
    Capability,
    /// Other names of the old file still have the old bytes; how many there are.
    HardLink(u64),
    /// The byte order mark before a text. A fence knows of no text, and never says so itself.
    Bom,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Xattr(name) = self {
            return write!(f, "xattr:{}", name.display());
        }
        f.write_str(self.into())
    }
}
