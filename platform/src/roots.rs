//! The directories that may be written beneath.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dir::Dir;
use crate::error::{ErrorKind, Fault, Result};
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
    pub(crate) dir: Dir,
    pub(crate) id: FileId,
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
        let mut opened: Vec<Root> = Vec::new();
        for path in paths {
            let path = path.as_ref();
            let root = Root::open(path).map_err(|fault| fault.at("open the root", path))?;
            if opened.iter().all(|other| other.id != root.id) {
                opened.push(root);
            }
        }
        let fail = |fault: Fault| fault.at("open the root", "");
        if opened.is_empty() {
            return Err(fail(Fault::new(ErrorKind::InvalidPath)));
        }
        let ids: Vec<_> = opened.iter().map(|root| root.id).collect();
        let mut outermost: Vec<Root> = Vec::new();
        for root in opened {
            let others = ids.iter().filter(|id| **id != root.id);
            let within: Vec<_> = others
                .map(|id| root.dir.is_beneath(*id))
                .collect::<Result<_, _>>()
                .map_err(fail)?;
            if !within.contains(&true) {
                outermost.push(Root { index: RootId(outermost.len()), ..root });
            }
        }
        Ok(Self(outermost.into()))
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
    fn open(path: &Path) -> Result<Self, Fault> {
        let dir = Dir::open_ambient(path)?;
        let id = dir.id()?;
        let path = path.canonicalize()?;
        if Dir::open_ambient(&path)?.id()? != id {
            return Err(Fault::new(ErrorKind::Busy));
        }
        Ok(Self { index: RootId(0), path, dir, id })
    }

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
}
