//! One place that calls act in, with all that belongs to it alone.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ringfence::{Session, StandingPolicy, TargetKey};

use super::end::End;

/// A session and what its client was told of it. When nobody has it any more, its jobs are ended.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) session: Session,
    /// The directory by its identity, if a client has named it.
    root: Option<TargetKey>,
    told: Mutex<StandingPolicy>,
    /// Set when the client has named another place: what runs here is given up.
    pub(super) left: End,
}

impl Seat {
    pub(super) fn new(session: Session, root: Option<TargetKey>) -> Self {
        Self { session, root, told: Mutex::default(), left: End::new() }
    }

    /// What is to be told of the policy in force, if that is news.
    pub(super) fn news(&self) -> Option<String> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).update(&self.session)
    }

    /// Whether calls act in the same directory as in `other`.
    pub(super) fn is_where(&self, other: &Self) -> bool {
        self.root == other.root && self.workspace() == other.workspace()
    }

    fn workspace(&self) -> Option<std::path::PathBuf> {
        self.session.workspace().ok()
    }

    /// Whether the session was opened at `path` and not where a link that came to be there leads.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.workspace().as_deref() == Some(path)
    }
}
