//! What a model is told of the policy in force, once and whenever that changes.

use crate::session::Session;

use super::texts::{self, Asking};

/// The contribution to a model's context that tells the policy of its session.
///
/// It belongs after the history, at the next call, and only where there is a session. What was told
/// stays true until something else is.
#[derive(Debug, Default)]
pub struct StandingPolicy {
    told: Option<String>,
}

impl StandingPolicy {
    /// One of which nothing was told yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The text that is to be told now; nothing if it is the one that was told last, or if there is
    /// no policy at the moment.
    ///
    /// ```
    /// use ringfence::{Mode, ModeSource, Session, StandingPolicy};
    /// # let workspace = env!("CARGO_MANIFEST_DIR");
    /// let session = Session::builder().workspace(workspace).build()?;
    /// let mut standing = StandingPolicy::new();
    /// assert!(standing.update(&session).is_some_and(|text| text.contains("read-only")));
    /// assert_eq!(standing.update(&session), None);
    /// session.set_mode(Mode::WorkspaceWrite, ModeSource::Host);
    /// assert!(standing.update(&session).is_some_and(|text| text.contains("workspace-write")));
    /// # Ok::<(), ringfence::Error>(())
    /// ```
    pub fn update(&mut self, session: &Session) -> Option<String> {
        let (mode, approvals) = session.in_force().ok()?;
        let workspace = session.workspace().ok()?;
        let asking = if session.can_ask() { Asking::Reaches } else { Asking::Nobody };
        let text = texts::standing(mode, approvals, asking, &workspace);
        (self.told.as_ref() != Some(&text)).then(|| {
            self.told = Some(text.clone());
            text
        })
    }
}
