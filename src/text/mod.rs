//! Text files: what counts as text, and edits that are exact to the byte. Knows of no policy.

mod decode;
mod edit;
mod read;
mod version;

use std::io;

pub use decode::{Newlines, NotText};
pub use edit::{Edit, Matches};
pub(crate) use read::Read;
pub use read::Text;
pub use version::Version;

/// Why a file is not read as a text, or not edited.
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
