//! Entries renamed and exchanged, also from one root to another.

use super::publish::{Expected, stranded, swap_if};
use super::{Act, of_directory};
use crate::dir::{Dir, Old, Onto, Spot};
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Cas, Effect, Precondition, Receipt};
use crate::path::RootedPath;
use crate::protect::Touch;
use crate::stat::Kind;

pub(super) fn rename(
    act: &Act<'_>,
    from: &RootedPath,
    to: &RootedPath,
    when: &Precondition,
) -> Result<Receipt, Fault> {
    on_both(act, from, to, when, |from, to| match when {
        Precondition::None => {
            Dir::rename(from, to, Onto::Anything)?;
            let stayed = is_still_there(from, to);
            Ok((if stayed { Effect::Unchanged } else { Effect::Renamed }, Cas::Unconditional))
        }
        Precondition::Absent => {
            Dir::rename(from, to, Onto::Nothing).map(|()| (Effect::Renamed, Cas::Atomic))
        }
        Precondition::Matches { stamp, digest } => {
            replace(from, to, Expected { stamp, digest, cancel: &act.terms.cancel })
        }
    })
}

pub(super) fn exchange(
    act: &Act<'_>,
    first: &RootedPath,
    second: &RootedPath,
) -> Result<Receipt, Fault> {
    on_both(act, first, second, &Precondition::None, |first, second| {
        Dir::rename(first, second, Onto::Swap).map(|()| (Effect::Exchanged, Cas::Unconditional))
    })
}

/// Pins and locks both entries and has `change` act on them. An entry and itself are already each
/// other.
fn on_both(
    act: &Act<'_>,
    first: &RootedPath,
    second: &RootedPath,
    when: &Precondition,
    change: impl Fn(Spot<'_>, Spot<'_>) -> Result<(Effect, Cas), Fault>,
) -> Result<Receipt, Fault> {
    loop {
        let (root, a) = act.pin_entry(first)?;
        let of_second = |fault| Fault { second: true, ..fault };
        let (other_root, b) = act.pin_entry(second).map_err(of_second)?;
        let keys = (a.key()?, b.key()?);
        let lock = act.lock([(keys.0.parent, &a.dir), (keys.1.parent, &b.dir)])?;
        let now = |path| act.pin_entry(path)?.1.key();
        if lock.waited && (now(first)?, now(second)?) != keys {
            continue;
        }
        act.spare(&a, Touch::Replace)?;
        act.spare(&b, Touch::Replace).map_err(of_second)?;
        let judge = |fault| match act.judge(root, &a.dir, fault) {
            fault if fault.kind == ErrorKind::Escape => fault,
            fault => of_directory(act.judge(other_root, &b.dir, fault)),
        };
        let (from, to) = ((&a.dir, &a.leaf), (&b.dir, &b.leaf));
        let (effect, cas) = change(from, to).map_err(judge)?;
        let effect = if keys.0 == keys.1 { Effect::Unchanged } else { effect };
        act.settle(&a.dir);
        let after = b.dir.look(&b.leaf).ok().flatten().map(|meta| meta.stamp);
        let cas = when.certainty(cas, &lock);
        return Ok(Receipt { cas, ..act.done(&b.dir, effect, keys.1, after) });
    }
}

/// Renames over the expected version and removes that.
fn replace(from: Spot<'_>, to: Spot<'_>, expected: Expected<'_>) -> Result<(Effect, Cas), Fault> {
    let new = from.0.look(from.1)?.ok_or(Fault::new(ErrorKind::NotFound))?;
    let old = to.0.look(to.1)?.ok_or(Fault::new(ErrorKind::Stale))?;
    let is_of_files = old.kind == Kind::File && new.kind != Kind::Dir;
    Fault::new(ErrorKind::WrongKind).unless(is_of_files)?;
    expected.require(&Old::at(to.0, to.1)?, &old)?;
    // Two names of one file: rename(2) does nothing then, and an exchange neither.
    if old.id() == new.id() {
        return Ok((Effect::Unchanged, Cas::Atomic));
    }
    // In a sticky directory somebody else's file could be brought in and not be removed.
    from.0.may_take(from.1, &old)?;
    let cas = swap_if(from, to, expected)?;
    // Only what was examined: a foreign program may have put another file there since.
    if from.0.look(from.1)?.is_some_and(|left| left.id() == old.id())
        && let Err(fault) = from.0.unlink(from.1)
    {
        let back = Dir::rename(from, to, Onto::Swap).map_err(|_| stranded(from));
        return back.and(Err(fault));
    }
    Ok((Effect::Renamed, cas))
}

/// Whether `rename(2)` did nothing, which is what it does when both are names of one file.
fn is_still_there(from: Spot<'_>, to: Spot<'_>) -> bool {
    let meta_at = |(dir, name): Spot<'_>| dir.look(name).ok().flatten();
    let after = meta_at(to).filter(|after| after.kind != Kind::Dir && after.links > 1);
    after.is_some_and(|after| meta_at(from).is_some_and(|before| before.id() == after.id()))
}
