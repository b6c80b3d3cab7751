//! What the standing policy says of a request.

use std::path::{Path, PathBuf};

use ringfence_platform::{Roots, TargetKey};

use crate::error::{Denial, Layer, Result};
use crate::lexical;
use crate::mode::Mode;
use crate::policy::grant::Grant;
use crate::policy::roots::{self, TempAreas};
use crate::request::{Op, Request};

/// The standing rules: a mode, and where that mode may write.
#[derive(Debug)]
pub struct Policy {
    mode: Mode,
    workspace: PathBuf,
    /// What the mode that has roots would have, opened or not: the place and its identity.
    areas: Vec<(PathBuf, TargetKey)>,
    roots: Option<Roots>,
}

/// What the policy says of one request.
#[derive(Debug)]
#[must_use = "a grant that is not spent allows nothing"]
pub enum Decision {
    /// It is allowed: one change beneath the grant's roots. What only reads is allowed in every
    /// mode, anywhere, and its grant is good for no change.
    Allow(Grant),
    /// It is refused.
    Deny(Denial),
}

impl Policy {
    /// Loads a policy, and opens the roots that `mode` may write beneath.
    ///
    /// # Errors
    ///
    /// As [`writable_roots`](crate::writable_roots).
    pub fn load(mode: Mode, workspace: &Path, temps: &TempAreas) -> Result<Self> {
        let areas = roots::areas(workspace, temps)?;
        let held: Vec<_> = areas.iter().map(|area| (area.path().to_owned(), area.key())).collect();
        let roots = roots::open(mode, areas)?;
        Ok(Self { mode, workspace: held[0].0.clone(), areas: held, roots })
    }

    /// The mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The canonical workspace, which relative paths are taken against.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The writable roots; nothing under a mode that has none.
    #[must_use]
    pub fn roots(&self) -> Option<&Roots> {
        self.roots.as_ref()
    }

    /// Whether this is a writable directory of its own that lies within another, so that the fence
    /// takes it for an entry of that.
    pub(crate) fn is_nested(&self, key: &TargetKey) -> bool {
        let mut roots = self.roots.iter().flat_map(Roots::iter);
        self.areas.iter().any(|(_, area)| area == key) && roots.all(|root| root.key() != *key)
    }

    /// Whether any is.
    pub(crate) fn has_nested(&self) -> bool {
        self.areas.iter().any(|(_, area)| self.is_nested(area))
    }

    /// Decides. No I/O and no clock, so a decision can be replayed from its inputs.
    ///
    /// Whether a path lies beneath a root is not decided here but by the fence, when it acts.
    pub fn decide(&self, request: &Request) -> Decision {
        let (op, mode) = (request.op(), self.mode);
        match op {
            Op::Read | Op::ReadText | Op::List => Decision::Allow(Grant::new(Mode::ReadOnly, None)),
            Op::Write | Op::Edit | Op::CreateDir | Op::Remove | Op::Rename | Op::Symlink => {
                match mode {
                    Mode::WorkspaceWrite | Mode::DangerFullAccess => {
                        Decision::Allow(Grant::new(mode, self.roots.clone()))
                    }
                    Mode::ReadOnly => Decision::Deny(self.deny_unseen(request)),
                }
            }
        }
    }

    /// The refusal of `path`, which no fence of this policy would let be changed.
    pub(crate) fn deny(&self, op: Op, path: PathBuf, by: Layer) -> Denial {
        let wider = Mode::DangerFullAccess;
        let helps = self.mode < wider && !self.is_root(&path);
        Denial {
            op,
            path,
            mode: self.mode,
            roots: self.roots.iter().flat_map(Roots::iter).map(|r| r.path().to_owned()).collect(),
            narrowest: helps.then_some(wider),
            by,
        }
    }

    /// The refusal of a request by the mode alone.
    fn deny_unseen(&self, request: &Request) -> Denial {
        let shown = |raw: &Path| {
            lexical::shown(request.op(), self.workspace(), raw).unwrap_or_else(|_| raw.to_owned())
        };
        let first = request.paths().map(shown).next().unwrap_or_default();
        let within = |path: PathBuf| self.areas.iter().any(|(area, _)| path.starts_with(area));
        // Only this one has nothing to do where a root is.
        let on_root = request.op() != Op::CreateDir
            && request.paths().map(shown).any(|path| self.is_root(&path));
        let denial = self.deny(request.op(), first, Layer::Mode);
        let narrowest = if request.paths().map(shown).all(within) {
            Some(Mode::WorkspaceWrite)
        } else {
            denial.narrowest
        };
        Denial { narrowest: narrowest.filter(|_| !on_root), ..denial }
    }

    /// Whether it is a writable directory itself or the whole volume: nobody is told how those
    /// could be removed.
    fn is_root(&self, path: &Path) -> bool {
        path.parent().is_none() || self.areas.iter().any(|(area, _)| area == path)
    }
}
