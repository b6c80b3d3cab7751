//! Permission to run one command, and how it is confined.

use ringfence_platform::Roots;
use ringfence_platform::ambient_authority;
use ringfence_platform::process::{
    Command, Held, Network, PassedOver, Plan, Restrictions, Runner, Runners, ShellEnforcement,
    unconfined,
};

use super::decision::Policy;
use crate::error::{Error, Result};
use crate::mode::Mode;

/// Permission to run one command. Used up by the plan for it.
#[derive(Debug)]
#[must_use = "a grant that is not spent allows nothing"]
pub(crate) struct CommandGrant {
    mode: Mode,
    roots: Option<Roots>,
}

/// What a command is confined with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confining<'a> {
    pub(crate) runners: &'a Runners,
    /// The least that is accepted.
    pub(crate) required: ShellEnforcement,
    /// Whether metadata of files elsewhere has to be held too.
    pub(crate) metadata: bool,
    pub(crate) network: Network,
    /// Whether what is asked for is held or nothing is run.
    pub(crate) strict: bool,
}

/// What the runners of this host hold of one command.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) runners: Vec<Result<Held, PassedOver>>,
    /// Which one is taken, if one holds as much as is required.
    pub(crate) taken: Option<Runner>,
}

impl Policy {
    /// A command runs in every mode; what it may change is the mode's.
    ///
    /// # Errors
    ///
    /// [`Error::WorkspaceMoved`] if the workspace is not where it was opened.
    pub(crate) fn grant_command(&self) -> Result<CommandGrant> {
        self.bounds().at_its_place()?;
        Ok(CommandGrant { mode: self.mode(), roots: self.roots().cloned() })
    }
}

impl CommandGrant {
    /// Plans `command` so that it can change what the mode lets be changed, and nothing else.
    ///
    /// # Errors
    ///
    /// [`Error::NoRunner`] if nothing here holds it so.
    pub(crate) fn plan(self, command: Command, confining: Confining<'_>) -> Result<Plan> {
        let Confining { runners, required, .. } = confining;
        match self.restrictions(confining) {
            None => Ok(unconfined(command, ambient_authority())),
            Some(restrictions) => {
                runners.confine(command, restrictions, required).map_err(Error::NoRunner)
            }
        }
    }

    /// What each runner would hold of a command, and which one is taken; nothing where a command is
    /// not confined. None is run but to see what a runner does.
    pub(crate) fn survey(self, confining: Confining<'_>) -> Option<Surveyed> {
        let Confining { runners, required, .. } = confining;
        let restrictions = self.restrictions(confining)?;
        let taken = runners.choose(&restrictions, required).ok().map(|held| held.runner);
        Some(Surveyed { runners: runners.survey_under(&restrictions), taken })
    }

    /// What a command is confined to; nothing if it is not.
    fn restrictions(self, confining: Confining<'_>) -> Option<Restrictions> {
        let Confining { metadata, network, strict, .. } = confining;
        let mut restrictions = Restrictions::default();
        match self.mode {
            Mode::DangerFullAccess => return None,
            Mode::WorkspaceWrite => restrictions.roots = self.roots,
            Mode::ReadOnly => {}
        }
        restrictions.metadata = metadata;
        restrictions.network = network;
        restrictions.strict = strict;
        Some(restrictions)
    }
}
