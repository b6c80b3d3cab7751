//! Starts a command and judges its end: the policy says what it may change, a person perhaps that
//! it may change more, and a runner holds it to that.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringfence_platform::process::{
    Command, Happened, Held, Network, Plan, SpawnError, SpillFile, Streams, Workdir,
};
use ringfence_platform::{Cancel, ErrorKind, Root, RootedPath, Roots};

use crate::aiming::needed;
use crate::asking::{Asking, Person, Sought};
use crate::audit::CommandRecord;
use crate::error::{Error, Result};
use crate::lexical;
use crate::policy::{Bounds, Confining, Policy, Subject};
use crate::request::Op;
use crate::shell::{
    Ending, Environment, Exec, Explained, Job, Judgement, Ran, Run, Sandbox, Shell, Started,
    Written,
};

/// The program that runs command lines.
const BASH: &str = "bash";

/// What commands are run with, and for whom.
#[derive(Debug)]
pub(crate) struct Commanding<'a> {
    pub(crate) person: Person<'a>,
    pub(crate) shell: &'a Shell,
}

/// A command that was started, or could not be executed though everything else was right.
#[derive(Debug)]
pub(crate) struct Begun {
    started: Result<Started, io::ErrorKind>,
    /// How long it may take; nothing in the background.
    timeout: Option<Duration>,
    policy: Policy,
    held: Option<Held>,
    workdir: PathBuf,
    written: Arc<Written>,
}

impl Commanding<'_> {
    /// Starts a command that is waited for.
    pub(crate) fn run(
        &self,
        run: &Run,
        policy: Policy,
        record: &mut CommandRecord,
    ) -> Result<Begun> {
        let limits = self.shell.limits;
        let timeout = run.timeout.unwrap_or(limits.timeout).min(limits.max_timeout);
        self.begin(run, Some(timeout), run.cancel.clone(), policy, record)
    }

    /// Starts a command that nobody waits for.
    pub(crate) fn start(
        &self,
        run: &Run,
        policy: Policy,
        record: &mut CommandRecord,
    ) -> Result<Begun> {
        self.begin(run, None, Cancel::new(), policy, record)
    }

    fn begin(
        &self,
        run: &Run,
        timeout: Option<Duration>,
        cancel: Cancel,
        policy: Policy,
        record: &mut CommandRecord,
    ) -> Result<Begun> {
        let workdir = enter(policy.workspace(), run.workdir.as_deref().unwrap_or(Path::new(".")))?;
        let policy = self.escalated(run, policy, &workdir)?;
        let grant = policy.grant_command()?;
        record.decided(&policy);
        let mut command = Command::new(BASH, workdir.clone());
        command.arguments = ["-c", &run.command].map(OsString::from).into();
        let ambient = Environment::scrubbed(std::env::vars_os()).unattended();
        command.env = ambient.with(run.env.iter().cloned()).told(policy.mode().as_str());
        if run.cancel.is_cancelled() {
            return Err(failed(workdir.path(), ErrorKind::Cancelled));
        }
        let plan = grant.plan(command, self.shell.confining(Network::Shared))?;
        let held = plan.held().cloned();
        record.started(held.as_ref(), plan.passed_over());
        let limits = self.shell.limits;
        let started = match spawn(plan)? {
            Ok(child) => {
                let deadline = timeout.map(|timeout| Instant::now() + timeout);
                Ok(Started { child, limits, deadline, cancel })
            }
            Err(kind) => Err(kind),
        };
        let written = Arc::new(Written::new(limits, &places(policy.workspace())));
        let workdir = workdir.path().to_owned();
        Ok(Begun { started, timeout, policy, held, workdir, written })
    }

    /// The policy of this one command. Nobody is asked for one that could not begin anyway, and it
    /// begins in the directory that was shown or not at all.
    fn escalated(&self, run: &Run, policy: Policy, workdir: &Workdir) -> Result<Policy> {
        let Some(escalation) = &run.escalation else { return Ok(policy) };
        let (person, agent, cancel) = (self.person, run.agent, &run.cancel);
        let (call, tool) = (run.id.as_deref(), run.tool.as_deref());
        let asking = Asking { person, call, tool, agent, cancel, subject: "command" };
        let sought = |_: &Bounds| {
            let (command, workdir) = (run.command.clone(), workdir.path().to_owned());
            Ok(Sought { subject: Subject::Command { command, workdir }, diff: None })
        };
        let place = || Root::open(workdir.path()).ok().map(|root| root.path().to_owned());
        let shown = place();
        let policy = asking.escalate(&policy, escalation, Some(sought))?;
        if workdir.is_there() && place() == shown {
            Ok(policy)
        } else {
            Err(failed(workdir.path(), ErrorKind::Stale))
        }
    }

    /// Runs a program in place of another, and gives how it ended.
    pub(crate) fn exec(
        &self,
        exec: &Exec,
        policy: &Policy,
        record: &mut CommandRecord,
    ) -> Result<Ending> {
        let grant = policy.grant_command()?;
        record.decided(policy);
        // Who runs it has asked for that now, and is told in no other way that it is not held.
        let confining = Confining { strict: true, ..self.shell.confining(exec.network) };
        let plan = grant.plan(program(exec, policy)?, confining)?;
        record.started(plan.held(), plan.passed_over());
        let mut child = match spawn(plan)? {
            Ok(child) => child,
            Err(kind) => return Ok(Ending::NotExecuted(kind)),
        };
        loop {
            match child.next(None) {
                Ok(Happened::Ended(how)) => return Ok(how.into()),
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "a command cannot be waited for");
                    return Ok(Ending::Unknown);
                }
            }
        }
    }

    /// How a program would be run. Nothing is.
    pub(crate) fn explain(&self, exec: &Exec, policy: &Policy) -> Result<Explained> {
        let grant = policy.grant_command()?;
        // Which program it is makes no difference.
        let argv = if exec.argv.is_empty() { vec![BASH.into()] } else { exec.argv.clone() };
        let program = program(&Exec { argv, ..exec.clone() }, policy)?;
        let plan = grant.plan(program, self.shell.confining(exec.network))?;
        let roots = || policy.roots().into_iter().flat_map(|roots| roots.iter());
        let places = policy.roots().map_or(&[][..], Roots::protected);
        let place = |place: &RootedPath| {
            let root = roots().find(|root| root.id() == place.root);
            root.map(|root| root.path().join(place.path.as_path()))
        };
        Ok(Explained {
            mode: policy.mode(),
            held: plan.held().cloned(),
            passed_over: plan.passed_over().to_vec(),
            roots: roots().map(|root| root.path().to_owned()).collect(),
            protected: places.iter().filter_map(place).collect(),
            network: exec.network,
        })
    }
}

impl Begun {
    /// What is done with it from elsewhere, as a job of that name.
    pub(crate) fn job(&self, id: String) -> Job {
        let running = self.started.as_ref().ok();
        let (cancel, killer) = match running {
            Some(Started { child, cancel, .. }) => (cancel.clone(), Some(child.killer())),
            None => (Cancel::never(), None),
        };
        Job::new(id, cancel, killer, Arc::clone(&self.written))
    }

    /// Waits for its end, and judges it. The files are those that its output is in.
    pub(crate) fn end(self, run: &Run, record: &mut CommandRecord) -> (Ran, Vec<SpillFile>) {
        let Self { started, timeout, policy, held, workdir, written } = self;
        let (ending, denials) = match started {
            Err(kind) => (Ending::NotExecuted(kind), Vec::new()),
            Ok(started) => started.wait(&written, run.listener.as_ref()).unwrap_or_else(|error| {
                tracing::debug!(%error, "a command cannot be waited for");
                (Ending::Unknown, Vec::new())
            }),
        };
        let ([stdout, stderr], files) = written.end();
        let recorded: Vec<_> = denials.into_iter().map(|denial| denial.path).collect();
        let needs = |path: &Path| needed(policy.bounds(), Op::Write, path);
        let mode = policy.mode();
        let judgement = Judgement { workdir: &workdir, mode, needs: &needs };
        let judged = judgement.judge(ending, &stderr.tail, &recorded);
        let (denied, may_be_denied) = (judged.denied, judged.may_be_denied);
        let sandbox = Sandbox { mode, held, denied, may_be_denied };
        let ran = Ran { workdir, ending, timeout, stdout, stderr, sandbox };
        record.ended(&ran);
        (ran, files)
    }
}

/// Starts what was planned. The inner error says why the program cannot be executed; that is no
/// fault of the runner.
fn spawn(plan: Plan) -> Result<Result<ringfence_platform::process::Child, io::ErrorKind>> {
    match plan.spawn() {
        Ok(child) => Ok(Ok(child)),
        Err(SpawnError::Program(source)) => Ok(Err(source.kind())),
        Err(SpawnError::Runner(source)) => Err(Error::RunnerFailed { source }),
        Err(error) => Err(Error::RunnerFailed { source: io::Error::other(error) }),
    }
}

/// Opens the directory that a command begins in.
fn enter(workspace: &Path, raw: &Path) -> Result<Workdir> {
    let shown = lexical::shown(Op::Run, workspace, raw)?;
    Workdir::open(&shown).map_err(|error| {
        let (op, kind) = (Op::Run, error.kind());
        Error::Failed { op, path: shown, kind, source: Some(error) }
    })
}

/// What is run in place of another program: where that would be, in its environment.
fn program(exec: &Exec, policy: &Policy) -> Result<Command> {
    let mut argv = exec.argv.iter().cloned();
    let here = std::env::current_dir();
    let here = here.map_err(|_| failed(Path::new("."), ErrorKind::NotFound))?;
    let program = argv.next().ok_or_else(|| failed(Path::new(""), ErrorKind::InvalidPath))?;
    let mut command = Command::new(program, enter(&here, Path::new("."))?);
    command.arguments = argv.collect();
    command.env = Environment::scrubbed(std::env::vars_os()).told(policy.mode().as_str());
    command.streams = Streams::Inherited;
    Ok(command)
}

/// Where files for output may be made: in a directory of this user, and never in the workspace.
fn places(workspace: &Path) -> Vec<PathBuf> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let candidates = own.into_iter().chain([std::env::temp_dir()]);
    let is_outside = |place: &PathBuf| {
        let found = Root::open(workspace).and_then(|ws| ws.contains(&Root::open(place)?));
        place.is_absolute() && matches!(found, Ok(false))
    };
    candidates.filter(is_outside).collect()
}

/// What it means that nobody wants the command any more before anything was looked at.
pub(crate) fn cancelled() -> Error {
    failed(Path::new("."), ErrorKind::Cancelled)
}

fn failed(path: &Path, kind: ErrorKind) -> Error {
    Error::Failed { op: Op::Run, path: path.to_owned(), kind, source: None }
}
