//! What a fence holds: its roots, a resolver and the locks. Every read is written here once.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::assurance::Enforcement;
use crate::cancel::Cancel;
use crate::dir::{Dir, Meta, READ};
use crate::error::{ErrorKind, Fault, Result};
use crate::locks::Locks;
use crate::path::RootedPath;
use crate::resolve::{Place, Resolve};
use crate::roots::{Root, RootId, Roots};
use crate::stat::{Entry, Follow, Kind, Snapshot, Stamp, Stat, TargetKey};

/// What a fence holds, and acts with on whatever thread it acts.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) roots: Roots,
    pub(crate) resolver: Box<dyn Resolve>,
    pub(crate) locks: Arc<Locks>,
    /// Who holds the boundary.
    pub(crate) level: Enforcement,
}

impl Held {
    pub(crate) fn root(&self, id: RootId) -> Result<&Root, Fault> {
        self.roots.get(id).ok_or_else(|| Fault::new(ErrorKind::InvalidPath))
    }

    pub(crate) fn read<T>(
        &self,
        op: &'static str,
        RootedPath { root, path }: &RootedPath,
        read: impl FnOnce(&Root, &Path) -> Result<T, Fault>,
    ) -> Result<T> {
        let found = self.root(*root).and_then(|root| read(root, path.as_path()));
        found.map_err(|fault| fault.at(op, path.as_path()))
    }

    /// What a path names, or would.
    pub(crate) fn place(&self, root: &Root, path: &Path, follow: Follow) -> Result<Stat, Fault> {
        match self.resolver.lead(root, path, follow)? {
            (Place::Dir(dir), _) => Ok(whole(dir.meta()?)),
            (Place::Entry(_), Some(meta)) if meta.kind == Kind::Dir => Ok(whole(meta)),
            (Place::Entry(anchor), Some(_)) if anchor.must_be_dir => {
                Err(Fault::found(Errno::NOTDIR))
            }
            (Place::Entry(anchor), found) => {
                let found = found.map(|meta| (meta.kind, meta.stamp));
                Ok(Stat { key: anchor.key()?, found })
            }
        }
    }

    pub(crate) fn snapshot(&self, root: &Root, path: &Path) -> Result<Snapshot, Fault> {
        let file = File::from(self.resolver.open(root, path, READ)?);
        let meta = Meta::of(&file)?;
        Fault::new(ErrorKind::WrongKind).unless(meta.kind == Kind::File)?;
        Ok(Snapshot { file, stamp: meta.stamp })
    }

    pub(crate) fn list(&self, path: &RootedPath, cancel: &Cancel) -> Result<Vec<Entry>> {
        self.read("list", path, |root, path| {
            let dir = Dir(self.resolver.open(root, path, READ | OFlags::DIRECTORY)?);
            let mut entries = Vec::new();
            for entry in Dir::entries(dir.0.try_clone()?)? {
                let (name, told) = cancel.check().and(entry)?;
                let look = self.resolver.rules().look(&dir, &name);
                // Nothing if it is gone by now.
                let Some(found) = look.transpose() else { continue };
                let (kind, stamp) = found.map_or((told, None), |m| (m.kind, Some(m.stamp)));
                entries.push(Entry { name: name.as_os_str().to_owned(), kind, stamp });
            }
            entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            Ok(entries)
        })
    }
}

impl Snapshot {
    /// The stamp that the open file has by now, wherever it is and whatever has its name.
    ///
    /// Another one than [`stamp`](Self::stamp) says that it has changed since it was opened, if
    /// only by a new name or other permissions. An equal one says that it has not, except within
    /// one tick of the file system's clock, see [`Stamp`]; and a write through mapped memory may
    /// show late, mmap(2).
    ///
    /// # Errors
    ///
    /// As `fstat(2)`.
    pub fn now(&self) -> io::Result<Stamp> {
        Ok(Meta::from(rustix::fs::fstat(&self.file)?).stamp)
    }
}

fn whole(dir: Meta) -> Stat {
    Stat { key: TargetKey::entry(dir.id(), ""), found: Some((Kind::Dir, dir.stamp)) }
}
