//! A file that has been read whole: its text, and what must still be there for it to be written
//! back.

use std::io::{self, Read as _, Seek as _};
use std::time::SystemTime;

use ringfence_platform::{Cancel, Digest, Precondition, Snapshot, Stamp};

use super::decode::{Newlines, decode, without_bom};
use super::edit::{Edit, replace};
use super::{Unedited, Unread, Version};

/// The largest file that is taken as one text, in bytes, unless something else is said.
pub(crate) const MAX_TEXT_BYTES: u64 = 536_870_912;

/// How much is read before it is seen whether somebody has cancelled, in bytes.
const PIECE: u64 = 1024 * 1024;

/// All of a file as it was.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
    pub(super) digest: Digest,
    /// When the reading began.
    pub(super) began: SystemTime,
    /// Whether the file was the same when it ended.
    stood_still: bool,
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

/// The first bytes of a file, `most` at most. Leaves it at its start.
pub(crate) fn start(snapshot: &Snapshot, most: usize) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    let mut file = &snapshot.file;
    file.take(most as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start)
}

/// Refuses what is more than is taken as text.
pub(crate) fn check_size(size: u64, limit: u64) -> Result<(), Unedited> {
    if size > limit { Err(Unedited::TooLarge { size, limit }) } else { Ok(()) }
}

impl Read {
    /// Reads `snapshot` to its end, if it has at most `limit` bytes and nobody cancels.
    pub(crate) fn all(mut snapshot: Snapshot, limit: u64, cancel: &Cancel) -> Result<Self, Unread> {
        let (stamp, began) = (snapshot.stamp, SystemTime::now());
        let mut bytes = Vec::new();
        if stamp.size() <= limit {
            // One more, to see that it grows beyond the limit meanwhile.
            let most = snapshot.file.by_ref().take(limit.saturating_add(1));
            read_to_end(most, stamp.size(), &mut bytes, cancel)?;
        }
        let size = stamp.size().max(bytes.len() as u64);
        if size > limit {
            return Err(Unread::TooLarge { size, limit });
        }
        let stood_still = snapshot.now().map_err(Unread::Failed)? == stamp;
        Ok(Self { digest: Digest::of(&bytes), stamp, bytes, began, stood_still })
    }

    /// Whether the file has not changed while it was read. If it has, what was read may never have
    /// been there.
    pub(crate) fn stood_still(&self) -> bool {
        self.stood_still
    }

    /// The version that was read: one that nothing matches, if the file has not stood still.
    pub(crate) fn version(&self) -> Version {
        match self.stood_still {
            true => Version::of(self.stamp, self.digest, self.began),
            false => Version::changing(),
        }
    }

    /// That just these bytes are still there.
    pub(crate) fn precondition(&self) -> Precondition {
        Precondition::Matches { stamp: self.stamp, digest: Some(self.digest) }
    }

    /// The text.
    pub(crate) fn text(&self) -> Result<Text, Unread> {
        let (text, bom) = without_bom(decode(&self.bytes)?);
        let (newlines, version) = (Newlines::of(text), self.version());
        Ok(Text { text: text.to_owned(), bom, newlines, version })
    }

    /// The bytes after `edit`, if they are at most `limit`, and how many matches it replaced.
    pub(crate) fn edited(&self, edit: &Edit, limit: u64) -> Result<(Vec<u8>, usize), Unedited> {
        let text = decode(&self.bytes).map_err(Unedited::NotText)?;
        let edited = replace(text, edit, limit)?;
        Ok((edited.text.into_bytes(), edited.replaced))
    }
}

/// Reads what is likely to be `size` bytes, with no more memory than that where it is.
fn read_to_end(
    mut from: impl io::Read,
    size: u64,
    into: &mut Vec<u8>,
    cancel: &Cancel,
) -> Result<(), Unread> {
    // One more than there are, in which the end is seen.
    let room = usize::try_from(size).ok().and_then(|size| size.checked_add(1));
    let no_room = || Unread::Failed(io::ErrorKind::OutOfMemory.into());
    into.try_reserve_exact(room.ok_or_else(no_room)?).map_err(|_| no_room())?;
    loop {
        if cancel.is_cancelled() {
            return Err(Unread::Cancelled);
        }
        let read = from.by_ref().take(PIECE).read_to_end(into).map_err(Unread::Failed)?;
        if (read as u64) < PIECE {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zeros without end, of which somebody cancels the reading after so many pieces.
    struct Endless {
        pieces: u64,
        given: u64,
        cancel: Cancel,
    }

    impl io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            into.fill(0);
            self.given += into.len() as u64;
            if self.given > self.pieces * PIECE {
                self.cancel.cancel();
            }
            Ok(into.len())
        }
    }

    #[test]
    fn a_read_is_given_up_between_two_pieces() {
        let cancel = Cancel::new();
        let endless = Endless { pieces: 2, given: 0, cancel: cancel.clone() };
        let mut read = Vec::new();
        let why = read_to_end(endless, 0, &mut read, &cancel).unwrap_err();
        assert!(matches!(why, Unread::Cancelled), "{why:?}");
        assert_eq!(read.len() as u64, 3 * PIECE, "the piece that it was in is read");
    }

    #[test]
    fn pieces_are_the_whole() {
        for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE] {
            for told in [0, size, 3 * PIECE] {
                let mut read = Vec::new();
                let bytes = io::repeat(7).take(size);
                read_to_end(bytes, told, &mut read, &Cancel::never()).unwrap();
                assert!(read.len() as u64 == size && read.iter().all(|byte| *byte == 7));
            }
        }
    }
}
