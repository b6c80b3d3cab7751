//! How a whole file gets its name: in one step, and only over what was expected there.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::of_directory;
use crate::cancel::Cancel;
use crate::dir::{Dir, Meta, Old, Onto, Spot};
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Cas, Digest};
use crate::path::Name;
use crate::stat::{FileId, Kind, Stamp};

/// What scratch files are called, so that one left by a crash can be told. The name has nothing of
/// the target's in it, so every name that fits a directory can be written.
const PREFIX: &str = ".ringfence-";
/// How often two entries are exchanged back and forth with writers that are not ours.
const MOST_SWAPS: usize = 4;

/// A file in the making, under a name of its own until it is published. It is removed if it never
/// is.
#[derive(Debug)]
pub(super) struct Scratch<'d> {
    dir: &'d Dir,
    name: Name,
    pub(super) file: File,
    /// Whether what has the name is ours to remove.
    remove: bool,
}

impl<'d> Scratch<'d> {
    pub(super) fn new(dir: &'d Dir, mode: u32) -> Result<Self, Fault> {
        let name = scratch_name();
        let file = dir.create_new(&name, mode).map_err(of_directory)?;
        Ok(Self { dir, name, file, remove: true })
    }

    /// Publishes the file as `leaf`.
    pub(super) fn rename(&mut self, leaf: &Name, onto: Onto) -> Result<(), Fault> {
        Dir::rename((self.dir, &self.name), (self.dir, leaf), onto)?;
        self.remove = false;
        Ok(())
    }

    /// Publishes the file as `leaf` if the expected version is there, and removes that.
    pub(super) fn swap(&mut self, leaf: &Name, expected: Expected<'_>) -> Result<Cas, Fault> {
        let swapped = swap_if((self.dir, &self.name), (self.dir, leaf), expected);
        // After an exchange the name has the old file, which was examined, and goes the same way.
        self.remove = match &swapped {
            Ok(cas) => *cas == Cas::Atomic,
            Err(fault) => fault.stranded.is_none(),
        };
        swapped
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if self.remove
            && let Err(fault) = self.dir.unlink(&self.name)
            && fault.kind != ErrorKind::NotFound
        {
            tracing::warn!(?fault, "scratch file not removed");
        }
    }
}

fn scratch_name() -> Name {
    // The standard library's keys are random and differ from each to the next.
    let random = RandomState::new().build_hasher().finish();
    Name::new(format!("{PREFIX}{random:016x}").as_ref()).expect("it is a plain name")
}

/// The version that must be at the destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'e> {
    pub(super) stamp: &'e Stamp,
    pub(super) digest: &'e Option<Digest>,
    pub(super) cancel: &'e Cancel,
}

impl Expected<'_> {
    /// Fails unless `old`, seen as `meta`, is this very version.
    pub(super) fn require(&self, old: &Old, meta: &Meta) -> Result<(), Fault> {
        let is_it = meta.stamp == *self.stamp && self.has_bytes(old)?;
        Fault::new(ErrorKind::Stale).unless(is_it)
    }

    /// Whether an exchange, which moves the change time, brought this version out.
    fn came_out_at(&self, dir: &Dir, name: &Name) -> Result<bool, Fault> {
        let Some(meta) = dir.look(name)? else { return Ok(false) };
        Ok(meta.kind == Kind::File
            && Stamp { ctime_ns: self.stamp.ctime_ns, ..meta.stamp } == *self.stamp
            && (self.digest.is_none() || self.has_bytes(&Old::at(dir, name)?)?))
    }

    fn has_bytes(&self, old: &Old) -> Result<bool, Fault> {
        let Some(digest) = self.digest else { return Ok(true) };
        old.has(digest, self.stamp.size, self.cancel)
    }
}

/// Exchanges two entries and lets that stand only if what comes out is as expected. Then `from` has
/// the old file, for the caller to remove. Otherwise all is as it was and the answer is `Stale`.
/// Where nothing can be exchanged it is looked at right before `from` is renamed over it.
///
/// The look before that nobody can do atomically is done after, on what can no longer change
/// places.
pub(super) fn swap_if(from: Spot<'_>, to: Spot<'_>, expected: Expected<'_>) -> Result<Cas, Fault> {
    let ours = id_at(from)?;
    match Dir::rename(from, to, Onto::Swap) {
        Err(fault) if fault.kind == ErrorKind::NotFound => {
            return Err(Fault { kind: ErrorKind::Stale, ..fault });
        }
        Err(fault) if fault.kind == ErrorKind::Unsupported => {
            let now = to.0.look(to.1)?.ok_or(Fault::new(ErrorKind::Stale))?;
            expected.require(&Old::at(to.0, to.1)?, &now)?;
            return Dir::rename(from, to, Onto::Anything).map(|()| Cas::Checked);
        }
        swapped => swapped?,
    }
    let examined = expected.came_out_at(from.0, from.1);
    if let Ok(true) = examined {
        return Ok(Cas::Atomic);
    }
    put_back(from, to, ours)?;
    examined.and(Err(Fault::new(ErrorKind::Stale)))
}

/// Undoes an exchange that brought out what was not expected.
///
/// Each exchange must bring out what the one before put in. If it does not, a third writer came
/// between, and its file, the newest, is put back by one exchange more. A file that is not ours is
/// never removed: if one is left over, the fault names where it lies.
fn put_back(from: Spot<'_>, to: Spot<'_>, ours: Option<FileId>) -> Result<(), Fault> {
    let stranded = || stranded(from);
    let mut put = ours;
    for _ in 0..MOST_SWAPS {
        let putting = id_at(from).map_err(|_| stranded())?;
        match Dir::rename(from, to, Onto::Swap) {
            Ok(()) => {}
            // Somebody removed the destination. What was there comes back, unless that is taken.
            Err(fault) if fault.kind == ErrorKind::NotFound => {
                return Dir::rename(from, to, Onto::Nothing).map_err(|_| stranded());
            }
            Err(_) => return Err(stranded()),
        }
        let out = id_at(from).map_err(|_| stranded())?;
        if out == put {
            return if out == ours { Ok(()) } else { Err(stranded()) };
        }
        put = putting;
    }
    Err(stranded())
}

/// Says by what name a file that is not ours is left.
pub(super) fn stranded((_, name): Spot<'_>) -> Fault {
    let name = name.as_os_str().to_owned();
    Fault { stranded: Some(name), ..Fault::new(ErrorKind::Stale) }
}

fn id_at((dir, name): Spot<'_>) -> Result<Option<FileId>, Fault> {
    Ok(dir.look(name)?.map(|meta| meta.id()))
}
