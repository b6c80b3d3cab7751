//! A runner that was seen to be effective.

use std::io;

use rustix::fs::fstatfs;

use super::bwrap::Bwrap;
use super::child::Child;
use super::command::{Command, Restrictions};
use super::landlock::Landlock;
use super::plan::SpawnError;
use super::probe;
use super::report::{Cause, Runner, ShellGap, Unusable};
use crate::roots::{Root, Roots};

/// Where a server or a program decides what a change does, statfs(2): what was seen elsewhere says
/// nothing of it.
const SERVED: [u64; 2] = [0x0102_1997, 0x6573_5546];

/// Which, with what this host has of it.
#[derive(Clone, Debug)]
pub(super) enum Proven {
    Landlock(Landlock),
    Bwrap(Bwrap),
}

impl Proven {
    /// Sees what `runner` does here.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub(super) fn find(runner: Runner) -> Result<Self, Unusable> {
        match runner {
            Runner::Landlock => {
                let landlock = Landlock::find()?;
                probe::prove(|command, restrictions| landlock.spawn(command, restrictions))?;
                Ok(Self::Landlock(landlock))
            }
            Runner::Bwrap => Bwrap::find().map(Self::Bwrap),
            Runner::Seatbelt => Err(Unusable::new(Cause::OtherSystem, "this system is not macOS")),
        }
    }

    /// What it does not hold under `restrictions`.
    ///
    /// # Errors
    ///
    /// If it cannot be used for them at all.
    pub(super) fn gaps(&self, restrictions: &Restrictions) -> io::Result<Vec<ShellGap>> {
        let mut gaps = match self {
            Self::Landlock(landlock) => landlock.gaps(restrictions),
            Self::Bwrap(_) => Bwrap::gaps(restrictions)?,
        };
        let mut roots = restrictions.roots.iter().flat_map(Roots::iter);
        gaps.extend(roots.any(is_served).then_some(ShellGap::Unproved));
        Ok(gaps)
    }

    /// Starts `command` under `restrictions`.
    pub(super) fn spawn(
        &self,
        command: Command,
        restrictions: Restrictions,
    ) -> Result<Child, SpawnError> {
        match self {
            Self::Landlock(landlock) => landlock.spawn(command, restrictions),
            Self::Bwrap(bwrap) => bwrap.spawn(command, &restrictions),
        }
    }
}

/// Whether that is so, or cannot be told.
fn is_served(root: &Root) -> bool {
    let magic = fstatfs(&root.dir).ok().and_then(|found| u64::try_from(found.f_type).ok());
    magic.is_none_or(|magic| SERVED.contains(&magic))
}
