//! The one door: every request passes here once, from a raw path to a receipt.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use ringfence_platform::{Assurance, Cancel, ErrorKind, TargetKey, Terms};

use crate::approvals::ApprovalPolicy;
use crate::asking::{self, Asking, Person};
use crate::audit::{self, CommandRecord};
use crate::call::Call;
use crate::change::Change;
use crate::commands::{self, Commanding, Jobs};
use crate::effective::EffectivePolicy;
use crate::error::{Error, Result};
use crate::events::{Event, ModeSource, approval_override, mode_override};
use crate::gate::Gate;
use crate::log::EventLog;
use crate::mode::Mode;
use crate::mutations;
use crate::policy::{Approver, Areas, Bounds, Policy, can_reach};
use crate::reading::Reading;
use crate::request::{Op, Outcome, Request};
use crate::service::{PolicyService, Standing};
use crate::shell::{Ending, Exec, Explained, Job, Ran, Run};
use crate::text::{TextTerms, Version};
use crate::turn::Taken;
use crate::why::{Asked, Why};

/// What one agent does, under the policy of its service. Every request passes here.
///
/// Reads go anywhere that the host lets this user read. A change needs a grant of the policy, and
/// is made by the fence, beneath the writable roots. The policy is asked anew for each call, so a
/// mode that is set applies to the next one.
#[derive(Debug)]
pub struct Session {
    service: Arc<PolicyService>,
    name: String,
    /// Around a working directory of its own, and under which settings that is.
    own: Option<ArcSwap<(Arc<Standing>, Arc<Areas>)>>,
    approver: Option<Arc<dyn Approver>>,
    log: EventLog,
    gate: Gate,
    jobs: Jobs,
    /// The process that opened it. In a forked child nothing is changed and nothing waited for: who
    /// would answer is not there.
    process: u32,
}

impl Session {
    pub(crate) fn begin(
        service: Arc<PolicyService>,
        name: String,
        cwd: Option<&Path>,
        approver: Option<Arc<dyn Approver>>,
        log: Vec<Event>,
    ) -> Result<Self> {
        let (log, process) = (EventLog::new(log), std::process::id());
        let gate = Gate::new(name.clone());
        let standing = service.standing()?;
        let around = |cwd| standing.around(cwd).map(|areas| (Arc::clone(&standing), areas));
        let own = cwd.map(around).transpose()?.map(ArcSwap::from_pointee);
        let jobs = Jobs::default();
        let session = Self { service, name, own, approver, log, gate, jobs, process };
        session.say_if_invalid(&session.log.events());
        session.areas(&standing)?.held_as_required(session.mode_under(&standing))?;
        Ok(session)
    }

    /// What the session is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The policy that the next call would be judged by.
    ///
    /// # Errors
    ///
    /// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if the service is closed, or
    /// the workspace was moved and the mode allows changes.
    pub fn policy(&self) -> Result<Policy> {
        let standing = self.service.standing()?;
        Policy::resolve(self.mode_under(&standing), self.areas(&standing)?)
    }

    /// The directory that relative paths are taken against, as it was when it was opened.
    ///
    /// # Errors
    ///
    /// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if the service is closed.
    pub fn workspace(&self) -> Result<PathBuf> {
        let standing = self.service.standing()?;
        Ok(self.last_areas(&standing).workspace().to_owned())
    }

    /// What the fence was seen to hold; nothing under a mode that has none.
    ///
    /// # Errors
    ///
    /// As [`policy`](Self::policy), or if the fence cannot be opened.
    pub fn assurance(&self) -> Result<Option<Assurance>> {
        let fence = self.policy()?.bounds().fence()?;
        Ok(fence.map(|fence| fence.assurance().clone()))
    }

    /// Sets the mode, from the next call on. Only for the host: no tool leads here.
    pub fn set_mode(&self, mode: Mode, source: ModeSource) {
        self.record(Event::sandbox_mode(mode, source));
    }

    /// Adds an event to the log of the session, of whatever kind.
    pub fn record(&self, event: Event) {
        self.log.push(&event);
        self.say_if_invalid(std::slice::from_ref(&event));
    }

    /// Everything that was logged, to be stored and given back to
    /// [`SessionOptions::log`](crate::SessionOptions::log).
    #[must_use]
    pub fn log(&self) -> Vec<Event> {
        self.log.events().to_vec()
    }

    /// What becomes of a question of the next call. Without a service nobody is asked.
    #[must_use]
    pub fn approvals(&self) -> ApprovalPolicy {
        let standing = self.service.standing();
        standing.map_or(ApprovalPolicy::Never, |standing| self.approvals_under(&standing))
    }

    /// Sets what becomes of questions, from the next call on. Only for the host: no tool leads
    /// here.
    pub fn set_approvals(&self, policy: ApprovalPolicy) {
        self.record(Event::approval_policy(policy));
    }

    /// Whether a person could be asked to let a call run in a wider mode.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        let asks = self.approvals() == ApprovalPolicy::Ask;
        asks && self.approver.as_deref().is_some_and(can_reach)
    }

    /// Adds what follows from the log and from the mode and the approval policy in force, all of it
    /// at once.
    ///
    /// # Errors
    ///
    /// [`Error::NoPolicy`] if the service is closed.
    pub(crate) fn record_what_follows(
        &self,
        next: impl Fn(&[Event], Mode, ApprovalPolicy) -> Vec<Event>,
    ) -> Result<()> {
        let standing = self.service.standing()?;
        self.log
            .extend(|log| next(log, mode_after(log, &standing), approvals_after(log, &standing)));
        Ok(())
    }

    /// The mode of the next call, and what becomes of its question.
    ///
    /// # Errors
    ///
    /// [`Error::NoPolicy`] if the service is closed.
    pub(crate) fn in_force(&self) -> Result<(Mode, ApprovalPolicy)> {
        let (standing, log) = (self.service.standing()?, self.log.events());
        Ok((mode_after(&log, &standing), approvals_after(&log, &standing)))
    }

    /// Everything that the next call and the next command would be held to, and by what. To see what
    /// the runners of commands hold, each is tried once.
    ///
    /// # Errors
    ///
    /// As [`policy`](Self::policy).
    pub fn effective_policy(&self) -> Result<EffectivePolicy> {
        if !self.is_in_own_process() {
            return Err(Error::Forked);
        }
        let standing = self.service.standing()?;
        let areas = self.areas(&standing)?;
        let policy = Policy::resolve(self.mode_under(&standing), Arc::clone(&areas))?;
        EffectivePolicy::of(&policy, &areas, self.approvals_under(&standing), &standing)
    }

    /// Says what would come of `op` at `path` by the steps that the call itself would take, and by
    /// which rule. Nothing is changed, nobody is asked, and nothing is told to the audit.
    ///
    /// A write is of any bytes, and missing directories are made for it; an edit is of a text that
    /// is there; a directory is made where its parents are; what is removed is no directory; a
    /// rename is told of its first path, and is to a free name beside that; a symlink is one that
    /// stays beneath its root. What was observed in the session does not count.
    ///
    /// # Errors
    ///
    /// As [`policy`](Self::policy) for a change, or if the fence cannot be opened;
    /// [`Code::FsIoError`](crate::Code::FsIoError) for [`Op::Run`], which is told by
    /// [`explain`](Self::explain). What keeps the operation itself from being done is no error, but
    /// the answer.
    pub fn why(&self, op: Op, path: &Path) -> Result<Why> {
        if !self.is_in_own_process() {
            return Err(Error::Forked);
        }
        let standing = self.service.standing()?;
        let (mode, cancel) = (self.mode_under(&standing), &Cancel::never());
        let texts = TextTerms { cancel, most_bytes: standing.max_text_bytes, diff: None };
        let asked = Asked { op, path, texts };
        if op.changes() {
            return asked.change(&Policy::resolve(mode, self.areas(&standing)?)?);
        }
        let areas = self.last_areas(&standing);
        let reading = Reading { op, reader: areas.reader(), base: areas.workspace(), cancel };
        asked.reading(&reading, mode, &Bounds::of(Mode::ReadOnly, Arc::clone(&areas))?)
    }

    /// Does what is asked, if the policy allows it. As [`call`](Self::call) without anything
    /// further.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn perform(&self, request: Request) -> Result<Outcome> {
        self.call(Call::new(request))
    }

    /// Does what is asked, if the policy or a person allows it.
    ///
    /// # Errors
    ///
    /// [`Code::FsSandboxDenied`](crate::Code::FsSandboxDenied) if the policy refuses, and then
    /// nothing has changed; [`Code::FsAborted`](crate::Code::FsAborted) if it was cancelled, and
    /// then nothing has changed but parents that were made; [`Code`](crate::Code) says what the
    /// others mean.
    ///
    /// # Events
    ///
    /// `tracing` is told of it with the target `ringfence::audit`. Every call is a span; a change
    /// has two events in it, also if it is cancelled or panics. `policy/decided` is what the policy
    /// says. `change/done` or `change/failed` is what the fence did: only it can find that a path
    /// leads out of the writable roots, so a change that the policy allows may be denied all the
    /// same, and then the second event has `reason`, `by`, `roots` and `narrowest`. Contents are
    /// never told.
    pub fn call(&self, call: Call) -> Result<Outcome> {
        if call.request.op().changes() { self.change(call) } else { self.read(&call) }
    }

    fn read(&self, call: &Call) -> Result<Outcome> {
        let span = audit::request(call, &self.name).entered();
        if call.cancel.is_cancelled() {
            return Err(call.failed(ErrorKind::Cancelled));
        }
        let standing = audit::available(self.service.standing())?;
        audit::judged_under(&span, self.mode_under(&standing));
        let areas = self.last_areas(&standing);
        let (op, reader, base) = (call.request.op(), areas.reader(), areas.workspace());
        let reading = Reading { op, reader, base, cancel: &call.cancel };
        let outcome = reading.answer(call, standing.max_text_bytes);
        if self.is_in_own_process() {
            self.gate.observe_read(call, &reading, &outcome);
        }
        outcome
    }

    fn change(&self, mut call: Call) -> Result<Outcome> {
        let span = audit::request(&call, &self.name).entered();
        let mut turn = None;
        let mut record = audit::Record::begin(&call.request);
        let result = self.turn(&call).and_then(|taken| {
            turn = taken;
            let standing = self.service.standing()?;
            let mode = self.mode_under(&standing);
            audit::judged_under(&span, mode);
            let policy = Policy::resolve(mode, self.areas(&standing)?)?;
            self.gate.hold(&mut call, &policy)?;
            let (most_bytes, cancel, diff) = (standing.max_text_bytes, &call.cancel, call.diff);
            let texts = TextTerms { cancel, most_bytes, diff };
            let policy = escalated(self.person(&standing), &call, policy, texts)?;
            let fence = policy.bounds().fence()?;
            let (cancel, durability) = (call.cancel.clone(), standing.durability);
            let change = Change {
                request: &call.request,
                policy: &policy,
                fence: fence.as_deref(),
                terms: &Terms { cancel, durability, ..Terms::default() },
                texts,
                has_looked: call.tool.is_some(),
            };
            mutations::make(&change, &mut record)
        });
        record.end(&result);
        self.gate.observe_change(&call, &result);
        drop(turn);
        result
    }

    /// Waits until the change may begin.
    fn turn(&self, call: &Call) -> Result<Option<Taken<'_>>> {
        if call.cancel.is_cancelled() {
            return Err(call.failed(ErrorKind::Cancelled));
        }
        if !self.is_in_own_process() {
            return Err(Error::Forked);
        }
        self.gate.turn(call)
    }

    /// Who decides for this session, under these settings.
    fn person<'a>(&'a self, standing: &Standing) -> Person<'a> {
        let (session, approver) = (&*self.name, self.approver.as_deref());
        let approvals = self.approvals_under(standing);
        Person { session, approver, approvals, log: &self.log }
    }

    /// Runs a command, and waits until it and all that it has started have ended.
    ///
    /// # Errors
    ///
    /// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if nothing here can confine it
    /// as is required, and then it has not run; [`Code::FsAborted`](crate::Code::FsAborted) if it
    /// was cancelled before it began; as a path is looked up, if the directory that it is to begin
    /// in cannot be entered; [`Code`](crate::Code) says what those of a wider mode mean.
    ///
    /// # Events
    ///
    /// As of a change: `policy/decided`, then `command/started` if it was, and `command/ended`.
    pub fn run(&self, run: Run) -> Result<Ran> {
        let span = audit::command(&run, &self.name).entered();
        let mut record = CommandRecord::begin();
        let begun = self.commanding(&span, run.cancel.is_cancelled(), |commanding, policy| {
            commanding.run(&run, policy, &mut record)
        });
        let begun = begun.inspect_err(|error| record.failed(error))?;
        let (ran, files) = begun.end(&run, &mut record);
        self.jobs.keep(files);
        Ok(ran)
    }

    /// Starts a command in the background, as a job of the session.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn start(&self, run: Run) -> Result<Job> {
        let span = audit::command(&run, &self.name);
        let entered = span.clone().entered();
        let mut record = CommandRecord::begin();
        let begun = self.commanding(&entered, run.cancel.is_cancelled(), |commanding, policy| {
            commanding.start(&run, policy, &mut record)
        });
        let begun = begun.inspect_err(|error| record.failed(error))?;
        drop(entered);
        self.jobs.start(span, run, begun, record)
    }

    /// Runs a program in place of another: with the streams, the terminal and the directory of this
    /// process, and without a limit of time. A network that is to be denied is denied and protected
    /// places are held, or nothing is run.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn exec(&self, exec: &Exec) -> Result<Ending> {
        let run = Run::new("").tool("exec");
        let span = audit::command(&run, &self.name).entered();
        let mut record = CommandRecord::begin();
        let ending = self.commanding(&span, false, |commanding, policy| {
            commanding.exec(exec, &policy, &mut record)
        });
        match &ending {
            Ok(ending) => record.ended_as(*ending),
            Err(error) => record.failed(error),
        }
        ending
    }

    /// How a program would be run. Nothing is.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn explain(&self, exec: &Exec) -> Result<Explained> {
        let span = tracing::Span::none().entered();
        self.commanding(&span, false, |commanding, policy| commanding.explain(exec, &policy))
    }

    /// The job that is called `id`, from when it was started until the session ends.
    #[must_use]
    pub fn job(&self, id: &str) -> Option<Job> {
        self.jobs.get(id)
    }

    /// Hands on what a command is run with, and the policy of the moment.
    fn commanding<T>(
        &self,
        span: &tracing::Span,
        is_cancelled: bool,
        act: impl FnOnce(Commanding<'_>, Policy) -> Result<T>,
    ) -> Result<T> {
        if is_cancelled {
            return Err(commands::cancelled());
        }
        if !self.is_in_own_process() {
            return Err(Error::Forked);
        }
        let standing = self.service.standing()?;
        let mode = self.mode_under(&standing);
        audit::judged_under(span, mode);
        let policy = Policy::resolve(mode, self.areas(&standing)?)?;
        let person = self.person(&standing);
        act(Commanding { person, shell: &standing.shell }, policy)
    }

    /// The owner has seen a file of this version there.
    pub(crate) fn saw(&self, key: TargetKey, version: Version) {
        if self.is_in_own_process() {
            self.gate.saw(key, version);
        }
    }

    fn is_in_own_process(&self) -> bool {
        std::process::id() == self.process
    }

    /// Where the session may write under these settings, whatever they were when it was opened.
    fn areas(&self, standing: &Arc<Standing>) -> Result<Arc<Areas>> {
        let Some(own) = &self.own else { return Ok(Arc::clone(&standing.areas)) };
        let last = own.load_full();
        if Arc::ptr_eq(&last.0, standing) {
            return Ok(Arc::clone(&last.1));
        }
        let areas = standing.around(last.1.workspace())?;
        if !areas.is_around(&last.1) {
            return Err(Error::WorkspaceMoved { path: last.1.workspace().to_owned() });
        }
        own.store(Arc::new((Arc::clone(standing), Arc::clone(&areas))));
        Ok(areas)
    }

    /// The same for whoever only reads.
    fn last_areas(&self, standing: &Standing) -> Arc<Areas> {
        match &self.own {
            Some(own) => Arc::clone(&own.load().1),
            None => Arc::clone(&standing.areas),
        }
    }

    fn mode_under(&self, standing: &Standing) -> Mode {
        mode_after(&self.log.events(), standing)
    }

    fn approvals_under(&self, standing: &Standing) -> ApprovalPolicy {
        approvals_after(&self.log.events(), standing)
    }

    /// Tells what the last events of `log` that set something have in place of it.
    fn say_if_invalid(&self, log: &[Event]) {
        let mode = mode_override(log).and_then(|set| set.invalid);
        let approvals = approval_override(log).and_then(|set| set.invalid);
        for invalid in mode.iter().chain(&approvals) {
            audit::invalid_event(&self.name, invalid);
        }
    }
}

fn mode_after(log: &[Event], standing: &Standing) -> Mode {
    mode_override(log).map_or(standing.mode, |set| set.mode)
}

fn approvals_after(log: &[Event], standing: &Standing) -> ApprovalPolicy {
    approval_override(log).map_or(standing.approvals, |set| set.policy)
}

/// The policy of this one call. Nobody is asked for what would be refused anyway, so what was seen
/// of the file comes first.
fn escalated(
    person: Person<'_>,
    call: &Call,
    policy: Policy,
    texts: TextTerms<'_>,
) -> Result<Policy> {
    let Some(escalation) = &call.escalation else { return Ok(policy) };
    let asking = Asking {
        person,
        call: call.id.as_deref(),
        tool: call.tool.as_deref(),
        agent: call.agent,
        cancel: &call.cancel,
        subject: "operation",
    };
    let preflight = asking::preflight(&call.request, texts);
    asking.escalate(&policy, escalation, preflight)
}
