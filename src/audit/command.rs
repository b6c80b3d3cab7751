//! What is told of a command: what was decided, how it was started, and how it ended.

use std::time::Instant;

use ringfence_platform::process::{Held, PassedOver};
use tracing::field;

use super::{AUDIT, Denied, MOST_CHARS, allowed, tell_if_unavailable};
use crate::error::Error;
use crate::policy::Policy;
use crate::request::Op;
use crate::shell::{Ending, Ran, Run, Sandbox};

/// The span that the events of a command are in. Its mode and workdir are told once they are known.
pub(crate) fn command(run: &Run, session: &str) -> tracing::Span {
    let (tool, call, operation) = (run.tool.as_deref(), run.id.as_deref(), field::display(Op::Run));
    let command: String = run.command.chars().take(MOST_CHARS).collect();
    let path = run.workdir.as_ref().map(field::debug);
    let mode = field::Empty;
    tracing::info_span!(target: AUDIT, "request", session, call, tool, operation, path, ?command, mode)
}

/// One command, from the decision to its end. Both are told also if it ends by a panic.
#[derive(Debug)]
pub(crate) struct CommandRecord {
    begun: Instant,
    is_decided: bool,
    has_ended: bool,
}

impl CommandRecord {
    pub(crate) fn begin() -> Self {
        Self { begun: Instant::now(), is_decided: false, has_ended: false }
    }

    /// It may run under this policy.
    pub(crate) fn decided(&mut self, policy: &Policy) {
        allowed(policy);
        self.is_decided = true;
    }

    /// It was started.
    pub(crate) fn started(&self, held: Option<&Held>, passed_over: &[PassedOver]) {
        let Told { runner, enforcement, gaps } = Told::of(held);
        let passed_over: Vec<_> = passed_over.iter().map(ToString::to_string).collect();
        event!(event = "command/started", runner, enforcement, ?gaps, ?passed_over);
    }

    /// It has ended so.
    pub(crate) fn ended(&mut self, ran: &Ran) {
        let Sandbox { held, denied, .. } = &ran.sandbox;
        let Told { runner, enforcement, gaps } = Told::of(held.as_ref());
        let (exit, signal) = by_itself(ran.ending);
        let timed_out = ran.ending == Ending::TimedOut;
        let aborted = ran.ending == Ending::Aborted;
        event!(
            event = "command/ended",
            runner,
            enforcement,
            ?gaps,
            exit,
            signal,
            timed_out,
            aborted,
            denied = denied.is_some(),
            evidence = denied.as_ref().map(|denied| field::display(denied.evidence)),
            denied_path = denied.as_ref().and_then(|denied| denied.path.as_ref()).map(field::debug),
            elapsed_us = self.elapsed_us(),
        );
        self.has_ended = true;
    }

    /// It was run in place of another, and has ended so.
    pub(crate) fn ended_as(&mut self, ending: Ending) {
        let (exit, signal) = by_itself(ending);
        event!(event = "command/ended", exit, signal, elapsed_us = self.elapsed_us());
        self.has_ended = true;
    }

    /// It was not run.
    pub(crate) fn failed(&mut self, error: &Error) {
        let (code, Denied { reason, by, .. }) = (error.code(), Denied::of(error));
        if !self.is_decided {
            event!(event = "policy/decided", decision = "deny", %code, reason, by);
            self.is_decided = true;
        }
        tell_if_unavailable(error);
        event!(event = "command/ended", %code, elapsed_us = self.elapsed_us());
        self.has_ended = true;
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Drop for CommandRecord {
    fn drop(&mut self) {
        if !self.is_decided {
            event!(event = "policy/decided", decision = "deny", code = "PANIC");
        }
        if !self.has_ended {
            event!(event = "command/ended", code = "PANIC", elapsed_us = self.elapsed_us());
        }
    }
}

/// The exit code, or the signal.
fn by_itself(ending: Ending) -> (Option<i32>, Option<i32>) {
    match ending {
        Ending::Exited(code) => (Some(code), None),
        Ending::Signalled(signal) => (None, Some(signal)),
        Ending::TimedOut | Ending::Aborted | Ending::Unknown | Ending::NotExecuted(_) => {
            (None, None)
        }
    }
}

/// What is told of a runner.
#[derive(Debug)]
struct Told {
    runner: Option<String>,
    enforcement: Option<String>,
    gaps: Vec<String>,
}

impl Told {
    fn of(held: Option<&Held>) -> Self {
        let gaps = held.into_iter().flat_map(|held| &held.gaps);
        Self {
            runner: held.map(|held| held.runner.to_string()),
            enforcement: held.map(|held| held.enforcement().to_string()),
            gaps: gaps.map(ToString::to_string).collect(),
        }
    }
}
