//! The events of a session that outlive it, and what follows from them. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::mode::Mode;

/// The event that changes the mode of a session.
const SANDBOX_MODE: &str = "sandbox/mode";

/// One entry of a session's log, as a host stores it. It is never shown to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What happened, for example `sandbox/mode`.
    pub name: String,
    /// What there is to know of it.
    pub data: Value,
}

/// Why a mode changed, which informs and decides nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ModeSource {
    /// The host, for a person.
    Host,
    /// A session that delegated work to this one.
    Delegation,
}

impl Event {
    /// The event that from now on the mode is `mode`.
    #[must_use]
    pub fn sandbox_mode(mode: Mode, source: ModeSource) -> Self {
        let data = match source {
            ModeSource::Host => json!({ "mode": mode.as_str() }),
            ModeSource::Delegation => json!({ "mode": mode.as_str(), "source": "delegation" }),
        };
        Self { name: SANDBOX_MODE.to_owned(), data }
    }
}

/// What a log says of the mode.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModeOverride {
    /// The mode in force.
    pub mode: Mode,
    /// What the last event had in place of a mode. The mode is then read-only: an older event is
    /// not used, since it could be wider than what was meant.
    pub invalid: Option<Value>,
}

/// The mode that a log sets in place of the default; nothing while no event has.
///
/// The last `sandbox/mode` event wins.
#[must_use]
pub fn mode_override(log: &[Event]) -> Option<ModeOverride> {
    let last = log.iter().rfind(|event| event.name == SANDBOX_MODE)?;
    let found = last.data.get("mode").unwrap_or(&Value::Null);
    Some(match found.as_str().and_then(|text| text.parse().ok()) {
        Some(mode) => ModeOverride { mode, invalid: None },
        None => ModeOverride { mode: Mode::ReadOnly, invalid: Some(found.clone()) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: Value) -> Event {
        Event { name: name.into(), data }
    }

    fn mode_after(log: &[Event]) -> Option<Mode> {
        mode_override(log).map(|found| found.mode)
    }

    #[test]
    fn the_last_event_wins_and_others_do_not_count() {
        assert_eq!(mode_override(&[]), None);
        let mut log = vec![event("approval/policy", json!({ "mode": "danger-full-access" }))];
        assert_eq!(mode_override(&log), None);
        for mode in [Mode::DangerFullAccess, Mode::ReadOnly, Mode::WorkspaceWrite] {
            log.push(Event::sandbox_mode(mode, ModeSource::Host));
            log.push(event("fs/observed", json!({})));
            assert_eq!(mode_after(&log), Some(mode));
        }
    }

    #[test]
    fn what_is_no_mode_is_read_only_whatever_was_before() {
        for found in [json!("full"), json!("Read-Only"), json!(7), Value::Null, json!([])] {
            let log = [
                Event::sandbox_mode(Mode::DangerFullAccess, ModeSource::Host),
                event(SANDBOX_MODE, json!({ "mode": found })),
            ];
            let expected = ModeOverride { mode: Mode::ReadOnly, invalid: Some(found) };
            assert_eq!(mode_override(&log), Some(expected));
        }
        assert_eq!(mode_after(&[event(SANDBOX_MODE, json!("x"))]), Some(Mode::ReadOnly));
    }

    #[test]
    fn an_event_is_stored_under_its_names() {
        let event = Event::sandbox_mode(Mode::WorkspaceWrite, ModeSource::Delegation);
        let stored = json!({
            "name": "sandbox/mode",
            "data": { "mode": "workspace-write", "source": "delegation" },
        });
        assert_eq!(serde_json::to_value(&event).unwrap(), stored);
        assert_eq!(serde_json::from_value::<Event>(stored).unwrap(), event);
    }
}
