//! The events of a session that outlive it, and what follows from them. Pure.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approvals::ApprovalPolicy;
use crate::mode::Mode;

/// The event that changes the mode of a session.
const SANDBOX_MODE: &str = "sandbox/mode";
/// The event that changes whether a person is asked.
const APPROVAL_POLICY: &str = "approval/policy";
/// The event that both were changed together, under one name.
const PERMISSION_PRESET: &str = "permission/preset";
/// The events of a question, in pairs.
const APPROVAL_ASKED: &str = "approval/asked";
const APPROVAL_DECIDED: &str = "approval/decided";

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
    fn new(name: &str, data: Value) -> Self {
        Self { name: name.to_owned(), data }
    }

    /// The event that from now on the mode is `mode`.
    #[must_use]
    pub fn sandbox_mode(mode: Mode, source: ModeSource) -> Self {
        let data = match source {
            ModeSource::Host => json!({ "mode": mode.as_str() }),
            ModeSource::Delegation => json!({ "mode": mode.as_str(), "source": "delegation" }),
        };
        Self::new(SANDBOX_MODE, data)
    }

    /// The event that from now on questions are dealt with so.
    #[must_use]
    pub fn approval_policy(policy: ApprovalPolicy) -> Self {
        Self::new(APPROVAL_POLICY, json!({ "policy": policy.as_str() }))
    }

    /// The event that the preset `name` was chosen.
    pub(crate) fn permission_preset(name: &str) -> Self {
        Self::new(PERMISSION_PRESET, json!({ "preset": name }))
    }

    /// The event that a question is put, for a call of a tool.
    pub(crate) fn approval_asked(
        id: &str,
        tool: Option<&str>,
        call: Option<&str>,
        reason: &str,
    ) -> Self {
        let mut data = json!({ "id": id, "toolName": tool, "reason": reason });
        if let Some(call) = call {
            data["callId"] = call.into();
        }
        Self::new(APPROVAL_ASKED, data)
    }

    /// The event of what came of it.
    pub(crate) fn approval_decided(id: &str, outcome: &str) -> Self {
        Self::new(APPROVAL_DECIDED, json!({ "id": id, "outcome": outcome }))
    }
}

/// A name for the next question of a log.
pub(crate) fn next_question(log: &[Event]) -> String {
    let asked = log.iter().filter(|event| event.name == APPROVAL_ASKED).count();
    format!("approval-{}", asked + 1)
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
    Some(match last(log, SANDBOX_MODE, "mode")? {
        Ok(mode) => ModeOverride { mode, invalid: None },
        Err(found) => ModeOverride { mode: Mode::ReadOnly, invalid: Some(found.clone()) },
    })
}

/// What a log says of whether a person is asked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApprovalOverride {
    /// The approval policy in force.
    pub policy: ApprovalPolicy,
    /// What the last event had in place of one. Nobody is asked then, so nothing wider is allowed.
    pub invalid: Option<Value>,
}

/// The approval policy that a log sets in place of the default; nothing while no event has.
///
/// The last `approval/policy` event wins.
#[must_use]
pub fn approval_override(log: &[Event]) -> Option<ApprovalOverride> {
    Some(match last(log, APPROVAL_POLICY, "policy")? {
        Ok(policy) => ApprovalOverride { policy, invalid: None },
        Err(found) => {
            ApprovalOverride { policy: ApprovalPolicy::Never, invalid: Some(found.clone()) }
        }
    })
}

/// The name of the preset that was chosen last, whether it is in force or not.
pub(crate) fn last_preset(log: &[Event]) -> Option<&str> {
    let last = log.iter().rfind(|event| event.name == PERMISSION_PRESET)?;
    last.data.get("preset").and_then(Value::as_str)
}

/// What the last event `name` has as its `key`, or what that is if it is no `T`.
fn last<'a, T: FromStr>(log: &'a [Event], name: &str, key: &str) -> Option<Result<T, &'a Value>> {
    let last = log.iter().rfind(|event| event.name == name)?;
    let found = last.data.get(key).unwrap_or(&Value::Null);
    Some(found.as_str().and_then(|text| text.parse().ok()).ok_or(found))
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
    fn the_last_approval_policy_wins_and_what_is_none_asks_nobody() {
        let policy = |log: &[Event]| approval_override(log).map(|found| found.policy);
        let mut log = vec![Event::sandbox_mode(Mode::ReadOnly, ModeSource::Host)];
        assert_eq!(policy(&log), None);
        for set in [ApprovalPolicy::Never, ApprovalPolicy::Ask] {
            log.push(Event::approval_policy(set));
            assert_eq!(policy(&log), Some(set));
        }
        log.push(event(APPROVAL_POLICY, json!({ "policy": "always" })));
        let (policy, invalid) = (ApprovalPolicy::Never, Some(json!("always")));
        assert_eq!(approval_override(&log), Some(ApprovalOverride { policy, invalid }));
    }

    #[test]
    fn each_question_of_a_log_has_a_name_of_its_own() {
        let mut log = Vec::new();
        for number in 1..4 {
            let id = next_question(&log);
            assert_eq!(id, format!("approval-{number}"));
            log.push(Event::approval_asked(&id, Some("write"), None, "so"));
            log.push(Event::approval_decided(&id, "rejected"));
        }
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
