//! What a fence holds: its roots, a resolver and the locks. Every read is written here once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::assurance::Enforcement;
use crate::dir::{Dir, Hold, Meta, READ};
use crate::error::{ErrorKind, Fault, Result};
use crate::locks::Locks;
use crate::path::RootedPath;
use crate::resolve::{Place, Resolve, Trail};
use crate::roots::{Root, RootId, Roots};
use crate::stat::{Entry, Follow, Kind, Snapshot, Stat, TargetKey};

/// What a fence holds, and acts with on whatever thread it acts.
#[derive(Debug)]
pub(crate) struct Held<R> {
    pub(crate) roots: Roots,
    pub(crate) resolver: R,
    pub(crate) locks: Arc<Locks>,
    /// Who holds the boundary.
    pub(crate) level: Enforcement,
}

impl<R: Resolve> Held<R> {
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
        let mut trail = Trail::starting_at(path.to_owned())?;
        loop {
            let anchor = match self.resolver.pin(root, &trail, Hold::Place)? {
                Place::Dir(dir) => return Ok(whole(dir.meta()?)),
                Place::Entry(anchor) => anchor,
            };
            if !anchor.missing.is_empty() {
                let rest: PathBuf =
                    anchor.missing.iter().chain([&anchor.leaf]).map(|n| n.as_os_str()).collect();
                return Ok(Stat { key: TargetKey::entry(anchor.dir.id()?, rest), found: None });
            }
            match self.resolver.rules().look(&anchor.dir, &anchor.leaf)? {
                Some(link) if link.kind == Kind::Symlink && follow == Follow::Yes => {
                    trail.follow(&self.resolver, root, &anchor.dir, &anchor.leaf, &link)?;
                }
                Some(meta) if meta.kind == Kind::Dir => return Ok(whole(meta)),
                Some(_) if anchor.must_be_dir => return Err(Fault::found(Errno::NOTDIR)),
                found => {
                    let key = TargetKey::entry(anchor.dir.id()?, anchor.leaf.as_os_str());
                    return Ok(Stat { key, found: found.map(|meta| (meta.kind, meta.stamp)) });
                }
            }
        }
    }

    pub(crate) fn snapshot(&self, root: &Root, path: &Path) -> Result<Snapshot, Fault> {
        let file = File::from(self.resolver.open(root, path, READ)?);
        let meta = Meta::of(&file)?;
        if meta.kind != Kind::File {
            return Err(Fault::new(ErrorKind::WrongKind));
        }
        Ok(Snapshot { file, stamp: meta.stamp })
    }

    pub(crate) fn entries(&self, root: &Root, path: &Path) -> Result<Vec<Entry>, Fault> {
        let dir = Dir(self.resolver.open(root, path, READ | OFlags::DIRECTORY)?);
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            let (name, kind) = entry?;
            let look = || Ok(dir.look(&name)?.map(|meta| meta.kind));
            // What is gone by now is left out.
            if let Some(kind) = kind.map_or_else(look, |kind| Ok::<_, Fault>(Some(kind)))? {
                entries.push(Entry { name: name.into_os_string(), kind });
            }
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

fn whole(dir: Meta) -> Stat {
    Stat { key: TargetKey::entry(dir.id(), ""), found: Some((Kind::Dir, dir.stamp)) }
}
