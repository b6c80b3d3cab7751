//! Permission to run one command, and how it is confined.

use ringfence_platform::Roots;
use ringfence_platform::ambient_authority;
use ringfence_platform::process::{
    Command, Network, Plan, Restrictions, Runners, ShellEnforcement, unconfined,
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
        let Confining { runners, required, metadata, network, strict } = confining;
        let mut restrictions = Restrictions::default();
        match self.mode {
            Mode::DangerFullAccess => return Ok(unconfined(command, ambient_authority())),
            Mode::WorkspaceWrite => restrictions.roots = self.roots,
            Mode::ReadOnly => {}
        }
        restrictions.metadata = metadata;
        restrictions.network = network;
        restrictions.strict = strict;
        runners.confine(command, restrictions, required).map_err(Error::NoRunner)
    }
}
