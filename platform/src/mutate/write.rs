//! Whole files: created, or atomically replaced.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::publish::{Expected, Scratch};
use super::{Act, MOST_ATTEMPTS};
use crate::dir::{Carried, Hold, Inherited, Meta, Old, Onto};
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Cas, Durability, Effect, NotKept, Parents, Precondition, Receipt};
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
    let root = act.local.root(path.root)?;
    let hold = hold(act, when);
    let mut trail = Trail::starting_at(path.path.as_path().to_owned())?;
    let mut parents_created = 0;
    for _ in 0..MOST_ATTEMPTS {
        act.live()?;
        let mut anchor = match act.pin(root, &trail, hold)? {
            Place::Dir(_) => return Err(Fault::new(ErrorKind::WrongKind)),
            Place::Entry(anchor) => anchor,
        };
        if !anchor.missing.is_empty() && matches!(when, Precondition::Matches { .. }) {
            return Err(Fault::new(ErrorKind::Stale));
        }
        let made = act.make_parents(&mut anchor, parents, hold);
        parents_created += made.map_err(|fault| act.judge(root, &anchor.dir, fault))?;

        let dir = anchor.dir.id()?;
        let lock = act.lock(dir, &anchor)?;
        if lock.waited && !act.still_leads_to(root, &trail, dir)? {
            continue;
        }
        // Only a comparison needs to keep other processes out. What publishes in one call does not.
        let locked = match when {
            Precondition::Matches { .. } => anchor.dir.lock(act.cancel())?,
            Precondition::None | Precondition::Absent => false,
        };
        let rules = act.local.resolver().rules();
        let found = match rules.look(&anchor.dir, &anchor.leaf)? {
            Some(link) if link.kind == Kind::Symlink => {
                trail.follow(act.local.resolver(), root, &anchor.dir, &anchor.leaf, &link)?;
                continue;
            }
            Some(meta) if meta.kind != Kind::File => {
                return Err(Fault::new(ErrorKind::WrongKind));
            }
            _ if anchor.must_be_dir => return Err(Fault::new(ErrorKind::WrongKind)),
            found => found,
        };
        let done = match (found, when) {
            (Some(old), _) => replace(act, &anchor, &old, contents, when).map(Some),
            (None, Precondition::Matches { .. }) => Err(Fault::new(ErrorKind::Stale)),
            (None, Precondition::Absent | Precondition::None) => {
                create(act, &anchor, contents, when)
            }
        };
        let done = done.map_err(|fault| act.judge(root, &anchor.dir, fault));
        let Some(done) = done.map_err(|fault| name_stranded(fault, path.path.as_path()))? else {
            continue;
        };
        let key = TargetKey::entry(dir, anchor.leaf.as_os_str());
        let cas = match when {
            Precondition::None => Cas::Unconditional,
            Precondition::Matches { .. } if !locked => Cas::Checked,
            Precondition::Absent | Precondition::Matches { .. } => done.cas,
        };
        let durability = act.settle(&anchor.dir)?;
        let receipt = act.receipt(done.effect, key, Some(done.after));
        let not_kept = done.not_kept;
        return Ok(Receipt { cas, durability, not_kept, parents_created, ..receipt });
    }
    Err(Fault::new(ErrorKind::Busy))
}

/// What became of the file.
struct Done {
    effect: Effect,
    after: Stamp,
    cas: Cas,
    not_kept: NotKept,
}

fn hold<R: Resolve>(act: &Act<'_, R>, when: &Precondition) -> Hold {
    match when {
        Precondition::Matches { .. } => Hold::Readable,
        Precondition::None | Precondition::Absent => act.hold(),
    }
}

/// Makes a file where nothing is. Nothing is returned if something is there by now and that is
/// no reason to fail.
fn create<R: Resolve>(
    act: &Act<'_, R>,
    Anchor { dir, leaf, .. }: &Anchor,
    contents: &[u8],
    when: &Precondition,
) -> Result<Option<Done>, Fault> {
    let created = |file: &File| -> Result<_, Fault> {
        let after = Meta::of(file)?.stamp;
        let not_kept = NotKept::default();
        Ok(Some(Done { effect: Effect::Created, after, cas: Cas::Atomic, not_kept }))
    };
    let taken = |fault: Fault| match (fault.kind(), when) {
        (ErrorKind::AlreadyExists, Precondition::None) => Ok(None),
        _ => Err(fault),
    };
    // A file without a name leaves nothing behind, whatever happens.
    if let Some(unnamed) = dir.create_unnamed(NEW_FILE)? {
        fill(act, &unnamed, contents)?;
        act.live()?;
        match dir.link(&unnamed, leaf) {
            Ok(()) => return created(&unnamed),
            Err(fault) if fault.kind() == ErrorKind::AlreadyExists => return taken(fault),
            // There may be no hard links here. What else it is, the named file meets too.
            Err(_) => {}
        }
    }
    let mut scratch = Scratch::new(dir, NEW_FILE)?;
    fill(act, scratch.file(), contents)?;
    act.live()?;
    match scratch.rename(leaf, Onto::Nothing) {
        Ok(()) => created(scratch.file()),
        Err(fault) => taken(fault),
    }
}

fn replace<R: Resolve>(
    act: &Act<'_, R>,
    Anchor { dir, leaf, .. }: &Anchor,
    meta: &Meta,
    contents: &[u8],
    when: &Precondition,
) -> Result<Done, Fault> {
    let expected = match when {
        Precondition::None => None,
        Precondition::Absent => return Err(Fault::new(ErrorKind::AlreadyExists)),
        Precondition::Matches { stamp, digest } => {
            Some(Expected { stamp, digest: digest.as_ref() })
        }
    };
    let old = Old::at(dir, leaf)?;
    if let Some(expected) = expected {
        // Also so that no new content is shown, even for a moment, that is then taken back.
        expected.require(&old, meta)?;
    }
    dir.may_write(leaf)?;
    let carried = Carried::from(&old, meta)?;
    let mut scratch = Scratch::new(dir, carried.creation_mode())?;
    let inherited = Inherited::by(scratch.file())?;
    if inherited == Inherited::Acl {
        scratch = Scratch::new(dir, 0o600)?;
    }
    let not_kept = carried.put_on(scratch.file(), inherited)?;
    fill(act, scratch.file(), contents)?;
    act.live()?;
    let cas = match expected {
        None => {
            scratch.rename(leaf, Onto::Anything)?;
            Cas::Unconditional
        }
        Some(expected) => match scratch.swap(leaf, expected) {
            Ok(()) => Cas::Atomic,
            Err(fault) if fault.kind() == ErrorKind::Unsupported => {
                let now = dir.look(leaf)?.ok_or(Fault::new(ErrorKind::Stale))?;
                expected.require(&Old::at(dir, leaf)?, &now)?;
                scratch.rename(leaf, Onto::Anything)?;
                Cas::Checked
            }
            Err(fault) => return Err(fault),
        },
    };
    let after = Meta::of(scratch.file())?.stamp;
    Ok(Done { effect: Effect::Replaced, after, cas, not_kept })
}

fn fill<R: Resolve>(act: &Act<'_, R>, mut file: &File, contents: &[u8]) -> Result<(), Fault> {
    file.write_all(contents)?;
    match act.terms.durability {
        Durability::None => {}
        Durability::File | Durability::Full => file.sync_all()?,
    }
    Ok(())
}

/// Turns the bare name of a file that could not be put back into a path beneath the root.
fn name_stranded(fault: Fault, path: &Path) -> Fault {
    match fault.stranded() {
        Some(name) => {
            let place = path.parent().unwrap_or(Path::new("")).join(name);
            fault.stranded_at(place)
        }
        None => fault,
    }
}
