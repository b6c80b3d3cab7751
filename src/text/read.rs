//! A file that has been read whole: its text, and what must still be there for it to be written
//! back.

use std::io::{self, Read as _};
use std::time::SystemTime;

use ringfence_platform::{Digest, Precondition, Snapshot, Stamp};

use super::decode::{Newlines, decode, without_bom};
use super::edit::{Edit, replace};
use super::{Unedited, Version};

/// The largest file that is taken as text, in bytes.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// All of a file as it was.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
    pub(super) digest: Digest,
    /// When the reading began.
    pub(super) began: SystemTime,
}

/// A text file as it was.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Text {
    /// All of it, line ends as they are, without the mark that may stand before it.
    pub text: String,
    /// Whether a byte order mark (EF BB BF) stands before it.
    pub bom: bool,
    /// How its lines end.
    pub newlines: Newlines,
    /// The version that was read.
    pub version: Version,
}

impl Read {
    /// Reads `snapshot` to its end.
    pub(crate) fn all(snapshot: Snapshot) -> Result<Self, Unedited> {
        let Snapshot { mut file, stamp, .. } = snapshot;
        let began = SystemTime::now();
        let mut bytes = Vec::new();
        if stamp.size() <= MOST_BYTES {
            // One more, to see that it grows beyond the limit meanwhile.
            let read: io::Result<_> = file.by_ref().take(MOST_BYTES + 1).read_to_end(&mut bytes);
            read.map_err(Unedited::Failed)?;
        }
        let size = stamp.size().max(bytes.len() as u64);
        if size > MOST_BYTES {
            return Err(Unedited::TooLarge { size, limit: MOST_BYTES });
        }
        Ok(Self { digest: Digest::of(&bytes), stamp, bytes, began })
    }

    /// That just these bytes are still there.
    pub(crate) fn precondition(&self) -> Precondition {
        Precondition::Matches { stamp: self.stamp, digest: Some(self.digest) }
    }

    /// The text. If the file was not `whole` while it was read, it is of no version.
    pub(crate) fn text(&self, whole: bool) -> Result<Text, Unedited> {
        let (text, bom) = without_bom(decode(&self.bytes).map_err(Unedited::NotText)?);
        let version = if whole { Version::of(self) } else { Version::changing() };
        Ok(Text { text: text.to_owned(), bom, newlines: Newlines::of(text), version })
    }

    /// The bytes after `edit`, and how many matches it replaced. A mark before the text is no part
    /// of it, and stays.
    pub(crate) fn edited(&self, edit: &Edit) -> Result<(Vec<u8>, usize), Unedited> {
        let all = decode(&self.bytes).map_err(Unedited::NotText)?;
        let (text, _) = without_bom(all);
        let mark = &all[..all.len() - text.len()];
        let edited = replace(text, edit)?;
        Ok(([mark, &edited.text].concat().into_bytes(), edited.replaced))
    }
}
