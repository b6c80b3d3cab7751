//! What is asked and what is answered. Nothing here does anything.

use std::fmt;
use std::path::{Path, PathBuf};

use ringfence_platform::{Entry, Parents, Precondition, Receipt, Removal, Snapshot};

use crate::text::{Edit, Text, Version};

/// What a caller asks for, before anyone has judged it.
///
/// Paths are as a person types them: absolute, or relative to the workspace; `..` is folded by
/// text.
#[derive(Debug)]
#[non_exhaustive]
pub enum Request {
    /// Opens a regular file for reading.
    Read {
        /// The file; a symlink is followed.
        path: PathBuf,
    },
    /// Reads a whole text file: strict UTF-8, without a NUL near its start, of 512 MiB at most.
    ReadText {
        /// The file; a symlink is followed.
        path: PathBuf,
    },
    /// Lists a directory, one level deep.
    List {
        /// The directory; a symlink is followed.
        path: PathBuf,
    },
    /// Creates a regular file or atomically replaces one.
    Write {
        /// The file; a symlink is followed and kept.
        path: PathBuf,
        /// All its new bytes.
        contents: Vec<u8>,
        /// What must be there.
        when: Precondition,
        /// What is done about missing directories on the way.
        parents: Parents,
    },
    /// Atomically replaces a file, if it is still of the version that was seen.
    Replace {
        /// The file; a symlink is followed and kept.
        path: PathBuf,
        /// All its new bytes.
        contents: Vec<u8>,
        /// What is replaced.
        seen: Version,
    },
    /// Replaces a part of a text file, and not one byte around it.
    Edit {
        /// The file; a symlink is followed and kept.
        path: PathBuf,
        /// What is replaced by what.
        edit: Edit,
        /// The version that must be there; without one, whatever is there when it is read.
        seen: Option<Version>,
    },
    /// Creates a directory; succeeds if one is there. A symlink in the last place is followed to a
    /// directory only with [`Parents::Create`].
    CreateDir {
        /// The directory.
        path: PathBuf,
        /// What is done about missing directories on the way.
        parents: Parents,
    },
    /// Removes an entry; a symlink is not followed.
    Remove {
        /// The entry.
        path: PathBuf,
        /// What may be removed.
        what: Removal,
    },
    /// Renames an entry; neither end is followed.
    Rename {
        /// The entry.
        from: PathBuf,
        /// Its new place.
        to: PathBuf,
        /// What must be at the new place.
        when: Precondition,
    },
    /// Creates a symlink.
    Symlink {
        /// The link.
        path: PathBuf,
        /// Where it points, relative to the link and beneath the same writable root.
        text: PathBuf,
    },
}

impl Request {
    /// The operation.
    #[must_use]
    pub fn op(&self) -> Op {
        match self {
            Self::Read { .. } => Op::Read,
            Self::ReadText { .. } => Op::ReadText,
            Self::List { .. } => Op::List,
            Self::Write { .. } | Self::Replace { .. } => Op::Write,
            Self::Edit { .. } => Op::Edit,
            Self::CreateDir { .. } => Op::CreateDir,
            Self::Remove { .. } => Op::Remove,
            Self::Rename { .. } => Op::Rename,
            Self::Symlink { .. } => Op::Symlink,
        }
    }

    /// Every path that the request would act on, as it was given.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let (first, second) = match self {
            Self::Read { path }
            | Self::ReadText { path }
            | Self::List { path }
            | Self::Replace { path, .. }
            | Self::Write { path, .. }
            | Self::Edit { path, .. }
            | Self::CreateDir { path, .. }
            | Self::Remove { path, .. }
            | Self::Symlink { path, .. } => (path, None),
            Self::Rename { from, to, .. } => (from, Some(to)),
        };
        std::iter::once(first).chain(second).map(PathBuf::as_path)
    }
}

/// An operation. `Display` gives the verb that errors and audit events show.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Reading a file.
    Read,
    /// Reading a whole text file.
    ReadText,
    /// Listing a directory.
    List,
    /// Writing a file.
    Write,
    /// Replacing a part of a text file.
    Edit,
    /// Creating a directory.
    CreateDir,
    /// Removing an entry.
    Remove,
    /// Renaming an entry.
    Rename,
    /// Creating a symlink.
    Symlink,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read | Self::ReadText => "read",
            Self::List => "list",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::CreateDir => "create directory",
            Self::Remove => "remove",
            Self::Rename => "rename",
            Self::Symlink => "create symlink",
        })
    }
}

/// What came of a request.
///
/// `path` is absolute and normalised by text, as the caller spelled it: symlinks are not resolved.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// A file was opened.
    Opened {
        /// Which.
        path: PathBuf,
        /// The open file, and the stamp of what will be read from it.
        snapshot: Snapshot,
    },
    /// A directory was listed.
    Listed {
        /// Which.
        path: PathBuf,
        /// What is in it, in the order of the names' bytes.
        entries: Vec<Entry>,
    },
    /// A change was made.
    Changed {
        /// Where; of two paths, the second.
        path: PathBuf,
        /// What was done, and under which enforcement.
        receipt: Receipt,
    },
    /// A text file was read.
    Text {
        /// Which.
        path: PathBuf,
        /// What it is.
        text: Text,
    },
    /// A text file was edited.
    Edited {
        /// Which.
        path: PathBuf,
        /// What was done, and under which enforcement.
        receipt: Receipt,
        /// How many matches were replaced.
        replaced: usize,
    },
}
