//! The directories that may be written beneath.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::stat::{FileId, TargetKey};

/// The canonical directories a policy may write under: no root inside another, never empty (a
/// read-only policy has none and opens no fence).
///
/// Each is held open by descriptor. The file fence, the Landlock ruleset and every runner are made
/// from this one value, so they cannot drift apart.
#[derive(Clone, Debug)]
pub struct Roots(Arc<[Root]>);

/// One root: a directory that is held open.
#[derive(Debug)]
pub struct Root {
    index: RootId,
    path: PathBuf,
    dir: Dir,
    id: FileId,
}

/// Which root of a [`Roots`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub struct RootId(pub(crate) usize);

impl Roots {
    /// Opens each of `paths`, which are resolved physically, links first. One that is the same
    /// directory as an earlier one, or lies beneath another, is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], [`ErrorKind::WrongKind`] or [`ErrorKind::Denied`] for a path that
    /// cannot be opened as a directory; [`ErrorKind::InvalidPath`] if there is none at all;
    /// [`ErrorKind::Busy`] if a directory was moved while it was being opened.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        let mut opened: Vec<(PathBuf, Dir, FileId)> = Vec::new();
        for path in paths {
            let path = path.as_ref();
            let fail = |fault: crate::error::Fault| fault.at("open the root", path);
            let dir = Dir::open_ambient(path).map_err(fail)?;
            let id = dir.id().map_err(fail)?;
            let canonical = path.canonicalize().map_err(|e| fail(e.into()))?;
            let again = Dir::open_ambient(&canonical).and_then(|d| d.id()).map_err(fail)?;
            if again != id {
                return Err(Error::new("open the root", path, ErrorKind::Busy));
            }
            if opened.iter().all(|(_, _, other)| *other != id) {
                opened.push((canonical, dir, id));
            }
        }
        if opened.is_empty() {
            return Err(Error::new("open the root", "", ErrorKind::InvalidPath));
        }
        let mut kept = Vec::with_capacity(opened.len());
        for (path, dir, id) in &opened {
            let mut inside = false;
            for (_, _, other) in opened.iter().filter(|(_, _, other)| other != id) {
                inside |=
                    dir.is_beneath(*other).map_err(|fault| fault.at("open the root", path))?;
            }
            kept.push(!inside);
        }
        let roots = opened
            .into_iter()
            .zip(kept)
            .filter_map(|(root, keep)| keep.then_some(root))
            .enumerate()
            .map(|(index, (path, dir, id))| Root { index: RootId(index), path, dir, id })
            .collect();
        Ok(Self(roots))
    }

    /// The roots, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Root> {
        self.0.iter()
    }

    pub(crate) fn get(&self, id: RootId) -> Option<&Root> {
        self.0.get(id.0)
    }
}

impl Root {
    /// Which root this is.
    #[must_use]
    pub fn id(&self) -> RootId {
        self.index
    }

    /// Where the directory was when it was opened. It may have been renamed since; the boundary
    /// stays with the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its identity, to compare with a [`Stat`](crate::Stat)'s.
    #[must_use]
    pub fn key(&self) -> TargetKey {
        TargetKey::dir(self.id)
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn file_id(&self) -> FileId {
        self.id
    }
}
