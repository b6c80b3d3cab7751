//! What a change would say, as far as that can be seen without making it. Changes nothing, waits
//! for nobody and decides nothing.

use rustix::io::Errno;

use super::make::stays_beneath;
use super::write::{Whereabouts, Write};
use super::{Act, MOST_ATTEMPTS, may_make_parents, of_directory};
use crate::dir::{Dir, Hold, Meta};
use crate::error::{ErrorKind, Fault};
use crate::held::Held;
use crate::mutation::{Mutation, Parents, Removal, Terms};
use crate::path::{LinkText, Name, RootedPath};
use crate::protect::Touch;
use crate::resolve::{Anchor, Place, Trail};
use crate::stat::Kind;

/// Says whether a change would be made, and where.
pub(crate) fn rehearse(held: &Held, mutation: &Mutation) -> Whereabouts {
    let terms = Terms::default();
    let act = &Act::new(held, &terms);
    match mutation {
        Mutation::Write { path, contents, when, parents } => {
            Write { act, path, contents, when, parents: *parents }.rehearse()
        }
        Mutation::CreateDir { path, parents } => dir(act, path, *parents),
        Mutation::Symlink { path, text } => symlink(act, path, text),
        Mutation::Remove { path, what } => {
            take(act, path, Touch::Remove, |dir, name, there| removable(dir, name, there, *what))
        }
        Mutation::Rename { from, to, .. } if from == to => {
            take(act, from, Touch::Replace, |dir, name, there| dir.may_take(name, there))
        }
        Mutation::Rename { .. } | Mutation::Exchange { .. } => {
            Err(Fault::new(ErrorKind::Unsupported))
        }
    }
}

fn dir(act: &Act<'_>, path: &RootedPath, parents: Parents) -> Whereabouts {
    let root = act.held.root(path.root)?;
    let mut trail = Trail::starting_at(path.path.as_path().to_owned())?;
    for _ in 0..MOST_ATTEMPTS {
        let anchor = match act.pin(root, &trail)? {
            Place::Dir(dir) => return Ok(dir.place()),
            Place::Entry(anchor) => anchor,
        };
        act.spare(&anchor, Touch::MakeDir)?;
        may_make_parents(&anchor, parents)?;
        let Anchor { dir, leaf, missing, .. } = &anchor;
        let found = match missing.is_empty() {
            true => act.held.resolver.rules().look(dir, leaf)?,
            false => None,
        };
        match found {
            Some(meta) if meta.kind == Kind::Dir => return Ok(anchor.place()),
            Some(link) if link.kind == Kind::Symlink && parents == Parents::Create => {
                trail.follow(&*act.held.resolver, root, dir, leaf, &link)?;
                continue;
            }
            Some(_) => return Err(Fault::new(ErrorKind::AlreadyExists)),
            None => {}
        }
        let may = dir.may_fill().map_err(of_directory);
        may.map_err(|fault| act.judge(root, dir, fault))?;
        // Nothing is made through a link that leads nowhere.
        Fault::new(ErrorKind::AlreadyExists).unless(trail.links == 0)?;
        return Ok(anchor.place());
    }
    Err(Fault::new(ErrorKind::Busy))
}

fn symlink(act: &Act<'_>, path: &RootedPath, text: &LinkText) -> Whereabouts {
    let (root, anchor) = act.pin_entry(path)?;
    act.spare(&anchor, Touch::Replace)?;
    let Anchor { dir, leaf, .. } = &anchor;
    Fault::new(ErrorKind::AlreadyExists).unless(dir.look(leaf)?.is_none())?;
    stays_beneath(act, root, &anchor, path.path.as_path(), text.as_path())?;
    dir.may_fill().map_err(|fault| of_directory(act.judge(root, dir, fault)))?;
    Ok(anchor.place())
}

/// Whether the entry itself may be taken from where it is.
fn take(
    act: &Act<'_>,
    path: &RootedPath,
    touch: Touch,
    may: impl FnOnce(&Dir, &Name, &Meta) -> Result<(), Fault>,
) -> Whereabouts {
    let (root, anchor) = act.pin_entry(path)?;
    act.spare(&anchor, touch)?;
    let Anchor { dir, leaf, .. } = &anchor;
    let there = dir.look(leaf)?.ok_or(Fault::new(ErrorKind::NotFound))?;
    may(dir, leaf, &there).map_err(|fault| of_directory(act.judge(root, dir, fault)))?;
    Ok(anchor.place())
}

/// Of a tree only the top is looked at.
fn removable(dir: &Dir, name: &Name, there: &Meta, what: Removal) -> Result<(), Fault> {
    let may = dir.may_take(name, there);
    let is_dir = there.kind == Kind::Dir;
    match what {
        Removal::Tree => may,
        // As unlink(2), which tells of a directory before it tells of a mount.
        Removal::File => match may {
            Err(fault) if !(is_dir && fault.kind == ErrorKind::Busy) => Err(fault),
            Ok(()) | Err(_) => Fault::from(Errno::ISDIR).unless(!is_dir),
        },
        Removal::EmptyDir => {
            may?;
            Fault::from(Errno::NOTDIR).unless(is_dir)?;
            // What is in one that cannot be read cannot be told.
            let within = dir.enter(name, Hold::Place).and_then(|dir| dir.open_itself());
            let first = within.ok().map(Dir::entries).transpose()?.and_then(|mut all| all.next());
            Fault::from(Errno::NOTEMPTY).unless(first.is_none())
        }
    }
}
