//! Whether one call may run in a wider mode: first what reading can settle, then a person.

use std::cell::Cell;

use ringfence_platform::{Cancel, ErrorKind};

use crate::aiming::Aiming;
use crate::approvals::ApprovalPolicy;
use crate::audit;
use crate::call::Agent;
use crate::error::{Error, Result, Unescalated};
use crate::events::{Event, next_question};
use crate::log::EventLog;
use crate::policy::{Approval, Approver, Bounds, Escalation, Policy, Question, Subject, Wider};
use crate::request::Request;
use crate::target::Target;
use crate::text::{Diff, TextTerms};
use crate::texts::{Rehearsed, Wanted};

/// How many chars of a justification a person is shown.
const MOST_CHARS: usize = 500;

/// Who decides for a session, and where that is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Person<'a> {
    pub(crate) session: &'a str,
    pub(crate) approver: Option<&'a dyn Approver>,
    pub(crate) approvals: ApprovalPolicy,
    pub(crate) log: &'a EventLog,
}

/// One call that asks for more than its policy allows.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) person: Person<'a>,
    pub(crate) call: Option<&'a str>,
    pub(crate) tool: Option<&'a str>,
    pub(crate) agent: Agent,
    pub(crate) cancel: &'a Cancel,
    /// What kind of thing it is about, for the audit.
    pub(crate) subject: &'static str,
}

/// What a person would be asked about, once everything that would make it fail was looked at.
#[derive(Debug)]
pub(crate) struct Sought {
    pub(crate) subject: Subject,
    pub(crate) diff: Option<Diff>,
}

impl Asking<'_> {
    /// Returns the policy of this one call, if a person has allowed it. Each step that fails ends
    /// it, and nothing is changed or asked after that. A call without a `preflight` is none for
    /// which a wider mode is offered.
    pub(crate) fn escalate(
        &self,
        policy: &Policy,
        escalation: &Escalation,
        preflight: Option<impl FnOnce(&Bounds) -> Result<Sought>>,
    ) -> Result<Policy> {
        let mut record = audit::Asked::begin(policy.mode(), escalation, self.subject);
        let result = self.steps(policy, escalation, preflight, &mut record);
        record.end(&result);
        result
    }

    fn steps(
        &self,
        policy: &Policy,
        Escalation { to, justification }: &Escalation,
        preflight: Option<impl FnOnce(&Bounds) -> Result<Sought>>,
        record: &mut audit::Asked,
    ) -> Result<Policy> {
        let refuse = |why| Err(Error::Escalation(why));
        let Some(preflight) = preflight else { return refuse(Unescalated::Unsupported) };
        if justification.trim().is_empty() {
            return refuse(Unescalated::BlankJustification);
        }
        let wider = Wider::than(policy, *to)?;
        let Sought { subject, diff } = preflight(wider.bounds())?;
        let Person { session, approver, approvals, log } = self.person;
        let Some(approver) = approver else { return refuse(Unescalated::NoApprover) };
        if self.agent == Agent::None {
            return refuse(Unescalated::NoAgent);
        }
        let question = Question {
            session: session.to_owned(),
            call: self.call.map(ToOwned::to_owned),
            tool: self.tool.map(ToOwned::to_owned),
            from: policy.mode(),
            to: *to,
            subject,
            justification: shown(justification),
            diff,
        };
        let asked = log_question(log, &question);
        let decided = |outcome| log.push(&Event::approval_decided(&asked, outcome));
        match approvals {
            ApprovalPolicy::Never => {
                decided(Approval::Rejected.as_str());
                refuse(Unescalated::ApprovalsOff)
            }
            ApprovalPolicy::Ask => {
                record.asked();
                wider.ask(approver, &question, self.cancel, |answer| decided(answer.as_str()))
            }
        }
    }
}

/// Logs that a question is put, and returns its name there.
fn log_question(log: &EventLog, question: &Question) -> String {
    let Question { tool, call, justification, .. } = question;
    let (tool, call) = (tool.as_deref(), call.as_deref());
    let asked = |id: &str| Event::approval_asked(id, tool, call, justification);
    let id = Cell::new(String::new());
    log.extend(|log| {
        let next = next_question(log);
        let event = asked(&next);
        id.set(next);
        vec![event]
    });
    id.into_inner()
}

/// Looks at everything that would make the change of a text fail, as far as reading can tell.
/// Nothing if `request` is of something else.
pub(crate) fn preflight<'a>(
    request: &'a Request,
    texts: TextTerms<'a>,
) -> Option<impl FnOnce(&Bounds) -> Result<Sought> + 'a> {
    let (op, wanted) = (request.op(), Wanted::of(request)?);
    Some(move |bounds: &Bounds| {
        let fence = bounds.fence()?.expect("a mode that is wider than another allows changes");
        let aiming = Aiming { op, bounds, fence: &*fence };
        let Rehearsed { draft, target, place } = wanted.rehearse(&aiming, texts)?;
        let Target { shown: path, .. } = target;
        match place {
            Some(place) => {
                let subject = Subject::Operation { op, path, place };
                Ok(Sought { subject, diff: draft.diff(texts.diff) })
            }
            None => Err(Error::Failed { op, path, kind: ErrorKind::Unsupported, source: None }),
        }
    })
}

/// As much of a justification as a person can be expected to read.
fn shown(justification: &str) -> String {
    match justification.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &justification[..end]),
        None => justification.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_justification_is_cut_after_a_whole_char_and_says_so() {
        let just = "é".repeat(MOST_CHARS);
        assert_eq!(shown(&just), just);
        assert_eq!(shown(&(just.clone() + "a")), just.clone() + "…");
        assert_eq!(shown(&just.repeat(9)), just + "…");
    }
}
