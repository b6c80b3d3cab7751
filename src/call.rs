//! One call: a request, who makes it, and on what terms.

use std::ops::Range;
use std::path::Path;

use ringfence_platform::{Cancel, ErrorKind};

use crate::error::Error;
use crate::policy::Escalation;
use crate::request::Request;
use crate::text::DiffLimits;

/// A request, and what a caller may say about it.
#[derive(Debug)]
#[must_use = "a call that is not made does nothing"]
pub struct Call {
    pub(crate) request: Request,
    pub(crate) tool: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) cancel: Cancel,
    pub(crate) agent: Agent,
    pub(crate) guard: Guard,
    pub(crate) escalation: Option<Escalation>,
    pub(crate) diff: Option<DiffLimits>,
    /// Which entries of a listing are followed, by their place in it from 0.
    pub(crate) followed: Range<usize>,
}

/// Whether a call is made for an agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Agent {
    /// For the one whose session it is.
    Own,
    /// For none: it has seen nothing, and nobody can be asked for it.
    None,
}

/// What keeps a call from changing what its caller has not seen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Guard {
    /// What the request says itself.
    Request,
    /// What was observed in the session.
    Observation,
}

impl Call {
    /// A call without anything further: for the agent of the session, in its own mode, with the
    /// preconditions of the request itself.
    pub fn new(request: Request) -> Self {
        Self {
            request,
            tool: None,
            id: None,
            cancel: Cancel::never(),
            agent: Agent::Own,
            guard: Guard::Request,
            escalation: None,
            diff: None,
            followed: 0..usize::MAX,
        }
    }

    /// The tool that was called, for questions and the audit.
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// How the caller names the call, for questions and the audit.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Cancels the call while nothing is published, and what is read by it, also piece by piece.
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Makes it for no agent: it can create files, change none that it would have to have read, and
    /// ask for nothing.
    pub fn agentless(mut self) -> Self {
        self.agent = Agent::None;
        self
    }

    /// Holds a text to what was observed in the session: a write creates what was not seen and
    /// replaces what was, an edit needs a read, whatever the request says itself; and what the call
    /// reads or leaves is observed.
    pub fn observed(mut self) -> Self {
        self.guard = Guard::Observation;
        self
    }

    /// Asks that this one call run in a wider mode. Only for a text that is written or edited.
    pub fn escalate(mut self, escalation: Escalation) -> Self {
        self.escalation = Some(escalation);
        self
    }

    /// Has a text that is written or edited told as what differs from the one before, to a person
    /// who is asked and in the outcome. The outcome's is made when the change is done, and can
    /// neither delay nor fail it.
    pub fn with_diff(mut self, limits: DiffLimits) -> Self {
        self.diff = Some(limits);
        self
    }

    /// Has no more symlinks of a listing followed than those among these entries, by their place in
    /// it from 0. Of the others it is not told where they lead.
    pub(crate) fn following(mut self, entries: Range<usize>) -> Self {
        self.followed = entries;
        self
    }
}

impl Call {
    /// Whether what it reads or leaves is observed.
    pub(crate) fn observes(&self) -> bool {
        self.guard == Guard::Observation && self.agent == Agent::Own
    }

    /// That it came to nothing before anything was looked at.
    pub(crate) fn failed(&self, kind: ErrorKind) -> Error {
        let path = self.request.paths().next().unwrap_or(Path::new("")).to_owned();
        Error::Failed { op: self.request.op(), path, kind, source: None }
    }
}

impl From<Request> for Call {
    fn from(request: Request) -> Self {
        Self::new(request)
    }
}
