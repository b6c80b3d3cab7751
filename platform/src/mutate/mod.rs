//! Every change, written once over a pinned directory and a name in it.
//!
//! Each follows one order: resolve and pin, lock the entry, look at it under the lock, act with
//! calls that take a single name. What was looked at before a lock was waited for is looked up
//! again, so nothing is decided by what was true before.

mod make;
mod publish;
mod remove;
mod rename;
mod write;

use crate::assurance::Enforcement;
use crate::dir::{Dir, Hold};
use crate::entry_lock::EntryLock;
use crate::error::{ErrorKind, Fault};
use crate::held::Held;
use crate::mutation::{Cas, Durability, Effect, Mutation, Parents, Precondition, Receipt, Terms};
use crate::path::{Name, RootedPath};
use crate::resolve::{Anchor, Place, Resolve, Trail};
use crate::roots::Root;
use crate::stat::{FileId, Stamp, TargetKey};

/// How often a change begins anew because others change the same place.
const MOST_ATTEMPTS: usize = 64;

/// Makes one change, or none.
pub(crate) fn run<R: Resolve>(
    held: &Held<R>,
    mutation: Mutation,
    terms: &Terms,
    enforcement: Enforcement,
) -> Result<Receipt, Fault> {
    let act = Act { held, terms, enforcement };
    act.live()?;
    match mutation {
        Mutation::Write { path, contents, when, parents } => {
            write::write(&act, &path, &contents, &when, parents)
        }
        Mutation::CreateDir { path, parents } => make::dir(&act, &path, parents),
        Mutation::Symlink { path, text } => make::symlink(&act, &path, &text),
        Mutation::Remove { path, what } => remove::remove(&act, &path, what),
        Mutation::Rename { from, to, when } => rename::rename(&act, &from, &to, &when),
        Mutation::Exchange { first, second } => rename::exchange(&act, &first, &second),
    }
}

/// What every change needs at hand.
struct Act<'a, R> {
    held: &'a Held<R>,
    terms: &'a Terms,
    enforcement: Enforcement,
}

impl<R: Resolve> Act<'_, R> {
    /// Goes on only if nobody cancelled.
    fn live(&self) -> Result<(), Fault> {
        if self.terms.cancel.is_cancelled() {
            Err(Fault::new(ErrorKind::Cancelled))
        } else {
            Ok(())
        }
    }

    /// The hold on a directory whose entry changes: readable to lock it against other processes,
    /// which a comparison needs and what publishes in one call does not, or to sync it.
    fn hold(&self, when: &Precondition) -> Hold {
        let compares = matches!(when, Precondition::Matches { .. });
        let syncs = self.terms.durability == Durability::Full;
        if compares || syncs { Hold::Readable } else { Hold::Place }
    }

    fn pin(&self, root: &Root, trail: &Trail, hold: Hold) -> Result<Place, Fault> {
        self.held.resolver.pin(root, trail, hold)
    }

    /// Pins the entry that `path` names itself, whose directory must be there.
    fn pin_entry(&self, path: &RootedPath, hold: Hold) -> Result<(&Root, Anchor), Fault> {
        let root = self.held.root(path.root)?;
        let trail = Trail::starting_at(path.path.as_path().to_owned())?;
        match self.pin(root, &trail, hold)? {
            // A root is neither removed nor renamed, nor anything else done to it.
            Place::Dir(_) => Err(Fault::new(ErrorKind::WrongKind)),
            Place::Entry(anchor) if anchor.missing.is_empty() => Ok((root, anchor)),
            Place::Entry(_) => Err(Fault::new(ErrorKind::NotFound)),
        }
    }

    /// Makes the missing directories of `anchor` if that was asked for; says how many it made.
    fn make_parents(
        &self,
        anchor: &mut Anchor,
        parents: Parents,
        hold: Hold,
    ) -> Result<u32, Fault> {
        if anchor.missing.is_empty() {
            return Ok(0);
        }
        if parents == Parents::Require {
            return Err(Fault::new(ErrorKind::NotFound));
        }
        // Before the first is made: none is left behind by a name further on that cannot be.
        let longest = anchor.dir.name_max()?;
        let too_long = |name: &Name| name.as_os_str().len() as u64 > longest;
        if anchor.missing.iter().chain([&anchor.leaf]).any(too_long) {
            return Err(Fault::new(ErrorKind::NameTooLong));
        }
        let mut made = 0;
        for name in anchor.missing.drain(..) {
            match anchor.dir.make_dir(&name) {
                Ok(()) => made += 1,
                Err(fault) if fault.kind == ErrorKind::AlreadyExists => {}
                Err(fault) => return Err(fault),
            }
            self.settle(&anchor.dir)?;
            anchor.dir = anchor.dir.enter(&name, hold)?;
        }
        Ok(made)
    }

    fn lock(&self, dir: FileId, Anchor { leaf, .. }: &Anchor) -> Result<EntryLock<'_>, Fault> {
        self.held.locks.entries((dir, leaf), (dir, leaf), &self.terms.cancel)
    }

    /// Whether `trail` still leads to the directory `id`.
    fn still_leads_to(&self, root: &Root, trail: &Trail, id: FileId) -> Result<bool, Fault> {
        match self.pin(root, trail, Hold::Place)? {
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
            (_, Ok(false)) => Fault { kind: ErrorKind::Escape, confined: true, ..fault },
            // It cannot be seen where the directory is, if the host refuses that too.
            (_, Ok(true) | Err(_)) => fault,
        }
    }

    /// Puts the entries of `dir` on disk where that was asked for, and says what was reached.
    fn settle(&self, dir: &Dir) -> Result<Durability, Fault> {
        let asked = self.terms.durability;
        let short = asked == Durability::Full && !dir.sync()?;
        Ok(if short { Durability::File } else { asked })
    }

    fn receipt(&self, effect: Effect, key: TargetKey, after: Option<Stamp>) -> Receipt {
        Receipt {
            effect,
            key,
            after,
            enforcement: self.enforcement,
            cas: Cas::Unconditional,
            durability: self.terms.durability,
            not_kept: Vec::new(),
            parents_created: 0,
        }
    }
}
