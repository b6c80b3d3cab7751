//! Whole files: created, or atomically replaced.

use std::fs::File;
use std::io::Write;

use super::publish::{Expected, Scratch};
use super::{Act, MOST_ATTEMPTS, of_directory};
use crate::dir::{Carried, Meta, Old, Onto, shed_acl};
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Cas, Durability, Effect, Parents, Precondition, Receipt};
use crate::path::RootedPath;
use crate::resolve::{Anchor, Place, Resolve, Trail};
use crate::stat::{Kind, Stamp, TargetKey};

/// With what mode a new file is made: `open(2)` takes the umask or a default ACL from it.
const NEW_FILE: u32 = 0o666;

pub(super) fn write<R: Resolve>(
    act: &Act<'_, R>,
    path: &RootedPath,
    contents: &[u8],
    when: &Precondition,
    parents: Parents,
) -> Result<Receipt, Fault> {
    let root = act.held.root(path.root)?;
    let mut trail = Trail::starting_at(path.path.as_path().to_owned())?;
    let mut parents_created = 0;
    for _ in 0..MOST_ATTEMPTS {
        act.terms.cancel.check()?;
        let mut anchor = match act.pin(root, &trail)? {
            Place::Dir(_) => return Err(Fault::new(ErrorKind::WrongKind)),
            Place::Entry(anchor) => anchor,
        };
        let compares = matches!(when, Precondition::Matches { .. });
        if compares && !anchor.missing.is_empty() {
            return Err(Fault::new(ErrorKind::Stale));
        }
        let made = act.make_parents(&mut anchor, parents);
        parents_created += made.map_err(|fault| act.judge(root, &anchor.dir, fault))?;

        let dir = anchor.dir.id()?;
        let lock = act.lock([(dir, &anchor.dir); 2])?;
        if lock.waited && !act.still_leads_to(root, &trail, dir)? {
            continue;
        }
        let found = match act.held.resolver.rules().look(&anchor.dir, &anchor.leaf)? {
            Some(link) if link.kind == Kind::Symlink => {
                trail.follow(&act.held.resolver, root, &anchor.dir, &anchor.leaf, &link)?;
                continue;
            }
            found if anchor.must_be_dir || found.is_some_and(|meta| meta.kind != Kind::File) => {
                return Err(Fault::new(ErrorKind::WrongKind));
            }
            found => found,
        };
        let key = TargetKey::entry(dir, anchor.leaf.as_os_str());
        let done = match found {
            Some(old) => replace(act, &anchor, key, &old, contents, when).map(Some),
            None if compares => Err(Fault::new(ErrorKind::Stale)),
            None => create(act, &anchor, key, contents, when),
        };
        let done = done.map_err(|fault| act.judge(root, &anchor.dir, fault));
        let Some(done) = done? else { continue };
        let cas = when.certainty(done.cas, &lock);
        let durability = act.settle(&anchor.dir);
        return Ok(Receipt { cas, durability, parents_created, ..done });
    }
    Err(Fault::new(ErrorKind::Busy))
}

/// Makes a file where nothing is. Nothing is returned if something is there by now and that is
/// no reason to fail.
fn create<R: Resolve>(
    act: &Act<'_, R>,
    Anchor { dir, leaf, .. }: &Anchor,
    key: TargetKey,
    contents: &[u8],
    when: &Precondition,
) -> Result<Option<Receipt>, Fault> {
    let created = |file: &File| {
        let cas = if *when == Precondition::Absent { Cas::Atomic } else { Cas::Unconditional };
        Ok(Some(Receipt { cas, ..act.receipt(Effect::Created, key, stamp_of(file)) }))
    };
    let taken = |fault: Fault| match (fault.kind, when) {
        (ErrorKind::AlreadyExists, Precondition::None) => Ok(None),
        _ => Err(fault),
    };
    // A file without a name leaves nothing behind, whatever happens.
    if let Some(unnamed) = dir.create_unnamed(NEW_FILE).map_err(of_directory)? {
        fill(act, &unnamed, contents)?;
        act.terms.cancel.check()?;
        match dir.link(&unnamed, leaf) {
            Ok(()) => return created(&unnamed),
            Err(fault) if fault.kind == ErrorKind::AlreadyExists => return taken(fault),
            // There may be no hard links here. What else it is, the named file meets too.
            Err(_) => {}
        }
    }
    let mut scratch = Scratch::new(dir, NEW_FILE)?;
    fill(act, &scratch.file, contents)?;
    act.terms.cancel.check()?;
    match scratch.rename(leaf, Onto::Nothing) {
        Ok(()) => created(&scratch.file),
        Err(fault) => taken(fault),
    }
}

fn replace<R: Resolve>(
    act: &Act<'_, R>,
    Anchor { dir, leaf, .. }: &Anchor,
    key: TargetKey,
    meta: &Meta,
    contents: &[u8],
    when: &Precondition,
) -> Result<Receipt, Fault> {
    let expected = match when {
        Precondition::None => None,
        Precondition::Absent => return Err(Fault::new(ErrorKind::AlreadyExists)),
        Precondition::Matches { stamp, digest } => {
            let cancel = &act.terms.cancel;
            Some(Expected { stamp, digest: digest.as_ref(), cancel })
        }
    };
    let old = Old::at(dir, leaf)?;
    if let Some(expected) = expected {
        // Also so that no new content is shown, even for a moment, that is then taken back.
        expected.require(&old, meta)?;
    }
    dir.may_write(leaf)?;
    let cas = if expected.is_some() { Cas::Atomic } else { Cas::Unconditional };
    if meta.stamp.size == contents.len() as u64 && old.holds(contents)? {
        // It would be replaced if it had others: whether that is permitted does not depend on them.
        dir.may_take(leaf, meta).map_err(of_directory)?;
        if act.terms.durability != Durability::None {
            old.sync()?;
        }
        return Ok(Receipt { cas, ..act.receipt(Effect::Unchanged, key, Some(meta.stamp)) });
    }
    let carried = Carried::from(&old, meta)?;
    let mut scratch = Scratch::new(dir, carried.creation_mode())?;
    if shed_acl(&scratch.file)? {
        drop(scratch);
        scratch = Scratch::new(dir, 0o600)?;
        shed_acl(&scratch.file)?;
    }
    let not_kept = carried.put_on(&scratch.file)?;
    fill(act, &scratch.file, contents)?;
    act.terms.cancel.check()?;
    let published = match expected {
        None => scratch.rename(leaf, Onto::Anything).map(|()| Cas::Unconditional),
        Some(expected) => scratch.swap(leaf, expected),
    };
    let cas = published.map_err(of_directory)?;
    let receipt = act.receipt(Effect::Replaced, key, stamp_of(&scratch.file));
    Ok(Receipt { cas, not_kept, ..receipt })
}

fn fill<R: Resolve>(act: &Act<'_, R>, mut file: &File, contents: &[u8]) -> Result<(), Fault> {
    file.write_all(contents)?;
    if act.terms.durability != Durability::None {
        file.sync_all()?;
    }
    Ok(())
}

/// The stamp of what has been published, which no failure undoes.
fn stamp_of(file: &File) -> Option<Stamp> {
    Meta::of(file).ok().map(|meta| meta.stamp)
}
