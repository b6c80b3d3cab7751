//! Everything that is asked of files without changing them, anywhere that the host lets it be.

use std::path::{Path, PathBuf};

use ringfence_platform::{self as platform, ErrorKind, Follow, Stat};

use crate::error::{Error, Result};
use crate::lexical;
use crate::physical::physical;
use crate::reader::ReadOnly;
use crate::request::{Info, Op, Outcome, Request};
use crate::target;
use crate::text::{self, Read, TextStream, Unread, Version};

/// How often a file that changes while it is read is read again.
const MOST_READS: usize = 3;

/// Reads at paths that no policy restricts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) op: Op,
    pub(crate) reader: &'a ReadOnly,
    /// What relative paths are taken against.
    pub(crate) base: &'a Path,
}

impl Reading<'_> {
    /// Answers a request that changes nothing.
    pub(crate) fn answer(&self, request: &Request, max_text_bytes: u64) -> Result<Outcome> {
        match request {
            Request::Read { path } => self.open(path),
            Request::ReadText { path } => self.text(path, max_text_bytes),
            Request::StreamText { path } => self.stream(path),
            Request::ReadBytes { path, most } => self.bytes(path, *most),
            Request::Resolve { path } => self.resolve(path),
            Request::Stat { path, follow } => self.stat(path, *follow),
            Request::List { path } => self.list(path),
            Request::Write { .. }
            | Request::WriteText { .. }
            | Request::Edit { .. }
            | Request::CreateDir { .. }
            | Request::Remove { .. }
            | Request::Rename { .. }
            | Request::Symlink { .. } => unreachable!("a change"),
        }
    }

    fn open(&self, raw: &Path) -> Result<Outcome> {
        let (path, snapshot) = self.at(raw, ReadOnly::open_file)?;
        Ok(Outcome::Opened { path, snapshot })
    }

    fn list(&self, raw: &Path) -> Result<Outcome> {
        let (path, entries) = self.at(raw, ReadOnly::list)?;
        Ok(Outcome::Listed { path, entries })
    }

    /// Reads a whole text. One that does not stand still is told all the same, and is of no
    /// version.
    fn text(&self, raw: &Path, most: u64) -> Result<Outcome> {
        for left in (0..MOST_READS).rev() {
            let (path, snapshot) = self.at(raw, ReadOnly::open_file)?;
            let unread = |why: Unread| Error::unedited(self.op, path.clone(), why.into());
            let read = Read::all(snapshot, most).map_err(unread)?;
            if read.stood_still() || left == 0 {
                let text = read.text().map_err(unread)?;
                return Ok(Outcome::Text { path, text });
            }
        }
        unreachable!("the last read returns")
    }

    /// Opens a text to be read piece by piece.
    fn stream(&self, raw: &Path) -> Result<Outcome> {
        let (_, place) = self.look(raw, Follow::Yes)?;
        let (path, snapshot) = self.at(raw, ReadOnly::open_file)?;
        Ok(Outcome::Stream { path, key: place.key, stream: TextStream::new(snapshot) })
    }

    /// Reads a whole file of at most so many bytes.
    fn bytes(&self, raw: &Path, most: u64) -> Result<Outcome> {
        let (path, snapshot) = self.at(raw, ReadOnly::open_file)?;
        let read = text::read_bytes(snapshot, most);
        let (bytes, version) =
            read.map_err(|why| Error::unedited(self.op, path.clone(), why.into()))?;
        Ok(Outcome::Bytes { path, bytes, version })
    }

    /// Finds the place, whether or not anything is there.
    fn resolve(&self, raw: &Path) -> Result<Outcome> {
        let (path, place) = self.look(raw, Follow::Yes)?;
        Ok(Outcome::Resolved { path, key: place.key })
    }

    /// Looks what is there. Nothing is, also where a file is used as a directory on the way.
    fn stat(&self, raw: &Path, follow: Follow) -> Result<Outcome> {
        let (path, seen) = match self.look(raw, follow) {
            Ok((path, stat)) => (path, Some(stat)),
            Err(Error::Failed { path, kind: ErrorKind::NotFound, source: Some(_), .. }) => {
                (path, None)
            }
            Err(error) => return Err(error),
        };
        let info = seen.and_then(|Stat { key, found, .. }| {
            let (kind, stamp) = found?;
            Some(Info { key, kind, size: stamp.size(), version: Version::from(stamp) })
        });
        Ok(Outcome::Info { path, info })
    }

    /// The place that a path names or would name, and what is there.
    pub(crate) fn look(&self, raw: &Path, follow: Follow) -> Result<(PathBuf, Stat)> {
        match follow {
            Follow::Yes => self.at(raw, |reader, path| reader.stat(path, Follow::Yes)),
            Follow::No => self.at(raw, |reader, path| reader.stat(path, Follow::No)),
        }
    }

    /// A magic link is not followed but read: its text is an ordinary path.
    fn at<T>(
        &self,
        raw: &Path,
        read: impl Fn(&ReadOnly, &Path) -> platform::Result<T>,
    ) -> Result<(PathBuf, T)> {
        let shown = lexical::shown(self.op, self.base, raw)?;
        let mut result = read(self.reader, &shown);
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Loop)
            && let Ok(place) = physical(&shown)
        {
            result = read(self.reader, &place);
        }
        match result {
            Ok(found) => Ok((shown, found)),
            Err(error) => Err(target::failed(self.op, shown, error)),
        }
    }
}
