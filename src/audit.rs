//! What is told of a change: one decision and one outcome. Never contents.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ringfence_platform::Receipt;
use serde_json::Value;

use crate::call::Call;
use crate::error::{Denial, Error, Layer, Result};
use crate::mode::Mode;
use crate::observation::Seen;
use crate::policy::Policy;
use crate::request::{Outcome, Request};

const AUDIT: &str = "ringfence::audit";
const EVENTS: &str = "ringfence::events";

/// How many chars of a justification are told.
const MOST_CHARS: usize = 200;

macro_rules! event {
    ($($field:tt)*) => { tracing::info!(target: AUDIT, $($field)*) };
}

/// The span that the events of a call are in.
pub(crate) fn request(call: &Call, session: &str, mode: Option<Mode>) -> tracing::Span {
    let Call { request, tool, id, .. } = call;
    let path = request.paths().next().unwrap_or("".as_ref());
    let (op, tool, call) = (request.op(), tool.as_deref(), id.as_deref());
    let (operation, mode) = (tracing::field::display(op), mode.map(Mode::as_str));
    tracing::info_span!(target: AUDIT, "request", session, call, tool, operation, ?path, mode)
}

/// One change, from the decision to the outcome. Both are told also if it ends by a panic.
#[derive(Debug)]
pub(crate) struct Record {
    begun: Instant,
    /// How many bytes are to be written, as far as the request says.
    bytes: Option<usize>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Begun,
    Decided,
    Ended,
}

impl Record {
    pub(crate) fn begin(request: &Request) -> Self {
        let bytes = match request {
            Request::Write { contents, .. } => Some(contents.len()),
            Request::WriteText { text, .. } => Some(text.len()),
            Request::Read { .. }
            | Request::ReadText { .. }
            | Request::StreamText { .. }
            | Request::ReadBytes { .. }
            | Request::Resolve { .. }
            | Request::Stat { .. }
            | Request::List { .. }
            | Request::Edit { .. }
            | Request::CreateDir { .. }
            | Request::Remove { .. }
            | Request::Rename { .. }
            | Request::Symlink { .. } => None,
        };
        Self { begun: Instant::now(), bytes, stage: Stage::Begun }
    }

    /// Tells what was decided, and hands it on.
    pub(crate) fn decided<T>(&mut self, policy: &Policy, judged: Result<T>) -> Result<T> {
        match &judged {
            Ok(_) => {
                let roots = policy.roots().into_iter().flat_map(|roots| roots.iter());
                let roots: Vec<_> = roots.map(|root| root.path()).collect();
                let mode = policy.mode();
                event!(event = "policy/decided", decision = "allow", %mode, ?roots);
                self.stage = Stage::Decided;
            }
            Err(error) => self.refused(error),
        }
        judged
    }

    /// Tells the outcome.
    pub(crate) fn end(mut self, result: &Result<Outcome>) {
        match result {
            Ok(Outcome::Changed { receipt, .. } | Outcome::Written { receipt, .. }) => {
                self.done(receipt);
            }
            Ok(
                Outcome::Opened { .. }
                | Outcome::Text { .. }
                | Outcome::Stream { .. }
                | Outcome::Bytes { .. }
                | Outcome::Resolved { .. }
                | Outcome::Info { .. }
                | Outcome::Listed { .. },
            ) => {}
            Err(error) => {
                if self.stage == Stage::Begun {
                    self.refused(error);
                }
                let (code, os_error) = (error.code(), error.os_error().map(ToString::to_string));
                let (tree_changed, elapsed_us) = (error.remains(), self.elapsed_us());
                event!(event = "change/failed", %code, os_error, tree_changed, elapsed_us);
            }
        }
        self.stage = Stage::Ended;
    }

    fn refused(&mut self, error: &Error) {
        let denial = denial(error);
        let roots: &[PathBuf] = denial.map_or(&[], |denial| &denial.roots);
        let reason = denial.map(|denial| match denial.by {
            Layer::Mode => "mode",
            Layer::Roots | Layer::LinkText | Layer::Resolution(_) | Layer::Confinement(_) => {
                "containment"
            }
        });
        let narrowest = denial.and_then(|denial| denial.narrowest).map(Mode::as_str);
        let code = error.code();
        event!(event = "policy/decided", decision = "deny", %code, reason, ?roots, narrowest);
        if let Error::Unavailable { .. } | Error::WorkspaceMoved { .. } | Error::NoPolicy = error {
            event!(event = "sandbox/unavailable", cause = %error);
        }
        self.stage = Stage::Decided;
    }

    fn done(&self, receipt: &Receipt) {
        let Receipt { effect, enforcement, cas, not_kept, parents_created, .. } = receipt;
        let not_kept: Vec<_> = not_kept.iter().map(ToString::to_string).collect();
        event!(
            event = "change/done",
            %effect,
            level = %enforcement,
            %cas,
            bytes = self.bytes,
            elapsed_us = self.elapsed_us(),
            ?not_kept,
            parents_created,
        );
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.stage == Stage::Begun {
            event!(event = "policy/decided", decision = "deny", code = "PANIC");
        }
        if self.stage != Stage::Ended {
            event!(event = "change/failed", code = "PANIC", elapsed_us = self.elapsed_us());
        }
    }
}

/// One question, from the wish to the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    asked: bool,
}

impl Asked {
    pub(crate) fn begin(from: Mode, to: Mode, justification: &str) -> Self {
        let justification: String = justification.chars().take(MOST_CHARS).collect();
        event!(event = "escalation/asked", %from, %to, subject = "operation", ?justification);
        Self { asked: false }
    }

    /// A person is asked now.
    pub(crate) fn asked(&mut self) {
        self.asked = true;
    }

    pub(crate) fn end(self, result: &Result<Policy>) {
        let Self { asked } = self;
        match result {
            Ok(_) => event!(event = "escalation/decided", outcome = "allowed-once", asked),
            Err(error) => {
                let (outcome, code) = ("refused", error.code());
                event!(event = "escalation/decided", outcome, %code, asked);
            }
        }
    }
}

/// The policy service has other settings.
pub(crate) fn reloaded(old: Option<(Mode, &Path)>, (mode, workspace): (Mode, &Path)) {
    let (old_mode, old_workspace) = (old.map(|(mode, _)| mode.as_str()), old.map(|(_, path)| path));
    event!(event = "policy/reloaded", old_mode, ?old_workspace, %mode, ?workspace);
}

/// The log of a session has something in place of a mode.
pub(crate) fn invalid_event(session: &str, found: &Value) {
    let found: String = found.to_string().chars().take(MOST_CHARS).collect();
    event!(event = "policy/invalid-event", session, found);
}

/// The owner of a session has seen what is at a place. For hosts; no part of the audit.
pub(crate) fn observed(session: &str, seen: &Seen) {
    let state = match seen {
        Seen::Absent => "absent",
        Seen::Present(_) => "present",
    };
    tracing::debug!(target: EVENTS, event = "fs/observed", session, state);
}

fn denial(error: &Error) -> Option<&Denial> {
    if let Error::Denied(denial) = error { Some(denial) } else { None }
}
