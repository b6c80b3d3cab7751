//! What a runner holds, and what it does not.

use super::command::Network;

/// What confines a command. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Runner {
    /// A Landlock domain, landlock(7), which a thread enters before it starts the command.
    Landlock,
    /// bubblewrap: mounts and namespaces.
    Bwrap,
    /// `sandbox-exec` of macOS.
    Seatbelt,
}

/// How fully a command is held to its mode, weakest first. `Display` gives its stable token.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Eq,
    PartialEq,
    Ord,
    PartialOrd,
    Hash,
    strum::Display,
    strum::EnumString,
)]
#[strum(serialize_all = "snake_case")]
pub enum ShellEnforcement {
    /// But for the gaps that are named.
    #[default]
    Partial,
    /// Every change of files by any process of the command.
    Full,
}

/// What a runner does not hold. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ShellGap {
    /// Mode, owner, times and extended attributes of files elsewhere can be changed: Landlock does
    /// not mediate that.
    Metadata,
    /// Files elsewhere can be truncated (before Linux 6.2).
    Truncate,
    /// Devices can be controlled (before Linux 6.10).
    DeviceIoctl,
    /// Protected subpaths were asked for.
    ProtectedSubpaths,
    /// That there is no network was asked for, and not all of it can be taken away.
    Network,
    /// Processes of the command may outlive it, or this process when that is killed.
    Orphans,
    /// On the file system of a root it could not be seen whether the runner is effective.
    Unproved,
}

/// Which runner holds a command, and how fully.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Held {
    /// Which.
    pub runner: Runner,
    /// What it does not hold, in the order of [`ShellGap`]'s variants.
    pub gaps: Vec<ShellGap>,
    /// What is not its matter. That is no gap, and makes nothing partial.
    pub not_covered: Vec<NotCovered>,
}

/// What a runner is not for. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum NotCovered {
    /// What a command sends and receives, unless its network was asked to be denied.
    Network,
    /// What it reads.
    Reads,
    /// What other processes do because it asks them to: a service, a job manager.
    OtherProcesses,
    /// How much it takes of processor, memory and disk.
    Resources,
}

impl NotCovered {
    pub(super) fn under(network: Network) -> Vec<Self> {
        let network = (network == Network::Shared).then_some(Self::Network);
        network.into_iter().chain([Self::Reads, Self::OtherProcesses, Self::Resources]).collect()
    }
}

impl Held {
    /// How fully.
    pub fn enforcement(&self) -> ShellEnforcement {
        if self.gaps.is_empty() { ShellEnforcement::Full } else { ShellEnforcement::Partial }
    }
}

/// What keeps a runner from being taken. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// It is not installed.
    NotInstalled,
    /// The kernel does not know its calls.
    NotInKernel,
    /// The kernel has it, and it was not switched on at boot.
    NotEnabled,
    /// Its calls are forbidden, as by a filter, seccomp(2).
    Forbidden,
    /// It could not be set up.
    NotSetUp,
    /// It was set up, and a command was not seen to be held.
    NotEffective,
    /// It does not hold all that is asked for.
    TooWeak,
    /// It is another system's.
    OtherSystem,
}

/// A runner that cannot be used on this host.
#[derive(Debug)]
pub(super) struct Unusable {
    pub(super) cause: Cause,
    pub(super) why: String,
}

impl Unusable {
    pub(super) fn new(cause: Cause, why: impl ToString) -> Self {
        Self { cause, why: why.to_string() }
    }
}

/// A runner that was not taken, and why.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{runner}: {why}")]
#[non_exhaustive]
pub struct PassedOver {
    /// Which.
    pub runner: Runner,
    /// What kept it from that.
    pub cause: Cause,
    /// Why, in a few words for people.
    pub why: String,
}

/// There is no runner that can hold a command as is required.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no runner can hold the command: {}", spelled(.0))]
pub struct NoRunner(pub Vec<PassedOver>);

fn spelled(passed_over: &[PassedOver]) -> String {
    if passed_over.is_empty() {
        return "this system has none".to_owned();
    }
    passed_over.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The release of the kernel, uname(2), to be shown.
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
