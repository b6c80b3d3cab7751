//! Which runner confines a command, chosen among those that were seen to be effective.

use std::io;
use std::sync::{Arc, OnceLock};

use super::begin::{on_a_thread, start};
use super::child::Child;
use super::command::{Command, Network, Restrictions};
use super::proven::Proven;
use super::report::{
    Cause, Held, NoRunner, NotCovered, PassedOver, Runner, ShellEnforcement, ShellGap, Unusable,
};
use super::tree::Mark;
use crate::host::AmbientAuthority;

/// The runners of this host. Each is seen to be effective, or not, when it is first needed; the
/// answer is kept for as long as this value or a clone of it lives.
#[derive(Clone, Debug)]
pub struct Runners(Arc<[Candidate]>);

/// A runner that may be usable.
#[derive(Debug)]
struct Candidate {
    runner: Runner,
    found: OnceLock<Result<Proven, Unusable>>,
}

/// The runner that is taken.
#[derive(Debug)]
struct Chosen<'a> {
    proven: &'a Proven,
    held: Held,
    passed_over: Vec<PassedOver>,
}

/// A command that can be started, confined as it was asked for, and in no other way.
#[derive(Debug)]
#[must_use = "a plan that is not spawned runs nothing"]
pub struct Plan {
    command: Command,
    by: By,
    held: Option<Held>,
    passed_over: Vec<PassedOver>,
}

#[derive(Debug)]
enum By {
    Runner(Proven, Restrictions),
    Nobody,
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The runner could not be set up. Nothing has run.
    #[error("the runner could not be set up")]
    Runner(#[source] io::Error),
    /// The runner is set up, and the program cannot be executed.
    #[error("the program cannot be executed")]
    Program(#[source] io::Error),
}

impl Runners {
    /// The runners that this system may have, in the order in which they are taken: Landlock, which
    /// needs nothing else and takes the least time, then bubblewrap.
    ///
    /// To see what one does, a command that it confines writes in one directory and has to fail to
    /// write in another, both in the directory for temporary files of this process, or that of the
    /// system where it has none.
    pub fn probe() -> Self {
        Self::of([Runner::Landlock, Runner::Bwrap])
    }

    /// One runner alone, to see what it does.
    #[doc(hidden)]
    pub fn only(runner: Runner) -> Self {
        Self::of([runner])
    }

    fn of<const N: usize>(runners: [Runner; N]) -> Self {
        let candidate = |runner| Candidate { runner, found: OnceLock::new() };
        Self(Arc::new(runners.map(candidate)))
    }

    /// Every runner, by the usual order: what it holds of a command that is denied no more than to
    /// change files, or why it cannot be used.
    pub fn survey(&self) -> Vec<Result<Held, PassedOver>> {
        self.survey_under(&Restrictions::default())
    }

    /// The same of a command under `restrictions`.
    pub fn survey_under(&self, restrictions: &Restrictions) -> Vec<Result<Held, PassedOver>> {
        let held = |candidate: &Candidate| Ok(candidate.held(restrictions)?.1);
        self.0.iter().map(held).collect()
    }

    /// Which runner would confine a command under `restrictions`, and what that holds.
    ///
    /// # Errors
    ///
    /// As [`confine`](Self::confine).
    pub fn choose(
        &self,
        restrictions: &Restrictions,
        required: ShellEnforcement,
    ) -> Result<Held, NoRunner> {
        self.first_holding(restrictions, required).map(|Chosen { held, .. }| held)
    }

    /// Plans to run `command` under `restrictions`, by the first runner that holds them as fully as
    /// is required. Where Landlock is known not to hold them, bubblewrap comes first.
    ///
    /// # Errors
    ///
    /// If there is none: why for each.
    pub fn confine(
        &self,
        command: Command,
        restrictions: Restrictions,
        required: ShellEnforcement,
    ) -> Result<Plan, NoRunner> {
        let chosen = self.first_holding(&restrictions, required)?;
        let Chosen { proven, held, passed_over } = chosen;
        let by = By::Runner(proven.clone(), restrictions);
        Ok(Plan { command, by, held: Some(held), passed_over })
    }

    fn first_holding(
        &self,
        restrictions: &Restrictions,
        required: ShellEnforcement,
    ) -> Result<Chosen<'_>, NoRunner> {
        let mut passed_over = Vec::new();
        for candidate in self.in_order(restrictions) {
            match candidate.holding(restrictions, required) {
                Ok((proven, held)) => return Ok(Chosen { proven, held, passed_over }),
                Err(why) => passed_over.push(why),
            }
        }
        Err(NoRunner(passed_over))
    }

    fn in_order(&self, restrictions: &Restrictions) -> Vec<&Candidate> {
        let mut order: Vec<_> = self.0.iter().collect();
        let Restrictions { metadata, network, .. } = restrictions;
        let protects = !restrictions.protected().is_empty();
        if *metadata || protects || *network == Network::Denied {
            order.reverse();
        }
        order
    }
}

impl Candidate {
    /// The runner, if it holds `restrictions` as fully as is required.
    fn holding(
        &self,
        restrictions: &Restrictions,
        required: ShellEnforcement,
    ) -> Result<(&Proven, Held), PassedOver> {
        let (proven, held) = self.held(restrictions)?;
        let asked = [ShellGap::ProtectedSubpaths, ShellGap::Network];
        let unmet = held.gaps.iter().any(|gap| restrictions.strict && asked.contains(gap));
        if unmet || held.enforcement() < required {
            let gaps: Vec<_> = held.gaps.iter().map(ToString::to_string).collect();
            return Err(self.too_weak(format!("it does not hold {}", gaps.join(", "))));
        }
        Ok((proven, held))
    }

    fn held(&self, restrictions: &Restrictions) -> Result<(&Proven, Held), PassedOver> {
        let proven = self.found.get_or_init(|| Proven::find(self.runner)).as_ref();
        let proven = proven.map_err(|Unusable { cause, why }| PassedOver {
            runner: self.runner,
            cause: *cause,
            why: why.clone(),
        })?;
        let gaps = proven.gaps(restrictions);
        let gaps = gaps.map_err(|error| self.too_weak(error.to_string()))?;
        let not_covered = NotCovered::under(restrictions.network);
        Ok((proven, Held { runner: self.runner, gaps, not_covered }))
    }

    fn too_weak(&self, why: String) -> PassedOver {
        PassedOver { runner: self.runner, cause: Cause::TooWeak, why }
    }
}

/// Plans to run `command` without any confinement. The argument is there to be seen in review.
pub fn unconfined(command: Command, _: AmbientAuthority) -> Plan {
    Plan { command, by: By::Nobody, held: None, passed_over: Vec::new() }
}

impl Plan {
    /// Which runner it is, and what that holds; nothing if nobody confines it.
    pub fn held(&self) -> Option<&Held> {
        self.held.as_ref()
    }

    /// The runners that come before it and were not taken.
    pub fn passed_over(&self) -> &[PassedOver] {
        &self.passed_over
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] says whether it was the runner that failed. Nothing runs then.
    pub fn spawn(mut self) -> Result<Child, SpawnError> {
        match self.by {
            By::Runner(runner, restrictions) => runner.spawn(self.command, restrictions),
            By::Nobody => {
                let mark = Mark::of(&mut self.command);
                let command = self.command;
                let started = on_a_thread(move || Ok(start(&command)));
                started.map_err(SpawnError::Runner)?.map_err(SpawnError::Program)?.marked(mark)
            }
        }
    }
}
