//! The policy in force, in full: what is set, where it lets be written, and what holds it.

use std::fmt;
use std::path::{Path, PathBuf};

use ringfence_platform::process::{
    Held, Network, PassedOver, Runner, SAFE_DEVICES, ShellEnforcement, ShellGap,
};
use ringfence_platform::{Assurance, Durability, Enforcement, TargetKey};

use crate::approvals::ApprovalPolicy;
use crate::error::Result;
use crate::mode::Mode;
use crate::policy::{Areas, Policy, Set, ShellLimits, Surveyed};
use crate::service::Standing;

/// Everything that a call and a command are held to, at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EffectivePolicy {
    /// The mode.
    pub mode: Mode,
    /// What becomes of a question whether one call may run in a wider mode.
    pub approvals: ApprovalPolicy,
    /// The directory that relative paths are taken against.
    pub workspace: PathBuf,
    /// The directories that workspace-write may write beneath, whatever the mode is, the workspace
    /// first.
    pub areas: Vec<Area>,
    /// What workspace-write leaves as it is.
    pub protected: Vec<ProtectedPlace>,
    /// The weakest boundary that is accepted for workspace-write.
    pub required: Enforcement,
    /// What the boundary of workspace-write was seen to hold; nothing if there is none here.
    pub proven: Option<Assurance>,
    /// What a change syncs.
    pub durability: Durability,
    /// The most bytes of a file that is taken as one text.
    pub max_text_bytes: u64,
    /// What holds for commands alone.
    pub commands: CommandPolicy,
}

/// A directory that workspace-write may write beneath.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Area {
    /// Where it was when it was opened.
    pub path: PathBuf,
    /// Which directory it is. One that has taken its place since has another.
    pub identity: TargetKey,
    /// What it is there for.
    pub role: AreaRole,
    /// The other that it lies in, which is the writable root then.
    pub within: Option<PathBuf>,
}

/// What a writable directory is there for. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum AreaRole {
    /// The work.
    Workspace,
    /// Temporary files.
    Temp,
}

impl fmt::Display for AreaRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Workspace => "workspace",
            Self::Temp => "temp",
        })
    }
}

/// A place that workspace-write leaves as it is.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ProtectedPlace {
    /// Where.
    pub path: PathBuf,
    /// Whether anything is there. Where nothing is, no call lets anything come to be; a command is
    /// not kept from it.
    pub is_there: bool,
}

/// What holds for commands, beside what holds for calls.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandPolicy {
    /// How fully a command must be held.
    pub required: ShellEnforcement,
    /// Whether permissions, owners and times of files elsewhere are asked to be held.
    pub protect_metadata: bool,
    /// How long one may take, and how much it may write.
    pub limits: ShellLimits,
    /// What one may write to in every mode.
    pub devices: Vec<PathBuf>,
    /// What each runner of this host would hold one to, in the usual order, or why it cannot. None
    /// under danger-full-access, which confines no command.
    pub runners: Vec<Result<RunnerSet, PassedOver>>,
    /// Which one is taken; nothing if none is, and then no command is run but under
    /// danger-full-access.
    pub taken: Option<Runner>,
}

/// The writable set as one runner gets it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RunnerSet {
    /// The runner, what it does not hold, and what is not its matter.
    pub held: Held,
    /// Beneath which directories a command can change files.
    pub roots: Vec<PathBuf>,
    /// What beneath them it can only read. None where the runner does not hold that, and nothing of
    /// what is missing.
    pub read_only: Vec<PathBuf>,
}

impl EffectivePolicy {
    pub(crate) fn of(
        policy: &Policy,
        areas: &Areas,
        approvals: ApprovalPolicy,
        standing: &Standing,
    ) -> Result<Self> {
        let set = areas.last_seen();
        let protected = areas.protected();
        let protected: Vec<_> =
            protected.map(|(path, is_there)| ProtectedPlace { path, is_there }).collect();
        let fence = areas.fence(&set).ok();
        Ok(Self {
            mode: policy.mode(),
            approvals,
            workspace: policy.workspace().to_owned(),
            areas: listed(&set),
            required: standing.required.at_least,
            proven: fence.map(|fence| fence.assurance().clone()),
            durability: standing.durability,
            max_text_bytes: standing.max_text_bytes,
            commands: CommandPolicy::of(policy, &protected, standing)?,
            protected,
        })
    }
}

impl CommandPolicy {
    fn of(policy: &Policy, protected: &[ProtectedPlace], standing: &Standing) -> Result<Self> {
        let confining = standing.shell.confining(Network::Shared);
        let surveyed = policy.grant_command()?.survey(confining);
        let Surveyed { runners, taken } =
            surveyed.unwrap_or(Surveyed { runners: Vec::new(), taken: None });
        let roots = policy.roots().into_iter().flat_map(|roots| roots.iter());
        let roots: Vec<_> = roots.map(|root| root.path().to_owned()).collect();
        let set = |held: Held| {
            let holds = !roots.is_empty() && !held.gaps.contains(&ShellGap::ProtectedSubpaths);
            let kept = protected.iter().filter(|place| holds && place.is_there);
            let read_only = kept.map(|place| place.path.clone()).collect();
            RunnerSet { held, roots: roots.clone(), read_only }
        };
        Ok(Self {
            required: confining.required,
            protect_metadata: confining.metadata,
            limits: standing.shell.limits,
            devices: SAFE_DEVICES.map(PathBuf::from).into(),
            runners: runners.into_iter().map(|runner| runner.map(set)).collect(),
            taken,
        })
    }
}

fn listed(set: &Set) -> Vec<Area> {
    let within = |path: &Path, key: &TargetKey| {
        let above = set.roots.iter().find(|root| path.starts_with(root.path()))?;
        (above.key() != *key).then(|| above.path().to_owned())
    };
    let roles = std::iter::once(AreaRole::Workspace).chain(std::iter::repeat(AreaRole::Temp));
    let areas = set.places().zip(roles).map(|((path, key), role)| Area {
        path: path.to_owned(),
        identity: key.clone(),
        role,
        within: within(path, key),
    });
    areas.collect()
}
