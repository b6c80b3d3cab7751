//! What commands are run with.

use std::sync::OnceLock;

use ringfence_platform::process::{Network, Runner, Runners, ShellEnforcement};

use crate::policy::{Confining, Settings, ShellLimits};

/// What commands are run with under one set of settings.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    pub(crate) limits: ShellLimits,
    /// The least that is accepted of a runner.
    required: ShellEnforcement,
    /// Whether metadata of files elsewhere has to be held too.
    metadata: bool,
    /// This runner and no other.
    only: Option<Runner>,
    runners: OnceLock<Runners>,
}

impl Shell {
    pub(crate) fn of(settings: &Settings) -> Self {
        let Settings { shell_limits, runner, enforcement, protect_metadata, .. } = *settings;
        let (limits, only, runners) = (shell_limits, runner, OnceLock::new());
        Self { limits, required: enforcement, metadata: protect_metadata, only, runners }
    }

    /// How a command is confined. The runners are proved when the first is.
    pub(crate) fn confining(&self, network: Network) -> Confining<'_> {
        let Self { required, metadata, .. } = *self;
        let find = || self.only.map_or_else(Runners::probe, Runners::only);
        let runners = self.runners.get_or_init(find);
        Confining { runners, required, metadata, network, strict: false }
    }
}
