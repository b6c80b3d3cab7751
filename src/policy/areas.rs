//! The directories of workspace-write around one workspace: opened once, and the fence on them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwap;
use ringfence_platform::{
    self as platform, Confinement, Enforcement, Fence, Follow, Options, RelPath, Resolution, Root,
    RootedPath, Roots, TargetKey,
};

use super::roots::{self, TempAreas};
use crate::error::{Error, Result};
use crate::mode::Mode;
use crate::reader::ReadOnly;

/// Which fence is good enough.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Required {
    pub(crate) at_least: Enforcement,
    /// This kind and no other.
    pub(crate) kind: Option<(Resolution, Confinement)>,
}

/// The workspace and the temp areas, held open for as long as a policy speaks of them.
#[derive(Debug)]
pub(crate) struct Areas {
    /// The workspace first. Some may lie in others.
    places: Vec<Place>,
    /// Beneath the workspace.
    protected: Vec<RelPath>,
    required: Required,
    reader: ReadOnly,
    set: ArcSwap<Set>,
    /// The workspace was seen to be elsewhere, which coming back does not mend.
    moved: AtomicBool,
    ambient: Mutex<Option<Arc<dyn Fence>>>,
}

/// A directory by its path when it was opened, and by its identity.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Place {
    path: PathBuf,
    key: TargetKey,
}

/// The writable roots by now.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) roots: Roots,
    /// What they were made from.
    places: Vec<Place>,
    fence: Mutex<Option<Arc<dyn Fence>>>,
}

impl Areas {
    /// Opens the areas around `workspace`, or shares them with whoever holds the same ones: then
    /// there is one fence, and one confined thread, for all. `setting` is what names the workspace,
    /// and `protected` what stays as it is beneath that. What is missing of it is told.
    pub(crate) fn open(
        setting: &'static str,
        workspace: &Path,
        temps: &TempAreas,
        required: Required,
        protected: &[RelPath],
    ) -> Result<Arc<Self>> {
        let areas = Self::shared(setting, workspace, temps, required, protected)?;
        areas.tell_what_is_missing();
        Ok(areas)
    }

    fn shared(
        setting: &'static str,
        workspace: &Path,
        temps: &TempAreas,
        required: Required,
        protected: &[RelPath],
    ) -> Result<Arc<Self>> {
        let opened = roots::areas(setting, workspace, temps)?;
        let places: Vec<_> = opened.iter().map(Place::of).collect();
        let Some(mut held) = held_in_this_process() else {
            return Self::new(opened, places, required, protected).map(Arc::new);
        };
        held.retain(|areas| areas.strong_count() > 0);
        let mut all = held.iter().filter_map(Weak::upgrade);
        // Of a set that has lost an area since, nobody who opens it anew is to know.
        let same = all.find(|areas| {
            let is_same = areas.places == places && areas.protected == protected;
            is_same && areas.required == required && areas.is_whole()
        });
        if let Some(same) = same
            && same.is_as_proved()?
        {
            return Ok(same);
        }
        let areas = Arc::new(Self::new(opened, places, required, protected)?);
        held.push(Arc::downgrade(&areas));
        Ok(areas)
    }

    fn new(
        opened: Vec<Root>,
        places: Vec<Place>,
        required: Required,
        protected: &[RelPath],
    ) -> Result<Self> {
        let set = Set::new(opened, places.clone(), protected)?;
        let reader = ReadOnly::open().map_err(|source| required.missed(Some(source)))?;
        let (set, ambient) = (ArcSwap::from_pointee(set), Mutex::new(None));
        let (protected, moved) = (protected.to_vec(), AtomicBool::new(false));
        Ok(Self { places, protected, required, reader, set, moved, ambient })
    }

    /// The canonical workspace, as it was called when it was opened.
    pub(crate) fn workspace(&self) -> &Path {
        &self.places[0].path
    }

    /// Reads anywhere.
    pub(crate) fn reader(&self) -> &ReadOnly {
        &self.reader
    }

    /// The roots as they were last seen, without another look.
    pub(crate) fn last_seen(&self) -> Arc<Set> {
        self.set.load_full()
    }

    /// The roots, once each is seen to be where it was opened. A temp area that is not leaves the
    /// set.
    ///
    /// # Errors
    ///
    /// [`Error::WorkspaceMoved`] if the workspace is not.
    pub(crate) fn now(&self) -> Result<Arc<Set>> {
        self.at_its_place()?;
        let set = self.last_seen();
        // The first is the workspace.
        if set.places.iter().skip(1).all(|place| place.is_there(&self.reader)) {
            return Ok(set);
        }
        let smaller = Arc::new(set.without_lost(&self.reader, &self.protected)?);
        self.set.store(Arc::clone(&smaller));
        Ok(smaller)
    }

    /// Whether the workspace is still where it was opened, which no mode goes on without.
    pub(crate) fn at_its_place(&self) -> Result<()> {
        if !self.places[0].is_there(&self.reader) {
            self.moved.store(true, Ordering::Relaxed);
        }
        match self.moved.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Error::WorkspaceMoved { path: self.workspace().to_owned() }),
        }
    }

    /// What this user may do without a boundary.
    pub(crate) fn ambient(&self) -> Result<Arc<dyn Fence>> {
        opened(&self.ambient, || {
            let opened = platform::unfenced(platform::ambient_authority());
            opened.map_err(|source| self.required.missed(Some(source)))
        })
    }

    /// The fence on `set`, which is one of these.
    pub(crate) fn fence(&self, set: &Set) -> Result<Arc<dyn Fence>> {
        opened(&set.fence, || self.required.open(&set.roots))
    }

    /// Sees to it that what is required can be held, where that is to be known before it is needed.
    pub(crate) fn held_as_required(&self, mode: Mode) -> Result<()> {
        if mode == Mode::WorkspaceWrite || self.required.at_least > Enforcement::Checked {
            self.fence(&self.last_seen())?;
        }
        Ok(())
    }

    /// Whether `path` lies in one of them by its spelling.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(&place.path))
    }

    /// Whether `path` is one of them by its spelling.
    pub(crate) fn name(&self, path: &Path) -> bool {
        self.places.iter().any(|place| place.path == path)
    }

    /// What is not there is protected too, and is most likely a mistake.
    fn tell_what_is_missing(&self) {
        for (path, _) in self.protected().filter(|(_, is_there)| !is_there) {
            tracing::warn!(?path, "a protected place is missing");
        }
    }

    /// The protected places, and whether anything is at each.
    pub(crate) fn protected(&self) -> impl Iterator<Item = (PathBuf, bool)> {
        self.protected.iter().map(|path| {
            let path = self.workspace().join(path.as_path());
            let seen = self.reader.stat(&path, Follow::Yes);
            let is_there = seen.is_ok_and(|seen| seen.found.is_some());
            (path, is_there)
        })
    }

    /// Whether a fence that is put up now holds what the one that is held was seen to hold: what a
    /// host gives can have changed since, by a mount for example.
    fn is_as_proved(&self) -> Result<bool> {
        let set = self.last_seen();
        let held = locked(&set.fence).clone();
        let Some(held) = held else { return Ok(true) };
        Ok(self.required.open(&set.roots)?.assurance() == held.assurance())
    }

    /// Whether all of it is as it was when it was opened.
    fn is_whole(&self) -> bool {
        let moved = self.moved.load(Ordering::Relaxed);
        !moved && self.last_seen().places.len() == self.places.len()
    }

    /// Whether these are areas around the same workspace, by its place and its identity.
    pub(crate) fn is_around(&self, other: &Self) -> bool {
        self.places[0] == other.places[0]
    }
}

impl Place {
    fn of(root: &Root) -> Self {
        Self { path: root.path().to_owned(), key: root.key() }
    }

    fn is_there(&self, reader: &ReadOnly) -> bool {
        reader.stat(&self.path, Follow::Yes).is_ok_and(|seen| seen.key == self.key)
    }
}

impl Set {
    fn new(opened: Vec<Root>, places: Vec<Place>, protected: &[RelPath]) -> Result<Self> {
        let roots = Roots::new(opened).map_err(roots::failed)?;
        let roots = protecting(roots, &places[0].path, protected)?;
        Ok(Self { roots, places, fence: Mutex::new(None) })
    }

    fn without_lost(&self, reader: &ReadOnly, protected: &[RelPath]) -> Result<Self> {
        let (mut opened, mut places) = (Vec::new(), Vec::new());
        for place in &self.places {
            let again = place.is_there(reader).then(|| Root::open(&place.path));
            match again {
                Some(Ok(root)) if Place::of(&root) == *place => {
                    opened.push(root);
                    places.push(place.clone());
                }
                Some(_) | None => {
                    tracing::warn!(path = ?place.path, "a temp area is gone or another by now");
                }
            }
        }
        Self::new(opened, places, protected)
    }

    /// The directories, the workspace first, by the path and the identity that each had when it was
    /// opened. Some may lie in others.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&Path, &TargetKey)> {
        self.places.iter().map(|place| (&*place.path, &place.key))
    }

    /// Whether `key` is one of the directories and no root: it lies within another, so that the
    /// fence takes it for an entry of that.
    pub(crate) fn nests(&self, key: &TargetKey) -> bool {
        self.places.iter().any(|place| place.key == *key)
            && self.roots.iter().all(|root| root.key() != *key)
    }

    /// Whether any is.
    pub(crate) fn has_nested(&self) -> bool {
        self.places.iter().any(|place| self.nests(&place.key))
    }
}

impl Required {
    fn open(self, roots: &Roots) -> Result<Box<dyn Fence>> {
        let options = Options { at_least: self.at_least, ..Options::default() };
        let Some(kind) = self.kind else {
            return platform::open(roots, options).map_err(|source| self.missed(Some(source)));
        };
        let offer = platform::survey(roots, options)
            .find(|offer| (offer.resolution, offer.confinement) == kind);
        let fence = offer.ok_or_else(|| self.missed(None))?.fence;
        let fence = fence.map_err(|source| self.missed(Some(source)))?;
        match fence.assurance().level < self.at_least {
            true => Err(self.missed(None)),
            false => Ok(fence),
        }
    }

    fn missed(self, source: Option<platform::Error>) -> Error {
        Error::Unavailable { required: self.at_least, source }
    }
}

/// `roots`, of which one is `workspace` or has it within, with these places in that protected.
fn protecting(roots: Roots, workspace: &Path, protected: &[RelPath]) -> Result<Roots> {
    let above = roots.iter().find(|root| workspace.starts_with(root.path()));
    let Some(root) = above else {
        return Err(Error::WorkspaceMoved { path: workspace.to_owned() });
    };
    let rooted = |path: &RelPath| {
        let path = workspace.join(path.as_path());
        let beneath = path.strip_prefix(root.path()).unwrap_or(&path);
        RelPath::new(beneath).map(|beneath| RootedPath::new(root.id(), beneath))
    };
    let places: platform::Result<Vec<_>> = protected.iter().map(rooted).collect();
    Ok(roots.clone().protecting(places.map_err(roots::failed)?))
}

/// What `slot` holds, opened first if it is empty.
fn opened(
    slot: &Mutex<Option<Arc<dyn Fence>>>,
    open: impl FnOnce() -> Result<Box<dyn Fence>>,
) -> Result<Arc<dyn Fence>> {
    let mut slot = locked(slot);
    let fence = match slot.take() {
        Some(fence) => fence,
        None => Arc::from(open()?),
    };
    Ok(Arc::clone(slot.insert(fence)))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything that is held open. Nothing in a forked child, where the lock may be held by a thread
/// that does not exist, and where no fence of the parent is good for anything.
fn held_in_this_process() -> Option<MutexGuard<'static, Vec<Weak<Areas>>>> {
    static HELD: Mutex<Vec<Weak<Areas>>> = Mutex::new(Vec::new());
    static OWNER: AtomicU32 = AtomicU32::new(0);
    let this = std::process::id();
    let owner = OWNER.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed);
    (owner.is_ok() || owner == Err(this)).then(|| locked(&HELD))
}
