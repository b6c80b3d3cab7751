//! What the standing policy says of a request.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringfence_platform::{Enforcement, Roots};

use super::areas::{Areas, Required};
use super::bounds::Bounds;
use super::grant::Grant;
use super::roots::{TempAreas, WORKSPACE};
use crate::error::{Denial, Result};
use crate::mode::Mode;
use crate::request::{Op, Request};

/// The rules for one call: a mode, and where that mode may write. It does not change while the call
/// lasts.
#[derive(Debug)]
pub struct Policy {
    bounds: Bounds,
    /// The one place that may be changed, where a person has approved no other.
    approved_at: Option<PathBuf>,
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
    /// Loads a policy, and opens the directories that it speaks of.
    ///
    /// # Errors
    ///
    /// As [`writable_roots`](crate::writable_roots).
    pub fn load(mode: Mode, workspace: &Path, temps: &TempAreas) -> Result<Self> {
        let required = Required { at_least: Enforcement::Checked, kind: None };
        Self::resolve(mode, Areas::open(WORKSPACE, workspace, temps, required, &[])?)
    }

    /// The policy of `mode` on these areas, now.
    pub(crate) fn resolve(mode: Mode, areas: Arc<Areas>) -> Result<Self> {
        Ok(Self { bounds: Bounds::of(mode, areas)?, approved_at: None })
    }

    /// One that a person has approved, for what is at this place, or for a command.
    pub(super) fn approved(bounds: Bounds, at: Option<PathBuf>) -> Self {
        Self { bounds, approved_at: at }
    }

    /// The mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.bounds.mode()
    }

    /// The canonical workspace, which relative paths are taken against.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        self.bounds.workspace()
    }

    /// The writable roots; nothing under a mode that has none.
    #[must_use]
    pub fn roots(&self) -> Option<&Roots> {
        self.bounds.roots()
    }

    /// How far it reaches.
    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Decides. No I/O and no clock, so a decision can be replayed from its inputs.
    ///
    /// Whether a path lies beneath a root is not decided here but by the fence, when it acts.
    pub fn decide(&self, request: &Request) -> Decision {
        let mode = self.mode();
        match request.op() {
            Op::Read | Op::ReadText | Op::List | Op::Stat => {
                Decision::Allow(Grant::new(Mode::ReadOnly, None, None))
            }
            Op::Write
            | Op::Edit
            | Op::CreateDir
            | Op::Remove
            | Op::Rename
            | Op::Symlink
            | Op::Run => match mode {
                Mode::WorkspaceWrite | Mode::DangerFullAccess => {
                    let at = self.approved_at.clone();
                    Decision::Allow(Grant::new(mode, self.roots().cloned(), at))
                }
                Mode::ReadOnly => Decision::Deny(self.bounds.deny_unseen(request)),
            },
        }
    }
}
