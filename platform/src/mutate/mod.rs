//! Every change, written once over a pinned directory and a name in it.
//!
//! Each that replaces or removes something follows one order: resolve and pin, lock the directory,
//! look at the entry under the lock, act with calls that take a single name. What was looked at
//! before a lock was waited for is looked up again, so nothing is decided by what was true before.

mod make;
mod publish;
mod remove;
mod rename;
mod write;

use std::cell::Cell;

use crate::dir::{Dir, Hold};
use crate::error::{ErrorKind, Fault};
use crate::held::Held;
use crate::locks::Lock;
use crate::mutation::{Cas, Durability, Effect, Mutation, Parents, Precondition, Receipt, Terms};
use crate::path::{Name, RootedPath};
use crate::resolve::{Anchor, Place, Resolve, Trail};
use crate::roots::Root;
use crate::stat::{FileId, Stamp, TargetKey};

/// How often a change begins anew because others change the same place.
const MOST_ATTEMPTS: usize = 64;

/// No longer than any file system takes a name.
const SHORT_NAME: usize = 64;

/// Makes one change, or none.
pub(crate) fn run<R: Resolve>(
    held: &Held<R>,
    mutation: &Mutation,
    terms: &Terms,
) -> Result<Receipt, Fault> {
    let (reached, touched) = (Cell::new(terms.durability), Cell::new(false));
    let act = Act { held, terms, reached, touched };
    terms.cancel.check()?;
    let made = match mutation {
        Mutation::Write { path, contents, when, parents } => {
            write::write(&act, path, contents, when, *parents)
        }
        Mutation::CreateDir { path, parents } => make::dir(&act, path, *parents),
        Mutation::Symlink { path, text } => make::symlink(&act, path, text),
        Mutation::Remove { path, what } => remove::remove(&act, path, *what),
        Mutation::Rename { from, to, when } => rename::rename(&act, from, to, when),
        Mutation::Exchange { first, second } => rename::exchange(&act, first, second),
    };
    made.map_err(|fault| Fault { remains: act.touched.get(), ..fault })
}

/// What every change needs at hand.
struct Act<'a, R> {
    held: &'a Held<R>,
    terms: &'a Terms,
    /// What has been synced so far, at the worst.
    reached: Cell<Durability>,
    /// Whether something was done that remains if the change fails.
    touched: Cell<bool>,
}

impl<R: Resolve> Act<'_, R> {
    /// Pins a place, with a hold on its directory by which it can be locked and synced.
    fn pin(&self, root: &Root, trail: &Trail) -> Result<Place, Fault> {
        self.held.resolver.pin(root, trail, Hold::Readable)
    }

    /// Pins the entry that `path` names itself, whose directory must be there.
    fn pin_entry(&self, path: &RootedPath) -> Result<(&Root, Anchor), Fault> {
        let root = self.held.root(path.root)?;
        let trail = Trail::starting_at(path.path.as_path().to_owned())?;
        match self.pin(root, &trail)? {
            // A root is neither removed nor renamed, nor anything else done to it.
            Place::Dir(_) => Err(Fault::new(ErrorKind::WrongKind)),
            Place::Entry(anchor) if anchor.missing.is_empty() => Ok((root, anchor)),
            Place::Entry(_) => Err(Fault::new(ErrorKind::NotFound)),
        }
    }

    /// Makes the missing directories of `anchor` if that was asked for; says how many it made.
    fn make_parents(&self, anchor: &mut Anchor, parents: Parents) -> Result<u32, Fault> {
        if anchor.missing.is_empty() {
            return Ok(0);
        }
        if parents == Parents::Require {
            return Err(Fault::new(ErrorKind::NotFound));
        }
        // Before the first is made: none is left behind by a name further on that cannot be.
        let is_long = |name: &&Name| name.as_os_str().len() > SHORT_NAME;
        for name in anchor.missing.iter().chain([&anchor.leaf]).filter(is_long) {
            anchor.dir.look(name)?;
        }
        let mut made = 0;
        for name in anchor.missing.drain(..) {
            match anchor.dir.make_dir(&name) {
                Ok(()) => made += 1,
                Err(fault) if fault.kind == ErrorKind::AlreadyExists => {}
                Err(fault) => return Err(of_directory(fault)),
            }
            self.touched.set(self.touched.get() || made > 0);
            self.settle(&anchor.dir);
            anchor.dir = anchor.dir.enter(&name, Hold::Readable)?;
        }
        Ok(made)
    }

    /// Keeps every other change of ours out of `dirs`, which may be one, until it is dropped.
    fn lock<'l>(&'l self, dirs: [(FileId, &'l Dir); 2]) -> Result<Lock<'l>, Fault> {
        let lock = self.held.locks.lock(dirs, &self.terms.cancel)?;
        self.terms.cancel.check().map(|()| lock)
    }

    /// Whether `trail` still leads to the directory `id`.
    fn still_leads_to(&self, root: &Root, trail: &Trail, id: FileId) -> Result<bool, Fault> {
        match self.pin(root, trail)? {
            Place::Entry(now) => Ok(now.missing.is_empty() && now.dir.id()? == id),
            Place::Dir(_) => Ok(false),
        }
    }

    /// What a refusal by the host means: if the pinned directory is by now outside the root, it was
    /// the confinement that refused.
    ///
    /// `EXDEV` is what Landlock says to a rename out of its domain.
    fn judge(&self, root: &Root, dir: &Dir, fault: Fault) -> Fault {
        if !matches!(fault.kind, ErrorKind::Denied | ErrorKind::CrossDevice) {
            return fault;
        }
        match (dir.meta(), dir.is_beneath(root.id)) {
            // It was removed, so nothing can be in it.
            (Ok(meta), _) if meta.links == 0 => Fault { kind: ErrorKind::NotFound, ..fault },
            (_, Ok(false)) => Fault { kind: ErrorKind::Escape, ..fault },
            // It cannot be seen where the directory is, if the host refuses that too.
            (_, Ok(true) | Err(_)) => fault,
        }
    }

    /// Puts the entries of `dir` on disk where that was asked for, and says what was reached. What
    /// has been done stands, so that this fails is no failure.
    fn settle(&self, dir: &Dir) -> Durability {
        if self.terms.durability == Durability::Full && !matches!(dir.sync(), Ok(true)) {
            self.reached.set(Durability::File);
        }
        self.reached.get()
    }

    fn receipt(&self, effect: Effect, key: TargetKey, after: Option<Stamp>) -> Receipt {
        Receipt {
            effect,
            key,
            after,
            enforcement: self.held.level,
            cas: Cas::Unconditional,
            durability: self.terms.durability,
            not_kept: Vec::new(),
            parents_created: 0,
        }
    }
}

impl Precondition {
    /// How surely it is seen to hold under `lock`. Without the one between processes, another of
    /// ours could act on what is swapped out and back.
    fn certainty(&self, published: Cas, lock: &Lock<'_>) -> Cas {
        match self {
            Self::Matches { .. } if !lock.is_between_processes() => Cas::Checked,
            Self::None | Self::Absent | Self::Matches { .. } => published,
        }
    }
}

/// A refusal by the host of a change of the directory.
fn of_directory(fault: Fault) -> Fault {
    Fault { of_directory: fault.kind == ErrorKind::Denied, ..fault }
}
