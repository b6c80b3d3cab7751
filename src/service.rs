//! The one owner of mode and workspace: whoever acts asks it, anew for each call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwapOption;
use ringfence_platform::{Durability, RelPath};

use crate::approvals::ApprovalPolicy;
use crate::audit;
use crate::error::{Error, Result};
use crate::mode::Mode;
use crate::policy::{Areas, Policy, Required, SESSION_DIRECTORY, Settings, TempAreas, WORKSPACE};
use crate::shell::Shell;

/// The standing policy of a process: mode, workspace and temp areas, for any number of sessions.
///
/// Nothing else has a setting of its own, so file tools and whatever else acts cannot drift apart.
/// Sessions on the same directories share one fence, and with it one confined thread; sessions on
/// others never see each other's.
#[derive(Debug)]
pub struct PolicyService {
    standing: ArcSwapOption<Standing>,
    opened: AtomicUsize,
}

/// One value of the settings. It is swapped whole.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) mode: Mode,
    pub(crate) approvals: ApprovalPolicy,
    pub(crate) areas: Arc<Areas>,
    pub(crate) durability: Durability,
    pub(crate) max_text_bytes: u64,
    pub(crate) shell: Shell,
    temps: TempAreas,
    pub(crate) required: Required,
    protected: Vec<RelPath>,
}

impl PolicyService {
    /// Loads a policy. The directories are opened now, and the fence too if the mode has one or
    /// more than the weakest is required.
    ///
    /// # Errors
    ///
    /// [`Code::PolicyInvalid`](crate::Code::PolicyInvalid) as
    /// [`writable_roots`](crate::writable_roots), if the working directory is `/` and nothing else
    /// was said, if a text may have no byte, or if a protected place is none beneath the workspace;
    /// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if the host cannot give the
    /// required enforcement.
    pub fn load(settings: Settings) -> Result<Arc<Self>> {
        let standing = audit::available(Standing::load(settings))?;
        let standing = ArcSwapOption::from_pointee(standing);
        Ok(Arc::new(Self { standing, opened: AtomicUsize::new(0) }))
    }

    /// Loads other settings in place of those in force. A call under way ends under the policy it
    /// began with; modes that sessions have set stay.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), and then the old settings stay in force.
    pub fn reload(&self, settings: Settings) -> Result<()> {
        let standing = Arc::new(audit::available(Standing::load(settings))?);
        let old = self.standing.swap(Some(Arc::clone(&standing)));
        let old = old.as_ref().map(|old| old.settled());
        audit::reloaded(old.as_ref(), &standing.settled());
        Ok(())
    }

    /// Takes the policy out of force. From now on every call fails
    /// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable), until another is loaded.
    pub fn close(&self) {
        if let Some(old) = self.standing.swap(None) {
            audit::closed(&old.settled());
        }
    }

    /// The policy of a caller that has no session.
    ///
    /// # Errors
    ///
    /// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if the service is closed or
    /// the workspace has moved.
    pub fn policy(&self) -> Result<Policy> {
        let standing = self.standing()?;
        Policy::resolve(standing.mode, Arc::clone(&standing.areas))
    }

    pub(crate) fn standing(&self) -> Result<Arc<Standing>> {
        self.standing.load_full().ok_or(Error::NoPolicy)
    }

    /// A name for a session that has none.
    pub(crate) fn next_name(&self) -> String {
        format!("session-{}", self.opened.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl Standing {
    fn load(settings: Settings) -> Result<Self> {
        settings.check()?;
        let protected = settings.protected()?;
        let workspace: PathBuf = settings.workspace_root()?;
        let shell = Shell::of(&settings);
        let Settings { mode, approvals, temps, durability, max_text_bytes, required, .. } =
            settings;
        let areas = Areas::open(WORKSPACE, &workspace, &temps, required, &protected)?;
        areas.held_as_required(mode)?;
        Ok(Self {
            mode,
            approvals,
            areas,
            durability,
            max_text_bytes,
            shell,
            temps,
            required,
            protected,
        })
    }

    /// The directories around the working directory of a session.
    pub(crate) fn around(&self, cwd: &Path) -> Result<Arc<Areas>> {
        if !cwd.is_absolute() {
            let (setting, expected) = (SESSION_DIRECTORY, "an absolute path");
            return Err(Error::PolicyInvalid { setting, expected, found: cwd.to_owned() });
        }
        let (temps, required, protected) = (&self.temps, self.required, &self.protected);
        Areas::open(SESSION_DIRECTORY, cwd, temps, required, protected)
    }

    fn settled(&self) -> audit::Settled<'_> {
        let Self { mode, approvals, areas, durability, required, protected, .. } = self;
        let set = areas.last_seen();
        let roots = set.roots.iter().map(|root| root.path().to_owned()).collect();
        let (workspace, level) = (areas.workspace(), required.at_least);
        let protected = protected.iter().map(RelPath::as_path).collect();
        let (mode, approvals, durability) = (*mode, *approvals, *durability);
        audit::Settled { mode, approvals, workspace, roots, protected, level, durability }
    }
}
