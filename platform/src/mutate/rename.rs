//! Entries renamed and exchanged, also from one root to another.

use super::Act;
use super::publish::{Expected, swap_if};
use crate::dir::{Dir, Hold, Meta, Old, Onto, Spot};
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Cas, Effect, Precondition, Receipt};
use crate::path::RootedPath;
use crate::resolve::Resolve;
use crate::stat::{Kind, TargetKey};

pub(super) fn rename<R: Resolve>(
    act: &Act<'_, R>,
    from: &RootedPath,
    to: &RootedPath,
    when: &Precondition,
) -> Result<Receipt, Fault> {
    let change = |from: Spot<'_>, to: Spot<'_>| match when {
        Precondition::None => {
            Dir::rename(from, to, Onto::Anything)?;
            let stayed = is_still_there(from, to)?;
            let effect = if stayed { Effect::Unchanged } else { Effect::Renamed };
            Ok((effect, Cas::Unconditional))
        }
        Precondition::Absent => {
            Dir::rename(from, to, Onto::Nothing)?;
            Ok((Effect::Renamed, Cas::Atomic))
        }
        Precondition::Matches { stamp, digest } => {
            let expected = Expected { stamp, digest: digest.as_ref() };
            let locked = to.0.lock(&act.terms.cancel)?;
            replace(from, to, expected)?;
            Ok((Effect::Renamed, if locked { Cas::Atomic } else { Cas::Checked }))
        }
    };
    on_both(act, from, to, act.hold(when), change)
}

pub(super) fn exchange<R: Resolve>(
    act: &Act<'_, R>,
    first: &RootedPath,
    second: &RootedPath,
) -> Result<Receipt, Fault> {
    on_both(act, first, second, act.hold(&Precondition::None), |first, second| {
        Dir::rename(first, second, Onto::Swap)?;
        Ok((Effect::Exchanged, Cas::Unconditional))
    })
}

/// Pins and locks both entries and has `change` act on them.
fn on_both<R: Resolve>(
    act: &Act<'_, R>,
    first: &RootedPath,
    second: &RootedPath,
    hold: Hold,
    change: impl Fn(Spot<'_>, Spot<'_>) -> Result<(Effect, Cas), Fault>,
) -> Result<Receipt, Fault> {
    loop {
        let (root, a) = act.pin_entry(first, hold)?;
        let (other_root, b) =
            act.pin_entry(second, hold).map_err(|fault| Fault { second: true, ..fault })?;
        let ids = (a.dir.id()?, b.dir.id()?);
        let locks = &act.held.locks;
        let lock = locks.entries((ids.0, &a.leaf), (ids.1, &b.leaf), &act.terms.cancel)?;
        if lock.waited {
            let now = (act.pin_entry(first, Hold::Place)?.1, act.pin_entry(second, Hold::Place)?.1);
            if (now.0.dir.id()?, now.1.dir.id()?) != ids {
                continue;
            }
        }
        act.live()?;
        let judge = |fault| match act.judge(root, &a.dir, fault) {
            fault if fault.kind == ErrorKind::Escape => fault,
            fault => act.judge(other_root, &b.dir, fault),
        };
        let (effect, cas) = change((&a.dir, &a.leaf), (&b.dir, &b.leaf)).map_err(judge)?;
        let durability = act.settle(&a.dir)?.min(act.settle(&b.dir)?);
        let key = TargetKey::entry(ids.1, b.leaf.as_os_str());
        let after = b.dir.look(&b.leaf)?.map(|meta| meta.stamp);
        return Ok(Receipt { cas, durability, ..act.receipt(effect, key, after) });
    }
}

/// Renames over the expected version and removes that.
fn replace(from: Spot<'_>, to: Spot<'_>, expected: Expected<'_>) -> Result<(), Fault> {
    let old = to.0.look(to.1)?.ok_or(Fault::new(ErrorKind::Stale))?;
    if old.kind != Kind::File {
        return Err(Fault::new(ErrorKind::WrongKind));
    }
    expected.require(&Old::at(to.0, to.1)?, &old)?;
    swap_if(from, to, expected)?;
    from.0.unlink(from.1)
}

/// Whether `rename(2)` did nothing, which is what it does when both are names of one file.
fn is_still_there(from: Spot<'_>, to: Spot<'_>) -> Result<bool, Fault> {
    let several = |meta: &Meta| meta.kind != Kind::Dir && meta.links > 1;
    let Some(after) = to.0.look(to.1)?.filter(several) else { return Ok(false) };
    Ok(from.0.look(from.1)?.is_some_and(|before| before.id() == after.id()))
}
