//! Text files: what counts as text, edits that are exact to the byte, and what differs between two
//! texts. Knows of no policy.

mod decode;
mod diff;
mod edit;
mod read;
mod stream;
mod version;

use std::collections::TryReserveError;
use std::io;

use ringfence_platform::Cancel;

pub(crate) use decode::BOM;
pub use decode::{Newlines, NotText};
pub use diff::{Diff, DiffLimits, Hunk, Lines, Part};
pub use edit::{Edit, Matches};
pub use read::Text;
pub(crate) use read::{MAX_TEXT_BYTES, Read, check_size, start};
pub use stream::TextStream;
pub use version::Version;

/// On what terms a text is written or edited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextTerms<'a> {
    /// Cancels what is read for it.
    pub(crate) cancel: &'a Cancel,
    /// The most bytes that are taken as one text.
    pub(crate) most_bytes: u64,
    /// Whether it is told what differs.
    pub(crate) diff: Option<DiffLimits>,
}

/// Why a file is not read, or not as a text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unread {
    /// It cannot be read.
    #[error("it could not be read")]
    Failed(#[source] io::Error),
    /// It has more bytes than may be read.
    #[error("it has {size} bytes, and {limit} is the most")]
    TooLarge {
        /// How many it has at least, in bytes.
        size: u64,
        /// The most that it may have, in bytes.
        limit: u64,
    },
    /// It is no text.
    #[error("{0}")]
    NotText(NotText),
    /// The call was cancelled that it is read by.
    #[error("the call was cancelled")]
    Cancelled,
}

impl From<NotText> for Unread {
    fn from(why: NotText) -> Self {
        Self::NotText(why)
    }
}

/// Why a file is not read as a text, or not edited.
#[derive(Debug)]
pub(crate) enum Unedited {
    /// It cannot be read, or there is not the memory for it.
    Failed(io::Error),
    /// It has more bytes than are taken as text, or would have.
    TooLarge { size: u64, limit: u64 },
    /// It is no text.
    NotText(NotText),
    /// The call was cancelled.
    Cancelled,
    /// The old text is not there, or is empty.
    NotFound,
    /// It is there more than once; overlapping occurrences count.
    Ambiguous { matches: usize },
}

impl From<Unread> for Unedited {
    fn from(why: Unread) -> Self {
        match why {
            Unread::Failed(error) => Self::Failed(error),
            Unread::TooLarge { size, limit } => Self::TooLarge { size, limit },
            Unread::NotText(why) => Self::NotText(why),
            Unread::Cancelled => Self::Cancelled,
        }
    }
}

impl From<TryReserveError> for Unedited {
    fn from(_: TryReserveError) -> Self {
        Self::Failed(io::ErrorKind::OutOfMemory.into())
    }
}
