//! New directories and new symlinks.

use std::iter;
use std::path::{Component, Path, PathBuf};

use super::{Act, MOST_ATTEMPTS, of_directory};
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Effect, Parents, Receipt};
use crate::path::{LinkText, RootedPath};
use crate::protect::Touch;
use crate::resolve::{Anchor, Place, Scope, Trail};
use crate::roots::Root;
use crate::stat::{Follow, Kind, TargetKey};

pub(super) fn dir(act: &Act<'_>, path: &RootedPath, parents: Parents) -> Result<Receipt, Fault> {
    let root = act.held.root(path.root)?;
    let mut trail = Trail::starting_at(path.path.as_path().to_owned())?;
    for _ in 0..MOST_ATTEMPTS {
        act.terms.cancel.check()?;
        let mut anchor = match act.pin(root, &trail)? {
            Place::Dir(dir) => {
                let meta = dir.meta()?;
                Fault::new(ErrorKind::NotFound).unless(meta.links > 0)?;
                let key = TargetKey::entry(meta.id(), "");
                return Ok(act.done(&dir, Effect::Unchanged, key, Some(meta.stamp)));
            }
            Place::Entry(anchor) => anchor,
        };
        let made = act.make_parents(&mut anchor, parents);
        made.map_err(|fault| act.judge(root, &anchor.dir, fault))?;
        act.spare(&anchor, Touch::MakeDir)?;
        let Anchor { dir, leaf, .. } = &anchor;
        let (effect, seen) = match act.held.resolver.rules().look(dir, leaf)? {
            Some(meta) if meta.kind == Kind::Dir => (Effect::Unchanged, Some(meta)),
            // As `mkdir -p` does, and mkdir(2) does not.
            Some(link) if link.kind == Kind::Symlink && parents == Parents::Create => {
                trail.follow(&*act.held.resolver, root, dir, leaf, &link)?;
                continue;
            }
            Some(_) => return Err(Fault::new(ErrorKind::AlreadyExists)),
            // A link is there that leads nowhere, and nothing is made through it.
            None if trail.links > 0 => return Err(Fault::new(ErrorKind::AlreadyExists)),
            None => match dir.make_dir(leaf) {
                // What cannot be seen now is looked for once more, and is there then.
                Ok(()) => (Effect::Created, dir.look(leaf).ok().flatten()),
                Err(fault) if fault.kind == ErrorKind::AlreadyExists => continue,
                Err(fault) => return Err(of_directory(act.judge(root, dir, fault))),
            },
        };
        let Some(meta) = seen else { continue };
        return Ok(act.done(dir, effect, TargetKey::entry(meta.id(), ""), Some(meta.stamp)));
    }
    Err(Fault::new(ErrorKind::Busy))
}

pub(super) fn symlink(act: &Act<'_>, path: &RootedPath, text: &LinkText) -> Result<Receipt, Fault> {
    let (root, anchor) = act.pin_entry(path)?;
    act.spare(&anchor, Touch::Replace)?;
    let Anchor { dir, leaf, .. } = &anchor;
    Fault::new(ErrorKind::AlreadyExists).unless(dir.look(leaf)?.is_none())?;
    stays_beneath(act, root, &anchor, path.path.as_path(), text.as_path())?;
    let key = anchor.key()?;
    let made = dir.symlink(text.as_path(), leaf);
    made.map_err(|fault| of_directory(act.judge(root, dir, fault)))?;
    let after = dir.look(leaf).ok().flatten().map(|meta| meta.stamp);
    Ok(act.done(dir, Effect::Created, key, after))
}

/// Refuses a text that leads out of the root as things are, or would once what it names exists.
pub(super) fn stays_beneath(
    act: &Act<'_>,
    root: &Root,
    anchor: &Anchor,
    link: &Path,
    text: &Path,
) -> Result<(), Fault> {
    if act.held.resolver.rules().scope != Scope::Beneath {
        return Ok(());
    }
    let from: PathBuf = link.parent().unwrap_or(Path::new("")).join(text);
    match act.held.place(root, &from, Follow::Yes) {
        Ok(stat) if stat.found.is_some() => return Ok(()),
        Err(f) if matches!(f.kind, ErrorKind::Escape | ErrorKind::Loop) => return Err(f),
        // The way ends somewhere.
        Ok(_) | Err(_) => {}
    }
    let depth = anchor.dir.levels_below(root.id)?.ok_or(Fault::new(ErrorKind::Escape))?;
    let mut components = text.components().filter(|step| *step != Component::CurDir).peekable();
    let up = iter::from_fn(|| components.next_if_eq(&Component::ParentDir)).count();
    // Where a name would lead that is not there yet, and `..` from that, nobody can say.
    let goes_on = components.all(|step| matches!(step, Component::Normal(_)));
    Fault::new(ErrorKind::Escape).unless(up <= depth && goes_on)
}
