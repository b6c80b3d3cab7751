//! Whether one call may run in a wider mode: first what reading can settle, then a person.

use std::path::{Path, PathBuf};

use ringfence_platform::{ErrorKind, Follow, TargetKey};

use crate::aiming::Aiming;
use crate::audit;
use crate::call::{Agent, Call};
use crate::error::{Error, Result, Unescalated};
use crate::physical::physical;
use crate::policy::{Approver, Bounds, Escalation, Policy, Question, Subject, Wider};
use crate::target::Target;
use crate::text::TextTerms;
use crate::texts::{Draft, Wanted};

/// How often the place of a change is looked up again because it moved meanwhile.
const MOST_LOOKS: usize = 8;

/// One call that asks for more than its policy allows.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) session: &'a str,
    pub(crate) call: &'a Call,
    pub(crate) approver: Option<&'a dyn Approver>,
    pub(crate) texts: TextTerms,
}

/// Where the change would be made: by identity, and as people are told.
struct Place {
    key: TargetKey,
    path: PathBuf,
    physical: PathBuf,
}

impl Asking<'_> {
    /// Returns the policy of this one call, if a person has allowed it. Each step that fails ends
    /// it, and nothing is changed or asked after that.
    pub(crate) fn escalate(&self, policy: &Policy, escalation: Escalation) -> Result<Policy> {
        let Escalation { to, justification } = escalation;
        let mut record = audit::Asked::begin(policy.mode(), to, &justification);
        let result = self.steps(policy, Escalation { to, justification }, &mut record);
        record.end(&result);
        result
    }

    fn steps(
        &self,
        policy: &Policy,
        Escalation { to, justification }: Escalation,
        record: &mut audit::Asked,
    ) -> Result<Policy> {
        let refuse = |why| Err(Error::Escalation(why));
        let Some(wanted) = Wanted::of(&self.call.request) else {
            return refuse(Unescalated::Unsupported);
        };
        if justification.trim().is_empty() {
            return refuse(Unescalated::BlankJustification);
        }
        let wider = Wider::than(policy, to)?;
        let (place, draft) = self.preflight(wider.bounds(), &wanted)?;
        let Some(approver) = self.approver else { return refuse(Unescalated::NoApprover) };
        if self.call.agent == Agent::None {
            return refuse(Unescalated::NoAgent);
        }
        let Place { key, path, physical } = place;
        let question = Question {
            session: self.session.to_owned(),
            call: self.call.id.clone(),
            tool: self.call.tool.clone(),
            from: policy.mode(),
            to,
            subject: Subject::Operation { op: self.call.request.op(), path, place: physical },
            justification,
            diff: draft.diff(self.texts.diff),
        };
        record.asked();
        wider.ask(approver, &question, key, &self.call.cancel)
    }

    /// Looks at everything that would make the change fail, as far as reading can tell.
    fn preflight(&self, bounds: &Bounds, wanted: &Wanted<'_>) -> Result<(Place, Draft)> {
        let fence = bounds.fence()?.expect("a mode that is wider than another allows changes");
        let aiming = Aiming { op: self.call.request.op(), bounds, fence: &*fence };
        let mut target = aiming.targets([wanted.path()])?;
        let place = place(&aiming, &mut target)?;
        let draft = wanted.draft(&aiming, &mut target, self.texts)?;
        Ok((place, draft.rehearsed(&aiming, &mut target)?))
    }
}

/// The place, once its identity and its path without symlinks are seen to be of the same one.
fn place(aiming: &Aiming<'_>, target: &mut [Target; 1]) -> Result<Place> {
    let path = target[0].shown.clone();
    let reader = aiming.bounds.reader();
    for _ in 0..MOST_LOOKS {
        let key = aiming.until_it_hits(target, |fence, [target]| {
            fence.stat(&target.at, Follow::Yes).map(|stat| stat.key)
        })?;
        let there = |place: &Path| reader.stat(place, Follow::No).is_ok_and(|stat| stat.key == key);
        if let Ok(physical) = physical(&path)
            && there(&physical)
        {
            return Ok(Place { key, path, physical });
        }
    }
    Err(Error::Failed { op: aiming.op, path, kind: ErrorKind::Busy, source: None })
}
