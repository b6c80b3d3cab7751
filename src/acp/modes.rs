//! The presets, as the modes of a session.

use std::sync::Arc;

use agent_client_protocol::Error as Told;
use agent_client_protocol::v1::schema::{
    CurrentModeUpdate, SessionMode, SessionModeId, SessionModeState, SessionUpdate,
};

use super::refusal::refusal;
use crate::presets::{Preset, Presets};
use crate::session::Session;

/// The modes of one session, and which of them its client takes for the current one.
///
/// A mode is called as its preset. `custom` is told as the current one where no preset is, and is
/// never among those that there are to choose from.
#[derive(Debug)]
pub struct SessionModes {
    presets: Arc<Presets>,
    told: Option<String>,
}

impl SessionModes {
    /// The modes of a session that can be switched between `presets`. Its client was told nothing
    /// yet.
    #[must_use]
    pub fn new(presets: Arc<Presets>) -> Self {
        Self { presets, told: None }
    }

    /// The modes as `session/new` and `session/load` are answered with.
    ///
    /// # Errors
    ///
    /// An internal error if the policy service is closed.
    pub fn state(&mut self, session: &Session) -> Result<SessionModeState, Told> {
        let current = self.current(session)?;
        self.told = Some(current.clone());
        Ok(SessionModeState::new(current, self.presets.iter().map(mode).collect()))
    }

    /// Switches the session, from its next call on, as `session/set_mode` asks.
    ///
    /// # Errors
    ///
    /// Invalid params for what is no preset, as `custom`; an internal error if the policy service
    /// is closed.
    pub fn set(&mut self, session: &Session, mode: &SessionModeId) -> Result<(), Told> {
        self.presets.set(session, &mode.0).map_err(|error| refusal(&error))?;
        self.told = Some(mode.0.as_ref().to_owned());
        Ok(())
    }

    /// The update that the client is to be sent: if something other than it has switched the
    /// session since it was told. Nothing while there is no policy.
    pub fn update(&mut self, session: &Session) -> Option<SessionUpdate> {
        let current = self.current(session).ok()?;
        if self.told.as_ref() == Some(&current) {
            return None;
        }
        self.told = Some(current.clone());
        Some(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(current)))
    }

    fn current(&self, session: &Session) -> Result<String, Told> {
        let current = self.presets.current(session).map_err(|error| refusal(&error))?;
        Ok(current.name().to_owned())
    }
}

fn mode(Preset { name, mode, approvals }: &Preset) -> SessionMode {
    let description = format!("files and commands: {mode}; questions for more: {approvals}");
    SessionMode::new(name.clone(), name.clone()).description(description)
}
