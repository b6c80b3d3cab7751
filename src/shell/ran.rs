//! What came of a command. Plain data.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ringfence_platform::process::{Ended, Held, Network, PassedOver, ShellGap};

use crate::mode::Mode;

/// What came of a command that was started, or would have been.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ran {
    /// The directory it began in, absolute.
    pub workdir: PathBuf,
    /// How it ended.
    pub ending: Ending,
    /// How long it might have taken at most; nothing in the background.
    pub timeout: Option<Duration>,
    /// What it wrote to its standard output.
    pub stdout: Output,
    /// What it wrote to its standard error.
    pub stderr: Output,
    /// What held it, and what that refused.
    pub sandbox: Sandbox,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Ending {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal, which nobody here had sent.
    Signalled(i32),
    /// It was ended because its time was over.
    TimedOut,
    /// It was ended because the caller cancelled it, or killed its job.
    Aborted,
    /// Nobody knows: another part of this process has taken its exit code.
    Unknown,
    /// It never began: the program cannot be executed.
    NotExecuted(io::ErrorKind),
}

/// What a command wrote to one stream.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// The end of it, or all of it. Whatever bytes they are.
    pub tail: Vec<u8>,
    /// How many bytes it wrote.
    pub total: u64,
    /// Where the rest is.
    pub spill: Spill,
}

/// Where all of an output is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Spill {
    /// In [`Output::tail`].
    #[default]
    None,
    /// In this file, which only this user may read and which goes with the session.
    File(PathBuf),
    /// The beginning in this file, which has reached its limit.
    Cut(PathBuf),
    /// Nowhere: no such file could be made.
    Lost,
}

/// What held a command, and what that refused.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Sandbox {
    /// The mode that it was run under.
    pub mode: Mode,
    /// The runner and its gaps; nothing under danger-full-access.
    pub held: Option<Held>,
    /// What was denied, as far as there is evidence.
    pub denied: Option<CommandDenial>,
    /// Its words may be those of a denial, and there is no evidence that they are.
    pub may_be_denied: bool,
}

/// A change that a command was refused.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CommandDenial {
    /// What it was to change; nothing if the kernel does not tell.
    pub path: Option<PathBuf>,
    /// How that is known.
    pub evidence: Evidence,
    /// The narrowest mode in which it would be allowed, if there is one.
    pub narrowest: Option<Mode>,
}

/// How it is known that a command was denied something, strongest first. `Display` gives its stable
/// token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
#[non_exhaustive]
pub enum Evidence {
    /// The kernel has recorded it for this command.
    KernelAudit,
    /// The command failed, says that a path was refused, and the policy denies that path while the
    /// rights of this user do not.
    PolicyReplay,
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::KernelAudit => "kernel_audit",
            Self::PolicyReplay => "policy_replay",
        })
    }
}

impl From<Ended> for Ending {
    fn from(how: Ended) -> Self {
        match how {
            Ended::Exited(code) => Self::Exited(code),
            Ended::Signalled(signal) => Self::Signalled(signal),
            Ended::Unknown | _ => Self::Unknown,
        }
    }
}

impl Sandbox {
    /// What is not held.
    #[must_use]
    pub fn gaps(&self) -> &[ShellGap] {
        match &self.held {
            Some(held) => &held.gaps,
            // All of it is meant not to be held; but that it ends with this process is not.
            None => &[ShellGap::Orphans],
        }
    }
}

impl Output {
    /// Whether [`tail`](Self::tail) is not all of it.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.total > self.tail.len() as u64
    }
}

/// How a command would be run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explained {
    /// The mode.
    pub mode: Mode,
    /// The runner and its gaps; nothing under danger-full-access.
    pub held: Option<Held>,
    /// The runners that come before it and were not taken.
    pub passed_over: Vec<PassedOver>,
    /// Beneath which directories it could change files; everywhere under danger-full-access.
    pub roots: Vec<PathBuf>,
    /// What it could not change all the same.
    pub protected: Vec<PathBuf>,
    /// Whether it would have a network.
    pub network: Network,
}
