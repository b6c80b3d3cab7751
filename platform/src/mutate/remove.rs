//! Entries removed: one, or a tree.

use std::ffi::OsStr;

use super::Act;
use crate::dir::{Dir, Hold, mount_id};
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Effect, Precondition, Receipt, Removal};
use crate::path::{Name, RootedPath};
use crate::resolve::{Anchor, Resolve};
use crate::stat::{FileId, Kind, TargetKey};

/// How often a directory is emptied anew because somebody fills it.
const MOST_REFILLS: usize = 1_000;

pub(super) fn remove<R: Resolve>(
    act: &Act<'_, R>,
    path: &RootedPath,
    what: Removal,
) -> Result<Receipt, Fault> {
    loop {
        let (root, anchor) = act.pin_entry(path, act.hold(&Precondition::None))?;
        let id = anchor.dir.id()?;
        let lock = act.lock(id, &anchor)?;
        if lock.waited && act.pin_entry(path, Hold::Place)?.1.dir.id()? != id {
            continue;
        }
        act.live()?;
        let Anchor { dir, leaf, .. } = &anchor;
        let removed = match what {
            Removal::File => dir.unlink(leaf),
            Removal::EmptyDir => dir.remove_dir(leaf),
            Removal::Tree => match dir.unlink(leaf) {
                Err(fault) if is_directory(dir, leaf, &fault)? => remove_tree(act, dir, leaf),
                done => done,
            },
        };
        removed.map_err(|fault| act.judge(root, dir, fault))?;
        let durability = act.settle(dir)?;
        let key = TargetKey::entry(id, leaf.as_os_str());
        return Ok(Receipt { durability, ..act.receipt(Effect::Removed, key, None) });
    }
}

/// Whether `unlink` failed since the entry is a directory. `EISDIR` on Linux, `EPERM` by POSIX.
fn is_directory(dir: &Dir, name: &Name, fault: &Fault) -> Result<bool, Fault> {
    let perhaps = matches!(fault.kind, ErrorKind::WrongKind | ErrorKind::Denied);
    Ok(perhaps && dir.look(name)?.is_some_and(|meta| meta.kind == Kind::Dir))
}

/// Removes the directory `name` of `dir` and all that is in it, with two descriptors at any depth.
///
/// It goes down into the first directory it meets and comes up by `..`, after it has seen that this
/// is the directory it came from. It does not cross into another mount: what is there was put
/// there by an operator, and the mount point could not be removed anyway.
fn remove_tree<R: Resolve>(act: &Act<'_, R>, dir: &Dir, name: &Name) -> Result<(), Fault> {
    // By device where the kernel does not tell the mount.
    let mount_of = |dir: &Dir| -> Result<_, Fault> {
        let mount = mount_id(dir, OsStr::new(""))?;
        Ok(if mount.is_some() { mount } else { Some(dir.id()?.dev) })
    };
    let mount = mount_of(dir)?;
    let enter = |dir: &Dir, name: &Name| {
        let down = dir.enter(name, Hold::Place)?;
        if mount_of(&down)? != mount {
            return Err(Fault::new(ErrorKind::Busy));
        }
        Ok(down)
    };
    let top = dir.id()?;
    let mut here = enter(dir, name)?;
    let mut way: Vec<(Name, FileId)> = vec![(name.clone(), top)];
    let mut refills = 0;
    loop {
        act.live()?;
        if let Some(down) = empty_until_directory(&here)? {
            let above = here.id()?;
            here = enter(&here, &down)?;
            way.push((down, above));
            continue;
        }
        let Some((done, above)) = way.pop() else { return Ok(()) };
        let up = here.parent(Hold::Place)?;
        if up.id()? != above {
            // It was moved away while it was being emptied.
            return Err(Fault::new(ErrorKind::Busy));
        }
        match up.remove_dir(&done) {
            Ok(()) if way.is_empty() => return Ok(()),
            Ok(()) => here = up,
            Err(fault) if fault.kind == ErrorKind::WrongKind && refills < MOST_REFILLS => {
                refills += 1;
                way.push((done, above));
            }
            Err(fault) => return Err(fault),
        }
    }
}

/// Removes what is in `dir` up to the first directory, whose name is returned.
fn empty_until_directory(dir: &Dir) -> Result<Option<Name>, Fault> {
    for entry in dir.entries()? {
        let (name, kind) = entry?;
        if kind == Some(Kind::Dir) {
            return Ok(Some(name));
        }
        match dir.unlink(&name) {
            Ok(()) => {}
            Err(fault) if fault.kind == ErrorKind::NotFound => {}
            Err(fault) if is_directory(dir, &name, &fault)? => return Ok(Some(name)),
            Err(fault) => return Err(fault),
        }
    }
    Ok(None)
}
