//! How sessions are described before they are opened.

use std::path::PathBuf;
use std::sync::Arc;

use ringfence_platform::{Confinement, Durability, Enforcement, Resolution};

use crate::audit;
use crate::error::Result;
use crate::events::Event;
use crate::mode::Mode;
use crate::policy::{Approver, Settings, TempAreas};
use crate::presets::Presets;
use crate::service::PolicyService;
use crate::session::Session;

/// How a session with a policy of its own is to be opened.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened until it is built"]
pub struct SessionBuilder {
    settings: Settings,
    approver: Option<Arc<dyn Approver>>,
}

impl Session {
    /// Begins to describe a session with a policy of its own.
    pub fn builder() -> SessionBuilder {
        SessionBuilder { settings: Settings::default(), approver: None }
    }
}

impl From<Settings> for SessionBuilder {
    fn from(settings: Settings) -> Self {
        Self { settings, approver: None }
    }
}

impl SessionBuilder {
    /// As [`Settings::workspace`].
    pub fn workspace(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings = self.settings.workspace(path);
        self
    }

    /// As [`Settings::mode`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.settings = self.settings.mode(mode);
        self
    }

    /// As [`Settings::temps`].
    pub fn temps(mut self, temps: TempAreas) -> Self {
        self.settings = self.settings.temps(temps);
        self
    }

    /// As [`Settings::require`].
    pub fn require(mut self, at_least: Enforcement) -> Self {
        self.settings = self.settings.require(at_least);
        self
    }

    /// As [`Settings::protected_subpaths`].
    pub fn protected_subpaths<P: Into<PathBuf>>(
        mut self,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.settings = self.settings.protected_subpaths(paths);
        self
    }

    #[doc(hidden)]
    /// As [`Settings::exactly`].
    pub fn exactly(mut self, resolution: Resolution, confinement: Confinement) -> Self {
        self.settings = self.settings.exactly(resolution, confinement);
        self
    }

    /// As [`Settings::durability`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings = self.settings.durability(durability);
        self
    }

    /// Who is asked whether a call may run in a wider mode. Without, none may.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Loads a policy and opens a session under it.
    ///
    /// # Errors
    ///
    /// As [`PolicyService::load`].
    pub fn build(self) -> Result<Session> {
        let options = PolicyService::load(self.settings)?.session();
        SessionOptions { approver: self.approver, ..options }.open()
    }
}

/// How a session of a service is to be opened.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened until it is said"]
pub struct SessionOptions {
    service: Arc<PolicyService>,
    name: Option<String>,
    cwd: Option<PathBuf>,
    approver: Option<Arc<dyn Approver>>,
    log: Vec<Event>,
    presets: Option<Arc<Presets>>,
}

impl PolicyService {
    /// Begins to describe a session under this policy.
    pub fn session(self: &Arc<Self>) -> SessionOptions {
        let service = Arc::clone(self);
        let (log, presets) = (Vec::new(), None);
        SessionOptions { service, name: None, cwd: None, approver: None, log, presets }
    }
}

impl SessionOptions {
    /// What the session is called in questions and in the audit.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Its working directory, which is its workspace in place of the service's: absolute, and never
    /// another one.
    pub fn cwd(mut self, path: impl Into<PathBuf>) -> Self {
        self.cwd = Some(path.into());
        self
    }

    /// Who is asked whether a call may run in a wider mode. Without, none may.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// What was logged in an earlier life of the session.
    pub fn log(mut self, events: Vec<Event>) -> Self {
        self.log = events;
        self
    }

    /// The presets that it can be switched between. It begins with the default one, whatever the
    /// service has, or with what an earlier life of it has set.
    pub fn presets(mut self, presets: Arc<Presets>) -> Self {
        self.presets = Some(presets);
        self
    }

    /// Opens the session.
    ///
    /// # Errors
    ///
    /// [`Code::PolicyInvalid`](crate::Code::PolicyInvalid) if its working directory is not
    /// absolute, is no existing directory, or lies beneath the temp directory of the service;
    /// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if the service is closed, or
    /// the host cannot give the required enforcement there.
    pub fn open(self) -> Result<Session> {
        let Self { service, name, cwd, approver, log, presets } = self;
        let name = name.unwrap_or_else(|| service.next_name());
        let session = Session::begin(service, name, cwd.as_deref(), approver, log);
        audit::available(session.and_then(|session| {
            presets.map_or(Ok(()), |presets| presets.begin(&session))?;
            Ok(session)
        }))
    }
}
