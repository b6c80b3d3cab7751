//! What is told of a change: one decision and one outcome. Never contents.
//!
//! The decision is the policy's, and the outcome is what the fence did. Where a path leads out of
//! the roots only the fence can find, so a change that was allowed may be denied all the same: then
//! the outcome says by whom, as the decision does where the policy denies.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ringfence_platform::{self as platform, Durability, Enforcement, Receipt, Stamp};
use serde_json::Value;
use tracing::field::{self, DisplayValue};

use crate::approvals::ApprovalPolicy;
use crate::call::Call;
use crate::error::{Code, Denial, Error, Layer, Result, Unescalated};
use crate::mode::Mode;
use crate::observation::Seen;
use crate::policy::{Escalation, Policy};
use crate::request::{Outcome, Request};

const AUDIT: &str = "ringfence::audit";
const EVENTS: &str = "ringfence::events";

/// How many chars of a justification are told.
const MOST_CHARS: usize = 200;

macro_rules! event {
    ($($field:tt)*) => { tracing::info!(target: AUDIT, $($field)*) };
}

/// The span that the events of a call are in. Its mode is told once it is known.
pub(crate) fn request(call: &Call, session: &str) -> tracing::Span {
    let Call { request, tool, id, .. } = call;
    let (tool, call, operation) = (tool.as_deref(), id.as_deref(), field::display(request.op()));
    let mut paths = request.paths();
    let path = paths.next().unwrap_or("".as_ref());
    let (to, mode) = (paths.next().map(field::debug), field::Empty);
    tracing::info_span!(target: AUDIT, "request", session, call, tool, operation, ?path, to, mode)
}

/// The call that `span` is of is judged under `mode`.
pub(crate) fn judged_under(span: &tracing::Span, mode: Mode) {
    span.record("mode", mode.as_str());
}

/// One change, from the decision to the outcome. Both are told also if it ends by a panic.
#[derive(Debug)]
pub(crate) struct Record {
    begun: Instant,
    /// How many bytes are to be written, as far as the request says.
    bytes: Option<u64>,
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
        // What a text comes to is told by its receipt.
        let bytes = if let Request::Write { contents, .. } = request {
            Some(contents.len() as u64)
        } else {
            None
        };
        Self { begun: Instant::now(), bytes, stage: Stage::Begun }
    }

    /// Tells what was decided, and hands it on.
    pub(crate) fn decided<T>(&mut self, policy: &Policy, judged: Result<T>) -> Result<T> {
        match &judged {
            Ok(_) => {
                allowed(policy);
                self.stage = Stage::Decided;
            }
            Err(error) => self.refused(error),
        }
        judged
    }

    /// Tells the outcome.
    pub(crate) fn end(mut self, result: &Result<Outcome>) {
        match result {
            Ok(Outcome::Changed { receipt, .. }) => self.done(receipt, self.bytes),
            Ok(Outcome::Written { receipt, .. }) => {
                self.done(receipt, receipt.after.as_ref().map(Stamp::size));
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
                tell_if_unavailable(error);
                self.failed(error);
            }
        }
        self.stage = Stage::Ended;
    }

    fn refused(&mut self, error: &Error) {
        let (code, denied) = (error.code(), Denied::of(error));
        let roots = denied.roots.unwrap_or_default();
        let Denied { reason, by, narrowest, .. } = denied;
        event!(event = "policy/decided", decision = "deny", %code, reason, by, ?roots, narrowest);
        self.stage = Stage::Decided;
    }

    fn failed(&self, error: &Error) {
        let Denied { reason, by, roots, narrowest } = Denied::of(error);
        event!(
            event = "change/failed",
            code = %error.code(),
            reason,
            by,
            roots = roots.map(field::debug),
            narrowest,
            os_error = error.os_error().map(ToString::to_string),
            tree_changed = error.remains(),
            elapsed_us = self.elapsed_us(),
        );
    }

    fn done(&self, receipt: &Receipt, bytes: Option<u64>) {
        let Receipt { effect, enforcement, cas, not_kept, parents_created, .. } = receipt;
        let not_kept: Vec<_> = not_kept.iter().map(ToString::to_string).collect();
        event!(
            event = "change/done",
            %effect,
            level = %enforcement,
            %cas,
            bytes,
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

/// The policy allows it.
fn allowed(policy: &Policy) {
    let roots = policy.roots().into_iter().flat_map(|roots| roots.iter());
    let roots: Vec<_> = roots.map(|root| root.path()).collect();
    let mode = policy.mode();
    event!(event = "policy/decided", decision = "allow", %mode, ?roots);
}

/// What is told of a denial; nothing of any other error.
#[derive(Debug, Default)]
struct Denied<'a> {
    reason: Option<&'static str>,
    by: Option<DisplayValue<Layer>>,
    roots: Option<&'a [PathBuf]>,
    narrowest: Option<&'static str>,
}

impl<'a> Denied<'a> {
    fn of(error: &'a Error) -> Self {
        let Error::Denied(Denial { by, roots, narrowest, .. }) = error else {
            return Self::default();
        };
        let reason = match by {
            Layer::Mode => "mode",
            Layer::Roots
            | Layer::Protected
            | Layer::LinkText
            | Layer::Resolution(_)
            | Layer::Confinement(_) => "containment",
        };
        Self {
            reason: Some(reason),
            by: Some(field::display(*by)),
            roots: Some(roots),
            narrowest: narrowest.map(Mode::as_str),
        }
    }
}

/// One question, from the wish to the answer. The end is told also if it is a panic.
#[derive(Debug)]
pub(crate) struct Asked {
    step: Step,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    Wished,
    Asked,
    Ended,
}

impl Asked {
    pub(crate) fn begin(
        from: Mode,
        Escalation { to, justification }: &Escalation,
        subject: &'static str,
    ) -> Self {
        let justification: String = justification.chars().take(MOST_CHARS).collect();
        event!(event = "escalation/asked", %from, %to, subject, ?justification);
        Self { step: Step::Wished }
    }

    /// A person is asked now.
    pub(crate) fn asked(&mut self) {
        self.step = Step::Asked;
    }

    pub(crate) fn end(mut self, result: &Result<Policy>) {
        let (outcome, code) = match result {
            Ok(_) => ("allowed-once", None),
            Err(error) => (unescalated(error), Some(field::display(error.code()))),
        };
        let asked = self.step == Step::Asked;
        event!(event = "escalation/decided", outcome, code, asked);
        self.step = Step::Ended;
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let (outcome, asked) = match self.step {
            Step::Wished => ("refused", false),
            Step::Asked => ("unavailable", true),
            Step::Ended => return,
        };
        event!(event = "escalation/decided", outcome, code = "PANIC", asked);
    }
}

/// What came of a question that was not answered with consent. One that was never put is refused.
fn unescalated(error: &Error) -> &'static str {
    let Error::Escalation(why) = error else { return "refused" };
    match why {
        Unescalated::Rejected | Unescalated::ApprovalsOff => "rejected",
        Unescalated::Cancelled => "cancelled",
        Unescalated::Unavailable => "unavailable",
        Unescalated::Unsupported
        | Unescalated::MissingJustification
        | Unescalated::UnpairedJustification
        | Unescalated::BlankJustification
        | Unescalated::NotWider { .. }
        | Unescalated::NoApprover
        | Unescalated::NoAgent => "refused",
    }
}

/// Tells if `result` is that there is no boundary or no policy, and hands it on.
pub(crate) fn available<T>(result: Result<T>) -> Result<T> {
    result.inspect_err(tell_if_unavailable)
}

fn tell_if_unavailable(error: &Error) {
    if error.code() == Code::SandboxUnavailable {
        event!(event = "sandbox/unavailable", cause = cause(error));
    }
}

/// The error and what lies behind it.
fn cause(error: &Error) -> String {
    let mut cause = error.to_string();
    for source in std::iter::successors(error.source(), |error| (*error).source()) {
        let text = match source.downcast_ref::<platform::Error>() {
            Some(source) => format!("{source:#}"),
            None => source.to_string(),
        };
        // The text of a failed call ends with its source's.
        if !cause.ends_with(&text) {
            cause = format!("{cause}: {text}");
        }
    }
    cause
}

/// The settings of a policy service, as far as they are told.
#[derive(Debug)]
pub(crate) struct Settled<'a> {
    pub(crate) mode: Mode,
    pub(crate) approvals: ApprovalPolicy,
    pub(crate) workspace: &'a Path,
    /// Where workspace-write may write, whatever the mode is.
    pub(crate) roots: Vec<PathBuf>,
    /// What stays as it is all the same, as it is spelled beneath the workspace.
    pub(crate) protected: Vec<&'a Path>,
    /// The weakest enforcement that is accepted.
    pub(crate) level: Enforcement,
    pub(crate) durability: Durability,
}

/// The policy service has other settings.
pub(crate) fn reloaded(old: Option<&Settled<'_>>, new: &Settled<'_>) {
    let Settled { mode, approvals, workspace, roots, protected, level, durability } = new;
    event!(
        event = "policy/reloaded",
        old_mode = old.map(|old| old.mode.as_str()),
        old_approvals = old.map(|old| old.approvals.as_str()),
        old_workspace = old.map(|old| field::debug(old.workspace)),
        old_roots = old.map(|old| field::debug(&old.roots)),
        old_protected = old.map(|old| field::debug(&old.protected)),
        old_level = old.map(|old| field::display(old.level)),
        old_durability = old.map(|old| field::display(old.durability)),
        %mode,
        %approvals,
        ?workspace,
        ?roots,
        ?protected,
        %level,
        %durability,
    );
}

/// The policy service has no settings any more.
pub(crate) fn closed(old: &Settled<'_>) {
    let Settled { mode, approvals, workspace, roots, protected, level, durability } = old;
    event!(
        event = "policy/closed",
        old_mode = mode.as_str(),
        old_approvals = approvals.as_str(),
        old_workspace = ?workspace,
        old_roots = ?roots,
        old_protected = ?protected,
        old_level = %level,
        old_durability = %durability,
    );
}

/// The log of a session has something in place of a mode or an approval policy.
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

mod command;

pub(crate) use command::{CommandRecord, command};

#[cfg(test)]
mod tests;
