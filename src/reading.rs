//! Everything that is asked of files without changing them, anywhere that the host lets it be.

use std::ops::Range;
use std::path::{Path, PathBuf};

use ringfence_platform::{self as platform, Cancel, ErrorKind, Follow, Kind, Stamp, Stat};

use crate::call::Call;
use crate::error::{Error, Result};
use crate::lexical;
use crate::physical::physical;
use crate::reader::ReadOnly;
use crate::request::{Entry, Info, Op, Outcome, Request};
use crate::target;
use crate::text::{Read, TextStream, Version};

/// How often a file that changes while it is read is read again.
const MOST_READS: usize = 3;

/// Reads at paths that no policy restricts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) op: Op,
    pub(crate) reader: &'a ReadOnly,
    /// What relative paths are taken against.
    pub(crate) base: &'a Path,
    /// Given up between two pieces of what is read, and two entries of what is listed.
    pub(crate) cancel: &'a Cancel,
}

impl Reading<'_> {
    /// Answers a request that changes nothing.
    pub(crate) fn answer(&self, call: &Call, max_text_bytes: u64) -> Result<Outcome> {
        match &call.request {
            Request::Read { path } => self.open(path),
            Request::ReadText { path } => self.text(path, max_text_bytes),
            Request::StreamText { path } => self.stream(path),
            Request::ReadBytes { path, most } => self.bytes(path, *most),
            Request::Resolve { path } => self.resolve(path),
            Request::Stat { path, follow } => self.stat(path, *follow),
            Request::List { path } => self.list(path, &call.followed),
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

    /// Lists a directory. Only the entries in `followed` are followed if they are symlinks: each
    /// may lead a long way.
    fn list(&self, raw: &Path, followed: &Range<usize>) -> Result<Outcome> {
        let (path, (dir, listed)) = self.at(raw, |reader, dir| {
            reader.list(dir, self.cancel).map(|listed| (dir.to_owned(), listed))
        })?;
        let followed = listed.into_iter().enumerate().map(|(index, entry)| {
            let platform::Entry { name, kind, stamp, .. } = entry;
            let target = match kind {
                Kind::Symlink if followed.contains(&index) => {
                    self.target(&path, dir.join(&name))?
                }
                Kind::Symlink => None,
                Kind::File | Kind::Dir | Kind::Other | _ => stamp.map(|stamp| (kind, stamp)),
            };
            Ok(Entry { name, kind, target })
        });
        let entries = followed.collect::<Result<_>>()?;
        Ok(Outcome::Listed { path, entries })
    }

    fn target(&self, listed: &Path, link: PathBuf) -> Result<Option<(Kind, Stamp)>> {
        if self.cancel.is_cancelled() {
            let (op, path) = (self.op, listed.to_owned());
            return Err(Error::Failed { op, path, kind: ErrorKind::Cancelled, source: None });
        }
        Ok(self.reader.stat(&link, Follow::Yes).ok().and_then(|stat| stat.found))
    }

    fn text(&self, raw: &Path, most: u64) -> Result<Outcome> {
        let (path, read) = self.whole(raw, most)?;
        match read.text() {
            Ok(text) => Ok(Outcome::Text { path, text }),
            Err(why) => Err(Error::unedited(self.op, path, why.into())),
        }
    }

    fn bytes(&self, raw: &Path, most: u64) -> Result<Outcome> {
        let (path, read) = self.whole(raw, most)?;
        let version = read.version();
        Ok(Outcome::Bytes { path, bytes: read.bytes, version })
    }

    /// Reads a whole file. One that does not stand still is told all the same, and is of no
    /// version.
    fn whole(&self, raw: &Path, most: u64) -> Result<(PathBuf, Read)> {
        for left in (0..MOST_READS).rev() {
            let (path, snapshot) = self.at(raw, ReadOnly::open_file)?;
            let read = Read::all(snapshot, most, self.cancel)
                .map_err(|why| Error::unedited(self.op, path.clone(), why.into()))?;
            if read.stood_still() || left == 0 {
                return Ok((path, read));
            }
        }
        unreachable!("the last read returns")
    }

    /// Opens a text to be read piece by piece.
    fn stream(&self, raw: &Path) -> Result<Outcome> {
        let (_, place) = self.look(raw, Follow::Yes)?;
        let (path, snapshot) = self.at(raw, ReadOnly::open_file)?;
        let stream = TextStream::new(snapshot, self.cancel.clone());
        Ok(Outcome::Stream { path, key: place.key, stream })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    /// Of `/proc`, in which some entries are links by their text.
    fn list(cancel: &Cancel, followed: Range<usize>) -> Result<Vec<Entry>> {
        let (op, reader, base) = (Op::List, &ReadOnly::open().unwrap(), Path::new("/proc"));
        let call = Call::new(Request::List { path: base.to_owned() }).following(followed);
        let outcome = Reading { op, reader, base, cancel }.answer(&call, 0)?;
        let Outcome::Listed { entries, .. } = outcome else { panic!("{outcome:?}") };
        Ok(entries)
    }

    #[test]
    fn only_those_links_are_followed_that_are_asked_for() {
        let all = list(&Cancel::never(), 0..usize::MAX).unwrap();
        let first = all.iter().position(|entry| entry.kind == Kind::Symlink).unwrap();
        for followed in [0..usize::MAX, 0..0, 0..first + 1] {
            let listed = list(&Cancel::never(), followed.clone()).unwrap();
            for (index, Entry { name, kind, target }) in listed.iter().enumerate() {
                let told = *kind != Kind::Symlink || followed.contains(&index);
                assert_eq!(target.is_some(), told, "{name:?} of {followed:?}");
            }
        }
    }

    #[test]
    fn what_is_cancelled_is_neither_listed_nor_followed_nor_read() {
        let cancel = Cancel::new();
        cancel.cancel();
        let (op, reader, base) = (Op::List, &ReadOnly::open().unwrap(), Path::new("/proc"));
        let reading = Reading { op, reader, base, cancel: &cancel };
        assert_eq!(list(&cancel, 0..0).unwrap_err().code(), Code::FsAborted);
        let error = reading.target(base, base.join("self")).unwrap_err();
        assert_eq!(error.code(), Code::FsAborted);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        for request in
            [Request::ReadText { path: path.clone() }, Request::ReadBytes { path, most: u64::MAX }]
        {
            let read = reading.answer(&Call::new(request), u64::MAX);
            assert_eq!(read.unwrap_err().code(), Code::FsAborted);
        }
    }
}
