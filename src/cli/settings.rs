//! From what is typed and what the configuration says to the settings of a policy.

use std::path::{Path, PathBuf};

use ringfence::{Mode, SessionBuilder, Settings};

use super::Failure;
use super::args::PolicyOptions;
use super::config::{Configuration, Unusable};

impl PolicyOptions {
    /// What the configuration says.
    pub(super) fn configuration(&self) -> Result<Configuration, Unusable> {
        Configuration::find(self.config.as_deref())
    }

    /// A session for whoever typed this.
    pub(super) fn session(&self) -> Result<SessionBuilder, Failure> {
        Ok(self.settings(&self.configuration()?, Mode::WorkspaceWrite)?.into())
    }

    /// What is typed goes before what the configuration says. Where neither says anything of the
    /// mode it is `mode`.
    pub(super) fn settings(
        &self,
        configuration: &Configuration,
        mode: Mode,
    ) -> Result<Settings, Failure> {
        let mut settings = configuration.settings(mode)?;
        settings = settings.durability(self.durability.into());
        if let Some(mode) = self.mode {
            settings = settings.mode(mode);
        }
        if let Some(policy) = self.approvals {
            settings = settings.approvals(policy);
        }
        if let Some(level) = self.require {
            settings = settings.require(level.into());
        }
        if !self.protect.is_empty() {
            let places = configuration.protected().into_iter().chain(self.protect.clone());
            settings = settings.protected_subpaths(places);
        }
        if let Some(workspace) = &self.workspace {
            settings = settings.workspace(workspace);
        }
        if self.mode != Some(Mode::DangerFullAccess) {
            configuration.out_of_reach(&self.workspace_by(configuration))?;
            // Whoever could write there may have named another workspace.
            if self.workspace.is_none() {
                configuration.out_of_reach(Path::new("."))?;
            }
        }
        Ok(settings)
    }

    /// The workspace that is meant.
    pub(super) fn workspace_by(&self, configuration: &Configuration) -> PathBuf {
        let workspace = self.workspace.clone().or_else(|| configuration.workspace());
        workspace.unwrap_or_else(|| ".".into())
    }
}
