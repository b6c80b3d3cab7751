//! What is asked and what is answered. Nothing here does anything.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use ringfence_platform::{
    Follow, Kind, Parents, Precondition, Receipt, Removal, Snapshot, Stamp, TargetKey,
};

use crate::text::{Diff, Edit, Text, TextStream, Version};

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
    /// Reads a whole text file: strict UTF-8, without a NUL near its start, and of no more
    /// bytes than [`Settings::max_text_bytes`](crate::Settings::max_text_bytes) allows.
    ReadText {
        /// The file; a symlink is followed.
        path: PathBuf,
    },
    /// Reads a text piece by piece, in constant memory, whatever its size.
    StreamText {
        /// The file; a symlink is followed.
        path: PathBuf,
    },
    /// Reads a whole file of whatever bytes.
    ReadBytes {
        /// The file; a symlink is followed.
        path: PathBuf,
        /// The most bytes that it may have.
        most: u64,
    },
    /// Finds the place that a path names, or would name.
    Resolve {
        /// The path; a symlink is followed.
        path: PathBuf,
    },
    /// Looks what a path names.
    Stat {
        /// The path.
        path: PathBuf,
        /// Whether a symlink in the last place is followed.
        follow: Follow,
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
    /// Creates a text file or atomically replaces one, with just this text as UTF-8. Missing
    /// directories on the way are made.
    WriteText {
        /// The file; a symlink is followed and kept.
        path: PathBuf,
        /// All its new text; nothing is added or carried over. It is limited as what is read.
        text: String,
        /// What may be replaced.
        intent: WriteIntent,
    },
    /// Replaces a part of a text file, and not one byte around it. What comes of it is limited as
    /// what is read.
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
            Self::Read { .. } | Self::ReadBytes { .. } => Op::Read,
            Self::ReadText { .. } | Self::StreamText { .. } => Op::ReadText,
            Self::Resolve { .. } | Self::Stat { .. } => Op::Stat,
            Self::List { .. } => Op::List,
            Self::Write { .. } | Self::WriteText { .. } => Op::Write,
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
            | Self::StreamText { path }
            | Self::ReadBytes { path, .. }
            | Self::Resolve { path }
            | Self::Stat { path, .. }
            | Self::List { path }
            | Self::WriteText { path, .. }
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

/// What a text may replace.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum WriteIntent {
    /// Whatever is there, if anything is.
    #[default]
    Any,
    /// Nothing: only a new file is made.
    CreateIfAbsent,
    /// What was seen, as long as it is there.
    ReplaceIfVersion(Version),
}

/// An operation. `Display` gives the verb that errors and audit events show.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Reading a file.
    Read,
    /// Reading a whole text file.
    ReadText,
    /// Looking what is there.
    Stat,
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
    /// Running a command, whatever it does.
    Run,
}

impl Op {
    /// Whether it changes anything.
    #[must_use]
    pub fn changes(self) -> bool {
        match self {
            Self::Read | Self::ReadText | Self::Stat | Self::List => false,
            Self::Write
            | Self::Edit
            | Self::CreateDir
            | Self::Remove
            | Self::Rename
            | Self::Symlink
            | Self::Run => true,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read | Self::ReadText => "read",
            Self::Stat => "stat",
            Self::List => "list",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::CreateDir => "create directory",
            Self::Remove => "remove",
            Self::Rename => "rename",
            Self::Symlink => "create symlink",
            Self::Run => "run",
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
    /// A text file is open to be read piece by piece.
    Stream {
        /// Which.
        path: PathBuf,
        /// The place: its identity, whatever the spelling.
        key: TargetKey,
        /// The pieces, and after them the version.
        stream: TextStream,
    },
    /// A file was read.
    Bytes {
        /// Which.
        path: PathBuf,
        /// All that is in it.
        bytes: Vec<u8>,
        /// The version that was read.
        version: Version,
    },
    /// A text file was written or edited.
    Written {
        /// Which.
        path: PathBuf,
        /// What was done, and under which enforcement.
        receipt: Receipt,
        /// The version that is there now.
        version: Version,
        /// How many matches an edit replaced.
        replaced: Option<usize>,
        /// What differs from before, if that was asked for and the old file was text.
        diff: Option<Diff>,
    },
    /// A place was found.
    Resolved {
        /// What was asked for.
        path: PathBuf,
        /// The place: its identity, whatever the spelling.
        key: TargetKey,
    },
    /// Somebody looked.
    Info {
        /// At what.
        path: PathBuf,
        /// What is there, if anything is.
        info: Option<Info>,
    },
}

/// An entry of a directory that was listed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The name, lossless.
    pub name: OsString,
    /// Its kind; a symlink is not followed. Of one that may not be looked at it is what the system
    /// tells of it in the listing, and [`Kind::Other`] where that is nothing.
    pub kind: Kind,
    /// What it leads to, symlinks followed but no magic links of `/proc`: for anything but a
    /// symlink, itself. Nothing where that leads nowhere, or cannot be looked at. Each entry is
    /// looked at by itself, so two may tell of different moments.
    pub target: Option<(Kind, Stamp)>,
}

/// What is there.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// The place: its identity, whatever the spelling.
    pub key: TargetKey,
    /// Its kind.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// Its version, as far as its stamp tells.
    pub version: Version,
}
