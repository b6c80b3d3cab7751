//! A command line, and what a caller says of it.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringfence_platform::Cancel;
use ringfence_platform::process::{Network, Stream};

use crate::call::Agent;
use crate::policy::Escalation;

/// A command line that is to be run with `bash`, and on what terms.
#[derive(Clone)]
#[must_use = "a command that is not run does nothing"]
pub struct Run {
    pub(crate) command: String,
    pub(crate) workdir: Option<PathBuf>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) tool: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) cancel: Cancel,
    pub(crate) agent: Agent,
    pub(crate) escalation: Option<Escalation>,
    pub(crate) listener: Option<Listener>,
}

/// Is told what a command writes, while it runs.
pub(crate) type Listener = Arc<dyn Fn(Stream, &[u8]) + Send + Sync>;

impl Run {
    /// A command line without anything further: in the workspace, for the agent of the session.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            workdir: None,
            timeout: None,
            env: Vec::new(),
            tool: None,
            id: None,
            cancel: Cancel::never(),
            agent: Agent::Own,
            escalation: None,
            listener: None,
        }
    }

    /// Where it begins: absolute, anywhere, or relative to the workspace.
    pub fn workdir(mut self, path: impl Into<PathBuf>) -> Self {
        self.workdir = Some(path.into());
        self
    }

    /// How long it may take. It is held to the most that
    /// [`ShellLimits`](crate::ShellLimits) allow, and is of no account in the background.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets a variable of its environment, whatever its name. One whose name begins with
    /// `RINGFENCE_` is not set.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
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

    /// Ends it, and all that it started, when the token is cancelled.
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Runs it for no agent: it can ask for nothing.
    pub fn agentless(mut self) -> Self {
        self.agent = Agent::None;
        self
    }

    /// Asks that it run in a wider mode.
    pub fn escalate(mut self, escalation: Escalation) -> Self {
        self.escalation = Some(escalation);
        self
    }

    /// Has `listener` told what it writes, piece by piece as it comes. It is called by the thread
    /// that waits, and while it is busy the command waits too once a pipe is full.
    pub fn listener(mut self, listener: impl Fn(Stream, &[u8]) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }
}

/// Shows neither the environment nor the command, which may hold secrets.
impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workdir, timeout, tool, id, .. } = self;
        f.debug_struct("Run")
            .field("workdir", workdir)
            .field("timeout", timeout)
            .field("tool", tool)
            .field("id", id)
            .finish_non_exhaustive()
    }
}

/// A program that is run in place of another, with the streams and the terminal of this process.
#[derive(Clone)]
#[must_use = "a program that is not run does nothing"]
pub struct Exec {
    pub(crate) argv: Vec<OsString>,
    pub(crate) network: Network,
}

impl Exec {
    /// A program and its arguments.
    pub fn new<T: Into<OsString>>(argv: impl IntoIterator<Item = T>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self { argv, network: Network::Shared }
    }

    /// Whether it has a network.
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }
}

/// Shows no argument, which may be a secret.
impl fmt::Debug for Exec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { argv, network } = self;
        f.debug_struct("Exec")
            .field("program", &argv.first())
            .field("network", network)
            .finish_non_exhaustive()
    }
}
