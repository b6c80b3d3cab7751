//! A fence over any resolver: every read is written here once, and every change in [`mutate`].

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::confine::{self, Worker};
use crate::dir::{Dir, Hold, Meta, READ};
use crate::entry_lock::Locks;
use crate::error::{ErrorKind, Fault, Result};
use crate::fence::{Assurance, Confinement, Enforcement, Fence, Gap, Resolution, sealed};
use crate::mutate;
use crate::mutation::{Mutation, Receipt, Terms};
use crate::path::RootedPath;
use crate::pending::Pending;
use crate::resolve::{Place, Resolve, Scope, Trail};
use crate::roots::{Root, RootId, Roots};
use crate::stat::{Entry, Follow, Kind, Snapshot, Stat, TargetKey};

/// What a fence acts with, on whatever thread it acts.
#[derive(Debug)]
pub(crate) struct Core<R> {
    pub(crate) roots: Roots,
    pub(crate) resolver: R,
    pub(crate) locks: Arc<Locks>,
}

/// A fence on this host. With a worker, changes are made by that and reads by the caller's thread;
/// without, all is done there.
#[derive(Debug)]
pub(crate) struct Local<R> {
    core: Arc<Core<R>>,
    assurance: Assurance,
    worker: Option<Worker>,
}

impl<R: Resolve> Local<R> {
    pub(crate) fn new(roots: Roots, resolver: R, confinement: Confinement) -> Result<Self> {
        let (level, gaps) = match (resolver.rules().scope, R::RESOLUTION) {
            (Scope::Beneath, Resolution::Openat2) => (Enforcement::Kernel, vec![]),
            (Scope::Beneath, Resolution::Walk) => (Enforcement::Checked, vec![Gap::NoOpenat2]),
            (Scope::Ambient, _) => (Enforcement::Unfenced, vec![]),
        };
        let mut assurance = Assurance { level, resolution: R::RESOLUTION, confinement, gaps };
        let locks = Locks::of_this_process().map_err(|fault| fault.at("open a fence on", "."))?;
        let core = Arc::new(Core { roots, resolver, locks });
        let worker = match confinement {
            Confinement::Landlock => Some(confine::landlock(&core, &mut assurance)?),
            Confinement::Nothing => None,
        };
        assurance.gaps.extend(worker.is_none().then_some(Gap::NoLandlock));
        Ok(Self { core, assurance, worker })
    }
}

impl<R: Resolve> Core<R> {
    pub(crate) fn root(&self, id: RootId) -> Result<&Root, Fault> {
        self.roots.get(id).ok_or_else(|| Fault::new(ErrorKind::InvalidPath))
    }

    /// Makes the change on this thread, under `enforcement`.
    pub(crate) fn run(
        &self,
        mutation: Mutation,
        terms: &Terms,
        enforcement: Enforcement,
    ) -> Result<Receipt> {
        let call = mutation.call();
        // In a child of fork(2) the locks may be held by threads that do not exist there.
        if !self.locks.is_mine() {
            return call.lost();
        }
        mutate::run(self, mutation, terms, enforcement).map_err(|fault| call.failed(fault))
    }

    fn read<T>(
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
                Some(_) if anchor.must_be_dir => return Err(Fault::new(ErrorKind::WrongKind)),
                found => {
                    let key = TargetKey::entry(anchor.dir.id()?, anchor.leaf.as_os_str());
                    return Ok(Stat { key, found: found.map(|meta| (meta.kind, meta.stamp)) });
                }
            }
        }
    }

    fn snapshot(&self, root: &Root, path: &Path) -> Result<Snapshot, Fault> {
        let file = File::from(self.resolver.open(root, path, READ)?);
        let meta = Meta::of(&file)?;
        if meta.kind != Kind::File {
            return Err(Fault::new(ErrorKind::WrongKind));
        }
        Ok(Snapshot { file, stamp: meta.stamp })
    }

    fn entries(&self, root: &Root, path: &Path) -> Result<Vec<Entry>, Fault> {
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
    Stat { key: TargetKey::dir(dir.id()), found: Some((Kind::Dir, dir.stamp)) }
}

impl<R> sealed::Sealed for Local<R> {}

impl<R: Resolve> Fence for Local<R> {
    fn roots(&self) -> &Roots {
        &self.core.roots
    }

    fn assurance(&self) -> &Assurance {
        &self.assurance
    }

    fn stat(&self, path: &RootedPath, follow: Follow) -> Result<Stat> {
        self.core.read("look at", path, |root, path| self.core.place(root, path, follow))
    }

    fn open(&self, path: &RootedPath) -> Result<Snapshot> {
        self.core.read("open", path, |root, path| self.core.snapshot(root, path))
    }

    fn list(&self, path: &RootedPath) -> Result<Vec<Entry>> {
        self.core.read("list", path, |root, path| self.core.entries(root, path))
    }

    fn apply(&self, mutation: Mutation, terms: &Terms) -> Result<Receipt> {
        let Some(worker) = &self.worker else {
            return self.core.run(mutation, terms, self.assurance.level);
        };
        let call = mutation.call();
        let answer = worker.hand_over(mutation, terms);
        answer.and_then(|answer| worker.wait(answer)).unwrap_or_else(|| call.lost())
    }

    fn submit(&self, mutation: Mutation, terms: &Terms) -> Pending {
        let Some(worker) = &self.worker else {
            return Pending::ready(self.apply(mutation, terms));
        };
        let call = mutation.call();
        match worker.hand_over(mutation, terms) {
            Some(answer) => Pending::handed_over(answer, call),
            None => Pending::ready(call.lost()),
        }
    }
}
