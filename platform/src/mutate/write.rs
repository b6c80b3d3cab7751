//! Whole files: created, or atomically replaced.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use super::publish::{Expected, Scratch};
use super::{Act, MOST_ATTEMPTS, may_make_parents, of_directory};
use crate::dir::{Carried, Meta, Old, Onto, shed_acl};
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Cas, Durability, Effect, Parents, Precondition, Receipt};
use crate::path::RootedPath;
use crate::protect::Touch;
use crate::resolve::{Anchor, Place, Trail};
use crate::stat::{Follow, Kind, Stamp, TargetKey};

/// With what mode a new file is made: `open(2)` takes the umask or a default ACL from it.
const NEW_FILE: u32 = 0o666;

/// Where a file would be, if that can be told, or why there would be none.
pub(crate) type Whereabouts = Result<Option<PathBuf>, Fault>;

/// A whole file, and where it is to be.
pub(super) struct Write<'a> {
    pub(super) act: &'a Act<'a>,
    pub(super) path: &'a RootedPath,
    pub(super) contents: &'a [u8],
    pub(super) when: &'a Precondition,
    pub(super) parents: Parents,
}

impl Write<'_> {
    /// Makes the change, or none.
    pub(super) fn make(&self) -> Result<Receipt, Fault> {
        let Self { act, path, when, .. } = self;
        let root = act.held.root(path.root)?;
        let mut trail = Trail::starting_at(path.path.as_path().to_owned())?;
        for _ in 0..MOST_ATTEMPTS {
            act.terms.cancel.check()?;
            let mut anchor = act.pin_place(root, &trail)?;
            if !anchor.missing.is_empty() {
                self.admit(&anchor, None)?;
                let made = act.make_parents(&mut anchor, self.parents);
                made.map_err(|fault| act.judge(root, &anchor.dir, fault))?;
            }
            let key = anchor.key()?;
            let lock = act.lock([(key.parent, &anchor.dir); 2])?;
            if lock.waited && act.pin_place(root, &trail)?.key()? != key {
                continue;
            }
            let found = act.held.resolver.rules().look(&anchor.dir, &anchor.leaf)?;
            if let Some(link) = found.filter(|meta| meta.kind == Kind::Symlink) {
                trail.follow(&*act.held.resolver, root, &anchor.dir, &anchor.leaf, &link)?;
                continue;
            }
            self.admit(&anchor, found)?;
            let done = match found {
                Some(old) => self.replace(&anchor, key, &old).map(Some),
                None => self.create(&anchor, key),
            };
            let done = done.map_err(|fault| act.judge(root, &anchor.dir, fault));
            let Some(done) = done? else { continue };
            return Ok(Receipt { cas: when.certainty(done.cas, &lock), ..done });
        }
        Err(Fault::new(ErrorKind::Busy))
    }

    /// Fails if [`make`](Self::make) would, with what that would fail with first; else says where
    /// the file would be. Changes nothing, and waits for nobody.
    pub(super) fn rehearse(&self) -> Whereabouts {
        let Self { act, path, .. } = self;
        let root = act.held.root(path.root)?;
        let led = act.held.resolver.lead(root, path.path.as_path(), Follow::Yes)?;
        let (Place::Entry(anchor), found) = led else {
            return Err(Fault::new(ErrorKind::WrongKind));
        };
        self.admit(&anchor, found)?;
        let verdict = match found {
            Some(old) => self
                .may_replace(&anchor, &old)
                .and_then(|_| anchor.dir.may_take(&anchor.leaf, &old).map_err(of_directory)),
            None => may_make_parents(&anchor, self.parents)
                .and_then(|()| anchor.dir.may_fill().map_err(of_directory)),
        };
        verdict.map_err(|fault| act.judge(root, &anchor.dir, fault))?;
        Ok(anchor.place())
    }

    /// Fails if that place is protected, if a file cannot be where `found` is, if that is not the place that was asked for, or
    /// if nothing is there and a version is expected.
    fn admit(&self, anchor: &Anchor, found: Option<Meta>) -> Result<(), Fault> {
        self.act.spare(anchor, Touch::Replace)?;
        let can_be_file = found.is_none_or(|meta| meta.kind == Kind::File);
        Fault::new(ErrorKind::WrongKind).unless(can_be_file && !anchor.must_be_dir)?;
        let is_there = self.act.terms.at.is_none() || self.act.terms.at == anchor.place();
        let is_gone = found.is_none() && matches!(self.when, Precondition::Matches { .. });
        Fault::new(ErrorKind::Stale).unless(is_there && !is_gone)
    }

    /// Makes a file where nothing is. Nothing is returned if something is there by now and that is
    /// no reason to fail.
    fn create(&self, anchor: &Anchor, key: TargetKey) -> Result<Option<Receipt>, Fault> {
        let (Self { act, when, .. }, Anchor { dir, leaf, .. }) = (self, anchor);
        let created = |file: &File| Ok(Some(act.done(dir, Effect::Created, key, stamp_of(file))));
        let taken = |fault: Fault| match (fault.kind, when) {
            (ErrorKind::AlreadyExists, Precondition::None) => Ok(None),
            _ => Err(fault),
        };
        // A file without a name leaves nothing behind, whatever happens.
        if let Some(unnamed) = dir.create_unnamed(NEW_FILE).map_err(of_directory)? {
            self.fill(&unnamed)?;
            match dir.link(&unnamed, leaf) {
                Ok(()) => return created(&unnamed),
                Err(fault) if fault.kind == ErrorKind::AlreadyExists => return taken(fault),
                // There may be no hard links here. What else it is, the named file meets too.
                Err(_) => {}
            }
        }
        let mut scratch = Scratch::new(dir, NEW_FILE)?;
        self.fill(&scratch.file)?;
        match scratch.rename(leaf, Onto::Nothing) {
            Ok(()) => created(&scratch.file),
            Err(fault) => taken(fault),
        }
    }

    fn replace(&self, anchor: &Anchor, key: TargetKey, meta: &Meta) -> Result<Receipt, Fault> {
        let (Self { act, contents, .. }, Anchor { dir, leaf, .. }) = (self, anchor);
        let (old, expected) = self.may_replace(anchor, meta)?;
        if meta.stamp.size == contents.len() as u64 && old.holds(contents)? {
            // It would be replaced if it had others: whether that is permitted does not depend on
            // them.
            dir.may_take(leaf, meta).map_err(of_directory)?;
            if let Old::Open(file) = &old {
                self.sync(file)?;
            }
            let done = act.done(dir, Effect::Unchanged, key, Some(meta.stamp));
            return Ok(Receipt { cas: Cas::Atomic, ..done });
        }
        let carried = Carried::from(&old, meta)?;
        let mut scratch = Scratch::new(dir, carried.creation_mode())?;
        if shed_acl(&scratch.file)? {
            drop(scratch);
            scratch = Scratch::new(dir, 0o600)?;
            shed_acl(&scratch.file)?;
        }
        let not_kept = carried.put_on(&scratch.file)?;
        self.fill(&scratch.file)?;
        let published = match expected {
            None => scratch.rename(leaf, Onto::Anything).map(|()| Cas::Unconditional),
            Some(expected) => scratch.swap(leaf, expected),
        };
        let cas = published.map_err(of_directory)?;
        let after = stamp_of(&scratch.file);
        // What came out of an exchange is gone before the directory is synced.
        drop(scratch);
        Ok(Receipt { cas, not_kept, ..act.done(dir, Effect::Replaced, key, after) })
    }

    /// Fails unless what is there, seen as `meta`, is what is expected and the caller's own to
    /// write.
    fn may_replace(&self, at: &Anchor, meta: &Meta) -> Result<(Old, Option<Expected<'_>>), Fault> {
        let cancel = &self.act.terms.cancel;
        let expected = match self.when {
            Precondition::None => None,
            Precondition::Absent => return Err(Fault::new(ErrorKind::AlreadyExists)),
            Precondition::Matches { stamp, digest } => Some(Expected { stamp, digest, cancel }),
        };
        let old = Old::at(&at.dir, &at.leaf)?;
        if let Some(expected) = expected {
            // Also so that no new content is shown, even for a moment, that is then taken back.
            expected.require(&old, meta)?;
        }
        at.dir.may_write(&at.leaf)?;
        Ok((old, expected))
    }

    /// Puts the contents into a file that is to be published.
    fn fill(&self, mut file: &File) -> Result<(), Fault> {
        file.write_all(self.contents)?;
        self.sync(file)?;
        self.act.terms.cancel.check()
    }

    /// Puts the bytes of a file on disk where that was asked for.
    fn sync(&self, file: &File) -> Result<(), Fault> {
        let asked = self.act.terms.durability != Durability::None;
        Ok(if asked { file.sync_all() } else { Ok(()) }?)
    }
}

/// The stamp of what has been published, which no failure undoes.
fn stamp_of(file: &File) -> Option<Stamp> {
    Meta::of(file).ok().map(|meta| meta.stamp)
}
