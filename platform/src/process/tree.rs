//! All processes of a command, and how a signal reaches each of them.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal};

use super::child::Ended;
use super::command::Command;
use super::descent;
use super::domain::Domain;
use super::namespace::Namespace;

/// By what the processes of a command are known.
#[derive(Debug)]
pub(super) enum Tree {
    /// A Landlock domain whose members can signal each other and nobody else.
    Domain(Domain),
    /// A PID namespace, which ends with its first process.
    Namespace(Namespace),
    /// They descend from this process, or have this mark in their environment. One that has neither
    /// is missed.
    Marked(Pid, Mark),
}

/// What is in the environment of every process of a command that keeps what it was given.
#[derive(Debug)]
pub(super) struct Mark(pub(super) String);

impl Mark {
    const NAME: &str = "RINGFENCE_RUN";

    /// Marks a command.
    pub(super) fn of(command: &mut Command) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let value = format!("{}-{number}", std::process::id());
        command.env.retain(|(name, _)| name != Self::NAME);
        command.env.push((Self::NAME.into(), value.clone().into()));
        Self(format!("{}={value}", Self::NAME))
    }
}

impl Tree {
    pub(super) fn signal(&self, signal: Signal) {
        match self {
            Self::Domain(domain) => domain.signal(signal),
            Self::Namespace(namespace) => namespace.signal(signal),
            Self::Marked(first, mark) if signal == Signal::KILL => {
                descent::kill_all(*first, mark);
            }
            Self::Marked(first, mark) => descent::signal_once(*first, mark, signal),
        }
    }

    /// How the command has ended, of which its own process may have told less.
    pub(super) fn understood(&self, ended: Ended) -> Ended {
        match self {
            Self::Namespace(namespace) => namespace.understood(ended),
            Self::Domain(_) | Self::Marked(..) => ended,
        }
    }
}
