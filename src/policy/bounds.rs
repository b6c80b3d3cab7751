//! How far one mode reaches, at one moment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringfence_platform::{Fence, Roots, TargetKey};

use super::areas::{Areas, Set};
use crate::error::{Denial, Layer, Result};
use crate::lexical;
use crate::mode::Mode;
use crate::reader::ReadOnly;
use crate::request::{Op, Request};

/// A mode and the directories that it may write beneath. Good for looking and for saying no; what
/// may be changed is granted by a [`Policy`](super::Policy) alone.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    mode: Mode,
    areas: Arc<Areas>,
    set: Arc<Set>,
}

impl Bounds {
    /// The bounds of `mode` now.
    ///
    /// # Errors
    ///
    /// As [`Areas::now`], under a mode that allows changes.
    pub(crate) fn of(mode: Mode, areas: Arc<Areas>) -> Result<Self> {
        let set = match mode {
            Mode::WorkspaceWrite => areas.now()?,
            Mode::DangerFullAccess => {
                areas.at_its_place()?;
                areas.last_seen()
            }
            Mode::ReadOnly => areas.last_seen(),
        };
        Ok(Self { mode, areas, set })
    }

    /// Sees that the workspace is where it was opened, whatever the mode is.
    pub(super) fn at_its_place(&self) -> Result<()> {
        self.areas.at_its_place()
    }

    /// The same directories under another mode.
    pub(crate) fn under(&self, mode: Mode) -> Result<Self> {
        Self::of(mode, Arc::clone(&self.areas))
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn workspace(&self) -> &Path {
        self.areas.workspace()
    }

    pub(crate) fn reader(&self) -> &ReadOnly {
        self.areas.reader()
    }

    /// The writable roots; nothing under a mode that has none.
    pub(crate) fn roots(&self) -> Option<&Roots> {
        match self.mode {
            Mode::WorkspaceWrite => Some(&self.set.roots),
            Mode::ReadOnly | Mode::DangerFullAccess => None,
        }
    }

    /// The writable roots that workspace-write has, whatever the mode is.
    pub(crate) fn roots_of_workspace_write(&self) -> &Roots {
        &self.set.roots
    }

    /// What changes are made by; nothing under a mode that allows none.
    pub(crate) fn fence(&self) -> Result<Option<Arc<dyn Fence>>> {
        match self.mode {
            Mode::ReadOnly => Ok(None),
            Mode::WorkspaceWrite => self.areas.fence(&self.set).map(Some),
            Mode::DangerFullAccess => self.areas.ambient().map(Some),
        }
    }

    /// Whether this is a writable directory of its own that lies within another, so that the fence
    /// takes it for an entry of that.
    pub(crate) fn is_nested(&self, key: &TargetKey) -> bool {
        self.roots().is_some() && self.set.nests(key)
    }

    /// Whether any is.
    pub(crate) fn has_nested(&self) -> bool {
        self.roots().is_some() && self.set.has_nested()
    }

    /// The refusal of `path`, which no fence within these bounds would let be changed.
    pub(crate) fn deny(&self, op: Op, path: PathBuf, by: Layer) -> Denial {
        let wider = Mode::DangerFullAccess;
        let helps = self.mode < wider && !self.is_root(&path);
        let roots = self.roots().into_iter().flat_map(Roots::iter);
        Denial {
            op,
            path,
            mode: self.mode,
            roots: roots.map(|root| root.path().to_owned()).collect(),
            narrowest: helps.then_some(wider),
            by,
        }
    }

    /// The refusal of a request by the mode alone.
    pub(super) fn deny_unseen(&self, request: &Request) -> Denial {
        let shown = |raw: &Path| {
            lexical::shown(request.op(), self.workspace(), raw).unwrap_or_else(|_| raw.to_owned())
        };
        let first = request.paths().map(shown).next().unwrap_or_default();
        // Only this one has nothing to do where a root is.
        let on_root = request.op() != Op::CreateDir
            && request.paths().map(shown).any(|path| self.is_root(&path));
        let denial = self.deny(request.op(), first, Layer::Mode);
        let narrowest = if request.paths().map(shown).all(|path| self.areas.contain(&path)) {
            Some(Mode::WorkspaceWrite)
        } else {
            denial.narrowest
        };
        Denial { narrowest: narrowest.filter(|_| !on_root), ..denial }
    }

    /// Whether it is a writable directory itself or the whole volume: nobody is told how those
    /// could be removed.
    fn is_root(&self, path: &Path) -> bool {
        path.parent().is_none() || self.areas.name(path)
    }
}
