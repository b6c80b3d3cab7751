//! Every change, written once over a pinned directory and a name in it.
//!
//! Each that replaces or removes something follows one order: resolve and pin, lock the directory,
//! look at the entry under the lock, act with calls that take a single name. What was looked at
//! before a lock was waited for is looked up again, so nothing is decided by what was true before.

mod make;
mod publish;
mod rehearse;
mod remove;
mod rename;
mod write;

use std::cell::Cell;

pub(crate) use self::rehearse::rehearse;
use self::write::Write;
use crate::dir::{Dir, Hold};
use crate::error::{ErrorKind, Fault};
use crate::held::Held;
use crate::locks::Lock;
use crate::mutation::{Cas, Durability, Effect, Mutation, Parents, Precondition, Receipt, Terms};
use crate::path::{Name, RootedPath};
use crate::protect::Touch;
use crate::resolve::{Anchor, Place, Trail};
use crate::roots::Root;
use crate::stat::{FileId, Stamp, TargetKey};

/// How often a change begins anew because others change the same place.
const MOST_ATTEMPTS: usize = 64;

/// No longer than any file system takes a name.
const SHORT_NAME: usize = 64;

/// Makes one change, or none.
pub(crate) fn run(held: &Held, mutation: &Mutation, terms: &Terms) -> Result<Receipt, Fault> {
    let act = Act::new(held, terms);
    terms.cancel.check()?;
    let knows_place = terms.at.is_none() || matches!(mutation, Mutation::Write { .. });
    Fault::new(ErrorKind::Unsupported).unless(knows_place)?;
    let made = match mutation {
        Mutation::Write { path, contents, when, parents } => {
            Write { act: &act, path, contents, when, parents: *parents }.make()
        }
        Mutation::CreateDir { path, parents } => make::dir(&act, path, *parents),
        Mutation::Symlink { path, text } => make::symlink(&act, path, text),
        Mutation::Remove { path, what } => remove::remove(&act, path, *what),
        Mutation::Rename { from, to, when } => rename::rename(&act, from, to, when),
        Mutation::Exchange { first, second } => rename::exchange(&act, first, second),
    };
    let remains = act.touched.get() || act.parents_created.get() > 0;
    made.map_err(|fault| Fault { remains, ..fault })
}

/// What every change needs at hand.
struct Act<'a> {
    held: &'a Held,
    terms: &'a Terms,
    /// What has been synced so far, at the worst.
    reached: Cell<Durability>,
    /// Whether anything else was done that remains if the change fails.
    touched: Cell<bool>,
    /// How many missing directories were made on the way, which remain.
    parents_created: Cell<u32>,
}

impl<'a> Act<'a> {
    fn new(held: &'a Held, terms: &'a Terms) -> Self {
        let reached = Cell::new(terms.durability);
        Self { held, terms, reached, touched: Cell::default(), parents_created: Cell::default() }
    }

    /// Pins a place, with a hold on its directory by which it can be locked and synced.
    fn pin(&self, root: &Root, trail: &Trail) -> Result<Place, Fault> {
        self.held.resolver.pin(root, trail, Hold::Readable)
    }

    /// Pins a place that is an entry. A root is none: it is neither replaced, removed nor renamed.
    fn pin_place(&self, root: &Root, trail: &Trail) -> Result<Anchor, Fault> {
        match self.pin(root, trail)? {
            Place::Entry(anchor) => Ok(anchor),
            Place::Dir(_) => Err(Fault::new(ErrorKind::WrongKind)),
        }
    }

    /// Pins the entry that `path` names itself, whose directory must be there.
    fn pin_entry(&self, path: &RootedPath) -> Result<(&Root, Anchor), Fault> {
        let root = self.held.root(path.root)?;
        let trail = Trail::starting_at(path.path.as_path().to_owned())?;
        let anchor = self.pin_place(root, &trail)?;
        if anchor.missing.is_empty() {
            return Ok((root, anchor));
        }
        self.spare(&anchor, Touch::Replace)?;
        Err(Fault::new(ErrorKind::NotFound))
    }

    /// Fails if a protected place would be touched by a change of the entry.
    fn spare(&self, anchor: &Anchor, touch: Touch) -> Result<(), Fault> {
        self.held.spare(&anchor.dir, &anchor.names().collect::<Vec<_>>(), touch)
    }

    /// Makes the missing directories of `anchor` if that was asked for.
    fn make_parents(&self, anchor: &mut Anchor, parents: Parents) -> Result<(), Fault> {
        self.spare(anchor, Touch::MakeDir)?;
        may_make_parents(anchor, parents)?;
        for name in anchor.missing.drain(..) {
            // Another change may have made a part of the way to a protected place since.
            self.held.spare(&anchor.dir, &[&name], Touch::MakeDir)?;
            match anchor.dir.make_dir(&name) {
                Ok(()) => self.parents_created.update(|made| made + 1),
                Err(fault) if fault.kind == ErrorKind::AlreadyExists => {}
                Err(fault) => return Err(of_directory(fault)),
            }
            self.settle(&anchor.dir);
            anchor.dir = anchor.dir.enter(&name, Hold::Readable)?;
        }
        Ok(())
    }

    /// Keeps every other change of ours out of `dirs`, which may be one, until it is dropped.
    fn lock<'l>(&'l self, dirs: [(FileId, &'l Dir); 2]) -> Result<Lock<'l>, Fault> {
        let lock = self.held.locks.lock(dirs, &self.terms.cancel)?;
        self.terms.cancel.check().map(|()| lock)
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

    /// Puts the entries of `dir` on disk where that was asked for. What has been done stands, so
    /// that this fails is no failure.
    fn settle(&self, dir: &Dir) {
        if self.terms.durability == Durability::Full && !matches!(dir.sync(), Ok(true)) {
            self.reached.set(Durability::File);
        }
    }

    /// Says what was done to an entry of `dir`, once that is as durable as was asked for.
    fn done(&self, dir: &Dir, effect: Effect, key: TargetKey, after: Option<Stamp>) -> Receipt {
        self.settle(dir);
        Receipt {
            effect,
            key,
            after,
            enforcement: self.held.level,
            cas: Cas::Unconditional,
            durability: self.reached.get(),
            not_kept: Vec::new(),
            parents_created: self.parents_created.get(),
        }
    }
}

/// Fails if directories are missing on the way to `anchor` that cannot be made, or are not to be.
fn may_make_parents(anchor: &Anchor, parents: Parents) -> Result<(), Fault> {
    let may_lack = parents == Parents::Create || anchor.missing.is_empty();
    Fault::new(ErrorKind::NotFound).unless(may_lack)?;
    // Before the first is made: none is left behind by a name further on that cannot be.
    let is_long = |name: &&Name| name.as_os_str().len() > SHORT_NAME;
    anchor.names().filter(is_long).try_for_each(|name| anchor.dir.look(name).map(drop))
}

impl Precondition {
    /// How surely it is seen to hold under `lock`, where a version that is expected was `seen` so.
    /// Without the lock between processes, another of ours could act on what is swapped out and
    /// back.
    fn certainty(&self, seen: Cas, lock: &Lock<'_>) -> Cas {
        match self {
            Self::None => Cas::Unconditional,
            Self::Absent => Cas::Atomic,
            Self::Matches { .. } if !lock.is_between_processes() => Cas::Checked,
            Self::Matches { .. } => seen,
        }
    }
}

/// A refusal by the host of a change of the directory.
fn of_directory(fault: Fault) -> Fault {
    Fault { of_directory: fault.kind == ErrorKind::Denied, ..fault }
}
