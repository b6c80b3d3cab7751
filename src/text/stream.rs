//! A text file that is read piece by piece, in memory that does not grow with it.

use std::io::{self, Read as _};
use std::iter::FusedIterator;
use std::time::SystemTime;

use ringfence_platform::{Cancel, Hasher, Snapshot};

use super::decode::{begins_as_text, without_bom};
use super::{NotText, Unread, Version};

/// How much is read at a time, in bytes.
const PIECE: usize = 64 * 1024;

/// A text file that is being read: an iterator of its text, piece by piece.
///
/// Where a piece ends means nothing, but no char is cut. Line ends are as they are, and the one
/// mark that may stand before the text is left out. A file of any size is read, in constant memory,
/// and it is looked through to its end: what has been handed out stands, though the file turns out
/// to be no text further on, or the call that opened it is cancelled, which is looked at before
/// each piece. After an error there is nothing more.
#[derive(Debug)]
pub struct TextStream {
    snapshot: Snapshot,
    began: SystemTime,
    hasher: Box<Hasher>,
    cancel: Cancel,
    /// Read into; at its start what is left of the last piece, the beginning of a char.
    buffer: Box<[u8]>,
    left: usize,
    bom: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing has been read.
    Fresh,
    /// There may be more.
    Reading,
    /// All has been read.
    Ended(Version),
    /// It could not be read, or is no text.
    Failed,
}

impl TextStream {
    /// Begins to read `snapshot`, of which nothing has been read, until somebody cancels.
    pub(crate) fn new(snapshot: Snapshot, cancel: Cancel) -> Self {
        Self {
            snapshot,
            began: SystemTime::now(),
            hasher: Box::default(),
            cancel,
            buffer: vec![0; PIECE].into(),
            left: 0,
            bom: false,
            state: State::Fresh,
        }
    }

    /// Whether a byte order mark (EF BB BF) stands before the text; known once a piece or the end
    /// has been met.
    #[must_use]
    pub fn bom(&self) -> bool {
        self.bom
    }

    /// The version that was read, once all of it was. A file that has changed meanwhile is of a
    /// version that matches nothing.
    #[must_use]
    pub fn version(&self) -> Option<&Version> {
        match &self.state {
            State::Ended(version) => Some(version),
            State::Fresh | State::Reading | State::Failed => None,
        }
    }

    /// The next piece, which may be empty.
    fn piece(&mut self) -> Result<String, Unread> {
        if self.cancel.is_cancelled() {
            return Err(Unread::Cancelled);
        }
        let (end, is_last) = self.fill().map_err(Unread::Failed)?;
        let read = &self.buffer[..end];
        let is_first = matches!(self.state, State::Fresh);
        if is_first {
            begins_as_text(read)?;
        }
        let text = match std::str::from_utf8(read) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() && !is_last => {
                let whole = &read[..error.valid_up_to()];
                std::str::from_utf8(whole).map_err(|_| NotText::Encoding)?
            }
            Err(_) => return Err(NotText::Encoding.into()),
        };
        let taken = text.len();
        let (text, bom) = if is_first { without_bom(text) } else { (text, self.bom) };
        let text = text.to_owned();
        self.buffer.copy_within(taken..end, 0);
        (self.left, self.bom) = (end - taken, bom);
        self.state = if is_last { State::Ended(self.end()?) } else { State::Reading };
        Ok(text)
    }

    /// Fills the buffer as far as there is something to read. Says up to where, and whether that
    /// was all.
    fn fill(&mut self) -> io::Result<(usize, bool)> {
        let mut end = self.left;
        while end < self.buffer.len() {
            match self.snapshot.file.read(&mut self.buffer[end..]) {
                Ok(0) => return Ok((end, true)),
                Ok(read) => {
                    self.hasher.update(&self.buffer[end..end + read]);
                    end += read;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok((end, false))
    }

    fn end(&self) -> Result<Version, Unread> {
        let stamp = self.snapshot.stamp;
        let stood_still = self.snapshot.now().map_err(Unread::Failed)? == stamp;
        Ok(match stood_still {
            true => Version::of(stamp, self.hasher.finish(), self.began),
            false => Version::changing(),
        })
    }
}

impl Iterator for TextStream {
    type Item = Result<String, Unread>;

    fn next(&mut self) -> Option<Self::Item> {
        while matches!(self.state, State::Fresh | State::Reading) {
            match self.piece() {
                Ok(text) if text.is_empty() => {}
                Ok(text) => return Some(Ok(text)),
                Err(error) => {
                    self.state = State::Failed;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl FusedIterator for TextStream {}
