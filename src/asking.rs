//! Whether one call may run in a wider mode: first what reading can settle, then a person.

use ringfence_platform::ErrorKind;

use crate::aiming::Aiming;
use crate::audit;
use crate::call::{Agent, Call};
use crate::error::{Error, Result, Unescalated};
use crate::policy::{Approver, Bounds, Escalation, Policy, Question, Subject, Wider};
use crate::target::Target;
use crate::text::TextTerms;
use crate::texts::{Draft, Wanted};

/// How many chars of a justification a person is shown.
const MOST_CHARS: usize = 500;

/// One call that asks for more than its policy allows.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) session: &'a str,
    pub(crate) call: &'a Call,
    pub(crate) approver: Option<&'a dyn Approver>,
    pub(crate) texts: TextTerms<'a>,
}

impl Asking<'_> {
    /// Returns the policy of this one call, if a person has allowed it. Each step that fails ends
    /// it, and nothing is changed or asked after that.
    pub(crate) fn escalate(&self, policy: &Policy, escalation: &Escalation) -> Result<Policy> {
        let mut record = audit::Asked::begin(policy.mode(), escalation);
        let result = self.steps(policy, escalation, &mut record);
        record.end(&result);
        result
    }

    fn steps(
        &self,
        policy: &Policy,
        Escalation { to, justification }: &Escalation,
        record: &mut audit::Asked,
    ) -> Result<Policy> {
        let refuse = |why| Err(Error::Escalation(why));
        let Some(wanted) = Wanted::of(&self.call.request) else {
            return refuse(Unescalated::Unsupported);
        };
        if justification.trim().is_empty() {
            return refuse(Unescalated::BlankJustification);
        }
        let wider = Wider::than(policy, *to)?;
        let (subject, draft) = self.preflight(wider.bounds(), &wanted)?;
        let Some(approver) = self.approver else { return refuse(Unescalated::NoApprover) };
        if self.call.agent == Agent::None {
            return refuse(Unescalated::NoAgent);
        }
        let question = Question {
            session: self.session.to_owned(),
            call: self.call.id.clone(),
            tool: self.call.tool.clone(),
            from: policy.mode(),
            to: *to,
            subject,
            justification: shown(justification),
            diff: draft.diff(self.texts.diff),
        };
        record.asked();
        wider.ask(approver, &question, &self.call.cancel)
    }

    /// Looks at everything that would make the change fail, as far as reading can tell.
    fn preflight(&self, bounds: &Bounds, wanted: &Wanted<'_>) -> Result<(Subject, Draft)> {
        let op = self.call.request.op();
        let fence = bounds.fence()?.expect("a mode that is wider than another allows changes");
        let aiming = Aiming { op, bounds, fence: &*fence };
        let mut target = aiming.targets([wanted.path()])?;
        let draft = wanted.draft(&aiming, &mut target, self.texts)?;
        let (draft, place) = draft.rehearsed(&aiming, &mut target)?;
        let [Target { shown: path, .. }] = target;
        match place {
            Some(place) => Ok((Subject::Operation { op, path, place }, draft)),
            None => Err(Error::Failed { op, path, kind: ErrorKind::Unsupported, source: None }),
        }
    }
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
