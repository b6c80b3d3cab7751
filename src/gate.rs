//! The gate: nothing is changed that the owner of the session has not seen.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ringfence_platform::{ErrorKind, Follow, TargetKey};

use crate::audit;
use crate::call::{Agent, Call, Guard};
use crate::error::{Error, Result};
use crate::observation::{Observations, Seen, Unseen};
use crate::policy::Policy;
use crate::reading::Reading;
use crate::request::{Op, Outcome, Request};
use crate::text::Version;
use crate::turn::{NoTurn, Taken, Turn};

/// What the owner of one session has seen, and whose turn it is to change it.
#[derive(Debug)]
pub(crate) struct Gate {
    /// What the session is called.
    session: String,
    seen: Mutex<Observations>,
    turn: Turn,
}

impl Gate {
    /// The gate of a session that has seen nothing.
    pub(crate) fn new(session: String) -> Self {
        Self { session, seen: Mutex::default(), turn: Turn::default() }
    }

    /// Changes by tools, and all that go by what was observed, come one after the other.
    pub(crate) fn turn(&self, call: &Call) -> Result<Option<Taken<'_>>> {
        if call.guard == Guard::Request && call.tool.is_none() {
            return Ok(None);
        }
        let taken = self.turn.take(&call.cancel);
        taken.map(Some).map_err(|why| match why {
            NoTurn::Cancelled => call.failed(ErrorKind::Cancelled),
            NoTurn::Held => call.failed(ErrorKind::Busy),
        })
    }

    /// Puts what the owner has seen of a text in place of what the request says. A path of a tool
    /// that leads nowhere is told before anything is decided, in every mode.
    pub(crate) fn hold(&self, call: &mut Call, policy: &Policy) -> Result<()> {
        let (op, agent) = (call.request.op(), call.agent);
        let look = |raw: &Path| {
            let (reader, base) = (policy.bounds().reader(), policy.workspace());
            Reading { op, reader, base, cancel: &call.cancel }.look(raw, Follow::Yes)
        };
        if call.guard == Guard::Request {
            let resolved = call.tool.as_ref().and_then(|_| call.request.paths().next()).map(look);
            return resolved.transpose().map(drop);
        }
        // What is looked up may hang, and nobody else is to wait for that.
        if let Request::WriteText { path, intent, .. } = &mut call.request {
            let (_, place) = look(path)?;
            *intent = self.asked_by(agent, |seen| seen.write(&place.key));
        } else if let Request::Edit { path, seen, .. } = &mut call.request {
            let (path, place) = look(path)?;
            let version = self.asked_by(agent, |seen| seen.edit(&place.key));
            *seen = Some(version.map_err(|why| match why {
                Unseen::Never => Error::NotObserved { op, path },
                Unseen::Absent => {
                    Error::Failed { op, path, kind: ErrorKind::NotFound, source: None }
                }
            })?);
        }
        Ok(())
    }

    /// What follows from what was seen; nobody has seen nothing.
    fn asked_by<T>(&self, agent: Agent, ask: impl Fn(&Observations) -> T) -> T {
        match agent {
            Agent::Own => ask(&self.seen()),
            Agent::None => ask(&Observations::default()),
        }
    }

    /// A text was read whole, or is not there.
    pub(crate) fn observe_read(
        &self,
        call: &Call,
        reading: &Reading<'_>,
        outcome: &Result<Outcome>,
    ) {
        let is_missing =
            |error: &Error| matches!(error, Error::Failed { kind: ErrorKind::NotFound, .. });
        let version = match outcome {
            Ok(Outcome::Text { text, .. }) => Some(&text.version),
            Err(error) if is_missing(error) => None,
            Ok(_) | Err(_) => return,
        };
        let raw = call.request.paths().next().unwrap_or(Path::new(""));
        if !call.observes() || call.request.op() != Op::ReadText {
            return;
        }
        let Ok((_, place)) = reading.look(raw, Follow::Yes) else { return };
        match version {
            Some(version) => self.saw(place.key, version.clone()),
            None if place.found.is_none() => self.observe(place.key, Seen::Absent),
            None => {}
        }
    }

    /// A text was written, so its owner knows it.
    pub(crate) fn observe_change(&self, call: &Call, result: &Result<Outcome>) {
        if let Ok(Outcome::Written { receipt, version, .. }) = result
            && call.observes()
        {
            self.saw(receipt.key.clone(), version.clone());
        }
    }

    /// The owner has seen a file of this version there.
    pub(crate) fn saw(&self, key: TargetKey, version: Version) {
        self.observe(key, Seen::Present(version));
    }

    fn observe(&self, key: TargetKey, seen: Seen) {
        audit::observed(&self.session, &seen);
        self.seen().saw(key, seen);
    }

    fn seen(&self) -> MutexGuard<'_, Observations> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
