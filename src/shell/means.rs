//! What commands are run with.

use std::sync::OnceLock;

use ringfence_platform::process::{Network, Runners, ShellEnforcement};

use crate::policy::{Confining, ShellLimits};

/// What commands are run with under one set of settings.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    pub(crate) limits: ShellLimits,
    /// The least that is accepted of a runner.
    pub(crate) required: ShellEnforcement,
    /// Whether metadata of files elsewhere has to be held too.
    pub(crate) metadata: bool,
    runners: OnceLock<Runners>,
}

impl Shell {
    pub(crate) fn new(limits: ShellLimits, required: ShellEnforcement, metadata: bool) -> Self {
        Self { limits, required, metadata, runners: OnceLock::new() }
    }

    /// How a command is confined. The runners are proved when the first is.
    pub(crate) fn confining(&self, network: Network) -> Confining<'_> {
        let Self { required, metadata, .. } = *self;
        let runners = self.runners.get_or_init(Runners::probe);
        Confining { runners, required, metadata, network }
    }
}
