//! The directories that may be written beneath.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dir::Dir;
use crate::error::{ErrorKind, Fault, Result};
use crate::path::RootedPath;
use crate::stat::{FileId, TargetKey};

/// The canonical directories a policy may write under: no root inside another, never empty (a
/// read-only policy has none and opens no fence).
///
/// Each is held open by descriptor. The file fence, the Landlock ruleset and every runner are made
/// from this one value, so they cannot drift apart.
#[derive(Clone, Debug)]
pub struct Roots {
    all: Arc<[Root]>,
    protected: Arc<[RootedPath]>,
}

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
    /// Opens each of `paths` by [`Root::open`], and makes them one set by [`Roots::new`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        let roots: Result<Vec<_>> = paths.into_iter().map(Root::open).collect();
        Self::new(roots?)
    }

    /// The set of `roots`, in order. One that is the same directory as an earlier one, or lies
    /// beneath another, is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidPath`] if there is none at all; as [`Root::contains`].
    pub fn new(roots: impl IntoIterator<Item = Root>) -> Result<Self> {
        let roots: Vec<_> = roots.into_iter().collect();
        let ids: Vec<_> = roots.iter().map(|root| root.id).collect();
        let mut outermost: Vec<Root> = Vec::new();
        for (number, root) in roots.into_iter().enumerate() {
            let mut covered = ids[..number].contains(&root.id);
            for id in ids.iter().filter(|id| **id != root.id) {
                covered |= root.is_beneath(*id)?;
            }
            if !covered {
                outermost.push(Root { index: RootId(outermost.len()), ..root });
            }
        }
        if outermost.is_empty() {
            return Err(Fault::new(ErrorKind::InvalidPath).at("open the root", ""));
        }
        Ok(Self { all: outermost.into(), protected: Arc::default() })
    }

    /// The roots, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Root> {
        self.all.iter()
    }

    /// The same roots with these places in them protected, and no others: no fence on them makes a
    /// change that would alter, move or remove one of the places or anything beneath it, nor one by
    /// which something could come to be there, while it is missing too. Directories on the way to a
    /// missing place can be made, and removed. Where symlinks lead on the way is looked up anew for
    /// each change, and each of them stays as it is as well.
    #[must_use]
    pub fn protecting(self, places: impl IntoIterator<Item = RootedPath>) -> Self {
        Self { protected: places.into_iter().collect(), ..self }
    }

    /// The places that are protected.
    pub fn protected(&self) -> &[RootedPath] {
        &self.protected
    }

    pub(crate) fn get(&self, id: RootId) -> Option<&Root> {
        self.all.get(id.0)
    }
}

impl Root {
    /// Opens a directory by a path of the whole process, which is resolved physically, links first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], [`ErrorKind::WrongKind`] or [`ErrorKind::Denied`] if it cannot be
    /// opened as a directory; [`ErrorKind::Busy`] if it was moved while it was being opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let open = |path: &Path| {
            let dir = Dir::open_ambient(path)?;
            let (id, path) = (dir.id()?, path.canonicalize()?);
            Fault::new(ErrorKind::Busy).unless(Dir::open_ambient(&path)?.id()? == id)?;
            Ok(Self { index: RootId(0), path, dir, id })
        };
        open(path.as_ref()).map_err(|fault: Fault| fault.at("open the root", path.as_ref()))
    }

    /// Whether `other` is this directory or lies beneath it now, by identity and not by name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Denied`] if a directory on the way up may not be searched.
    pub fn contains(&self, other: &Self) -> Result<bool> {
        other.is_beneath(self.id)
    }

    fn is_beneath(&self, id: FileId) -> Result<bool> {
        self.dir.is_beneath(id).map_err(|fault| fault.at("look above", &self.path))
    }

    /// Which root this is.
    pub fn id(&self) -> RootId {
        self.index
    }

    /// Where the directory was when it was opened. It may have been renamed since; the boundary
    /// stays with the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its identity, to compare with a [`Stat`](crate::Stat)'s.
    pub fn key(&self) -> TargetKey {
        TargetKey::entry(self.id, "")
    }
}
