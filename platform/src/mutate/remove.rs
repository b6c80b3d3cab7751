//! Entries removed: one, or a tree.

use super::{Act, of_directory};
use crate::dir::{Dir, Hold, mount_id};
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Effect, Receipt, Removal};
use crate::path::{Name, RootedPath};
use crate::protect::Touch;
use crate::resolve::Anchor;
use crate::stat::{FileId, Kind};

/// How often a directory is emptied anew because somebody fills it.
const MOST_REFILLS: usize = 1_000;

pub(super) fn remove(act: &Act<'_>, path: &RootedPath, what: Removal) -> Result<Receipt, Fault> {
    loop {
        let (root, anchor) = act.pin_entry(path)?;
        let key = anchor.key()?;
        let lock = act.lock([(key.parent, &anchor.dir); 2])?;
        if lock.waited && act.pin_entry(path)?.1.key()? != key {
            continue;
        }
        act.spare(&anchor, Touch::Remove)?;
        let Anchor { dir, leaf, .. } = &anchor;
        let removed = match what {
            Removal::File => dir.unlink(leaf),
            Removal::EmptyDir => dir.remove_dir(leaf),
            Removal::Tree => match dir.unlink(leaf) {
                Err(fault) if is_directory(dir, leaf, &fault)? => remove_tree(act, dir, leaf),
                done => done,
            },
        };
        removed.map_err(|fault| of_directory(act.judge(root, dir, fault)))?;
        return Ok(act.done(dir, Effect::Removed, key, None));
    }
}

/// Whether `unlink` failed since the entry is a directory. `EISDIR` on Linux, `EPERM` by POSIX.
fn is_directory(dir: &Dir, name: &Name, fault: &Fault) -> Result<bool, Fault> {
    let perhaps = matches!(fault.kind, ErrorKind::WrongKind | ErrorKind::Denied);
    Ok(perhaps && dir.look(name)?.is_some_and(|meta| meta.kind == Kind::Dir))
}

/// Removes the directory `name` of `dir` and all that is in it, with two descriptors at any depth.
///
/// It comes up by `..`, after it has seen that this is the directory it came from. It does not
/// cross into another mount: what is there was put there by an operator, and the mount point could
/// not be removed anyway.
fn remove_tree(act: &Act<'_>, dir: &Dir, name: &Name) -> Result<(), Fault> {
    // By device where the kernel does not tell the mount.
    let mount_of = |dir: &Dir| -> Result<_, Fault> {
        let mount = mount_id(dir, "")?;
        Ok(if mount.is_some() { mount } else { Some(dir.id()?.dev) })
    };
    let mount = mount_of(dir)?;
    let enter = |dir: &Dir, name: &Name| {
        let down = dir.enter(name, Hold::Place)?;
        Fault::new(ErrorKind::Busy).unless(mount_of(&down)? == mount).map(|()| down)
    };
    let mut here = enter(dir, name)?;
    let mut way = vec![Level { name: name.clone(), above: dir.id()?, within: empty(act, &here)? }];
    let mut refills = 0;
    while let Some(level) = way.last_mut() {
        act.terms.cancel.check()?;
        if let Some(down) = level.within.pop() {
            let above = here.id()?;
            here = match enter(&here, &down) {
                Err(fault) if fault.kind == ErrorKind::NotFound => continue,
                entered => entered?,
            };
            way.push(Level { name: down, above, within: empty(act, &here)? });
            continue;
        }
        let up = here.parent(Hold::Place)?;
        // Else it was moved away while it was being emptied.
        Fault::new(ErrorKind::Busy).unless(up.id()? == level.above)?;
        match up.remove_dir(&level.name) {
            Err(fault) if fault.kind == ErrorKind::WrongKind && refills < MOST_REFILLS => {
                refills += 1;
                level.within = empty(act, &here)?;
            }
            Err(fault) if fault.kind != ErrorKind::NotFound => return Err(fault),
            // By this change or by somebody else.
            Ok(()) | Err(_) => {
                act.touched.set(true);
                here = up;
                way.pop();
            }
        }
    }
    Ok(())
}

/// A directory on the way down into a tree.
struct Level {
    name: Name,
    /// The directory it is in.
    above: FileId,
    /// The directories in it that are still to be removed.
    within: Vec<Name>,
}

/// Removes what is in `dir` but for directories, whose names are returned.
fn empty(act: &Act<'_>, dir: &Dir) -> Result<Vec<Name>, Fault> {
    let mut directories = Vec::new();
    for entry in Dir::entries(dir.open_itself()?)? {
        act.terms.cancel.check()?;
        let (name, kind) = entry?;
        if kind == Kind::Dir {
            directories.push(name);
            continue;
        }
        match dir.unlink(&name) {
            Ok(()) => act.touched.set(true),
            Err(fault) if fault.kind == ErrorKind::NotFound => {}
            Err(fault) if is_directory(dir, &name, &fault)? => directories.push(name),
            Err(fault) => return Err(fault),
        }
    }
    Ok(directories)
}
