//! What a tool did or found, before it is told to anybody.

use std::ffi::OsString;
use std::path::PathBuf;

use ringfence_platform::Lost;

use crate::shell::{Output, Ran};
use crate::text::Diff;

use super::listing::Page;
use super::window::Window;

/// What a tool did or found.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// Lines of a file.
    Lines { path: PathBuf, window: Window },
    /// A file was changed, or is as it was to be.
    Change(Change),
    /// Entries of a directory.
    Entries { path: PathBuf, page: Page },
    /// A command has ended; one in the background is this job.
    Ran { job: Option<String>, ran: Box<Ran> },
    /// A command goes on in the background, as this job.
    Started { job: String },
    /// A job runs, and has written this since the last look.
    Running { job: String, stdout: Output, stderr: Output },
}

/// A change of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) operation: Operation,
    /// How many matches of an edit were replaced.
    pub(super) replaced: Option<usize>,
    pub(super) not_kept: Vec<Lost>,
    /// What differs, where that is told.
    pub(super) diff: Option<Diff>,
}

/// What a change did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Operation {
    Create,
    Update,
    Unchanged,
}

impl Operation {
    /// The stable token.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Unchanged => "unchanged",
        }
    }
}

/// An entry of a directory, with what it leads to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Listed {
    pub(super) name: OsString,
    pub(super) kind: Found,
}

/// What an entry leads to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Found {
    /// A regular file, of so many bytes.
    File {
        size: u64,
    },
    Directory,
    /// Something else, or nothing that can be looked at.
    Other,
}

impl Found {
    /// The stable token.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Directory => "directory",
            Self::Other => "other",
        }
    }
}
