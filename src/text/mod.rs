//! Text files: what counts as text, and edits that are exact to the byte. Knows of no policy.

mod decode;
mod edit;
mod read;

use std::io;

pub use decode::NotText;
pub use edit::{Edit, Matches};
pub(crate) use read::Read;

/// Why a file is not edited.
#[derive(Debug)]
pub(crate) enum Unedited {
    /// It cannot be read.
    Failed(io::Error),
    /// It has more bytes than are taken as text.
    TooLarge { size: u64, limit: u64 },
    /// It is no text.
    NotText(NotText),
    /// The old text is not there, or is empty.
    NotFound,
    /// It is there more than once; overlapping occurrences count.
    Ambiguous { matches: usize },
}
