//! Which runner confines a command, chosen among those that were seen to be effective.

use std::io;

use super::begin::{on_a_thread, start};
use super::child::Child;
use super::command::{Command, Restrictions};
use super::landlock::Landlock;
use super::probe;
use super::report::{Held, NoRunner, PassedOver, Runner, ShellEnforcement};
use super::tree::Mark;
use crate::host::AmbientAuthority;

/// The runners of this host, each seen to be effective or not when this was made.
#[derive(Clone, Debug)]
pub struct Runners {
    landlock: Result<Landlock, String>,
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
    Landlock(Landlock, Restrictions),
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
    /// Sees what each runner does: a command that it confines writes in one directory and has to
    /// fail to write in another, both in the directory for temporary files of this process.
    pub fn probe() -> Self {
        let landlock = Landlock::find().and_then(|landlock| {
            probe::prove(|command, restrictions| landlock.spawn(command, restrictions))?;
            Ok(landlock)
        });
        Self { landlock: landlock.map_err(|error| error.to_string()) }
    }

    /// Plans to run `command` under `restrictions`, by the first runner that holds them as fully as
    /// is required.
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
        let mut passed_over = Vec::new();
        let landlock = match &self.landlock {
            Ok(landlock) => landlock,
            Err(why) => {
                let runner = Runner::Landlock;
                passed_over.push(PassedOver { runner, why: why.clone() });
                return Err(NoRunner(passed_over));
            }
        };
        let held = Held { runner: Runner::Landlock, gaps: landlock.gaps(&restrictions) };
        if held.enforcement() < required {
            return Err(NoRunner(passed_over));
        }
        let by = By::Landlock(*landlock, restrictions);
        Ok(Plan { command, by, held: Some(held), passed_over })
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
            By::Landlock(landlock, restrictions) => landlock.spawn(self.command, restrictions),
            By::Nobody => {
                let mark = Mark::of(&mut self.command);
                let command = self.command;
                let started = on_a_thread(move || Ok(start(&command)));
                started.map_err(SpawnError::Runner)?.map_err(SpawnError::Program)?.marked(mark)
            }
        }
    }
}
