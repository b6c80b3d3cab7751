//! The runner that needs no other program: a thread enters a Landlock domain, landlock(7), and
//! starts the command, which inherits it.

use std::io;
use std::sync::Arc;

use ::landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    RestrictSelfError, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::io::Errno;

use super::begin::{on_a_thread, start_behind_gate};
use super::child::Child;
use super::command::{Command, Network, Restrictions, SAFE_DEVICES, Streams};
use super::domain::Domain;
use super::plan::SpawnError;
use super::records::{self, Records};
use super::report::{Cause, ShellGap, Unusable};
use super::supervisor::{Supervisor, scope_signals};
use super::tree::{Mark, Tree};
use crate::roots::Roots;

/// From where on the kernel has control of TCP, of devices and of signals, holds truncation, and
/// records what it denies.
const TRUNCATE: i32 = 3;
const NETWORK: i32 = 4;
const DEVICE_IOCTL: i32 = 5;
const SCOPES: i32 = 6;
const RECORDS: i32 = 7;

/// What this kernel has of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landlock {
    /// The newest version that is known here.
    abi: ABI,
    /// The version of the kernel.
    version: i32,
    /// Whether a domain holds signals within it, which was seen.
    scoped: bool,
    /// Whether what a domain denies is recorded, and can be read.
    recorded: bool,
}

/// What the kernel records of a domain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Log {
    Nothing,
    /// What is denied to the command, but for signals.
    Denials,
}

impl Landlock {
    /// Asks the kernel. That a domain over files is effective is for the caller to see.
    ///
    /// # Errors
    ///
    /// If it has none.
    pub(super) fn find() -> Result<Self, Unusable> {
        // Only a thread that was restricted is told.
        let asked = on_a_thread(|| {
            let ruleset = Ruleset::default();
            // The ruleset has asked for the version. Its status does not tell a refusal from a
            // kernel that does not know the call.
            let answer = Errno::from_io_error(&io::Error::last_os_error());
            let files = ruleset.handle_access(AccessFs::from_write(ABI::V1));
            let status = files.and_then(Ruleset::create).and_then(RulesetCreated::restrict_self);
            status.map(|status| (status.landlock, answer)).map_err(not_entered)
        });
        let (status, answer) = asked.map_err(|why| Unusable::new(Cause::NotSetUp, why))?;
        let lacks = |cause, why| Err(Unusable::new(cause, why));
        let (abi, version) = match status {
            LandlockStatus::Available { effective_abi, kernel_abi } => {
                (effective_abi, kernel_abi.unwrap_or(effective_abi as i32))
            }
            LandlockStatus::NotEnabled => {
                return lacks(Cause::NotEnabled, "landlock is not enabled");
            }
            LandlockStatus::NotImplemented
                if matches!(answer, Some(Errno::PERM | Errno::ACCESS)) =>
            {
                return lacks(Cause::Forbidden, "landlock is forbidden");
            }
            LandlockStatus::NotImplemented => {
                return lacks(Cause::NotInKernel, "the kernel has no landlock");
            }
        };
        let scoped = version >= SCOPES && Supervisor::get().is_ok();
        let recorded = scoped && version >= RECORDS && records::are_readable();
        Ok(Self { abi, version, scoped, recorded })
    }

    /// What a domain under `restrictions` does not hold.
    pub(super) fn gaps(self, restrictions: &Restrictions) -> Vec<ShellGap> {
        let gaps = [
            (true, ShellGap::Metadata),
            (self.version < TRUNCATE, ShellGap::Truncate),
            (self.version < DEVICE_IOCTL, ShellGap::DeviceIoctl),
            (!restrictions.protected().is_empty(), ShellGap::ProtectedSubpaths),
            // It holds TCP, and of UDP some from ABI 10 on; there is more.
            (restrictions.network == Network::Denied, ShellGap::Network),
            (!self.scoped, ShellGap::Orphans),
        ];
        gaps.into_iter().filter_map(|(is_open, gap)| is_open.then_some(gap)).collect()
    }

    /// Starts `command` in a domain of its own.
    pub(super) fn spawn(
        self,
        mut command: Command,
        restrictions: Restrictions,
    ) -> Result<Child, SpawnError> {
        let mark = Mark::of(&mut command);
        if !self.scoped {
            let restrict = move || self.restrict(&restrictions, Log::Nothing);
            let begin = move || restrict().map(|()| start_behind_gate(&command));
            // The gate opens when the thread is gone.
            let started = on_a_thread(begin).map_err(SpawnError::Runner)?;
            let (started, _gate) = started.map_err(SpawnError::Program)?;
            return started.marked(mark);
        }
        let supervisor = Supervisor::get().map_err(SpawnError::Runner)?;
        let prover = Arc::clone(&supervisor);
        let is_recorded = self.recorded && command.streams == Streams::Captured;
        let records = if is_recorded { Records::open().ok() } else { None };
        let log = if records.is_some() { Log::Denials } else { Log::Nothing };
        let begin = move || {
            self.restrict(&restrictions, log)?;
            let mark = if log == Log::Denials { records::make_mark().ok() } else { None };
            Ok((start_behind_gate(&command), mark))
        };
        // The thread that stays is in a domain around the command's: it reaches the command, which
        // does not reach it. The one that has entered the command's own is gone before that begins.
        let enter = move || {
            scope_signals(Scope::Signal.into())?;
            prover.prove_scoped()?;
            on_a_thread(begin)
        };
        let opened = Domain::open(&supervisor, enter).map_err(SpawnError::Runner)?;
        let (domain, (started, mark)) = opened;
        let (started, _gate) = started.map_err(SpawnError::Program)?;
        let child = started.child(Tree::Domain(domain))?;
        Ok(child.recorded(records.zip(mark).map(|(records, mark)| records.of(mark))))
    }

    /// Gives up, on this thread and for good, every right to change files that this kernel knows,
    /// but beneath the roots.
    fn restrict(self, restrictions: &Restrictions, log: Log) -> io::Result<()> {
        let (rights, of_files) = (AccessFs::from_write(self.abi), AccessFs::from_file(self.abi));
        let restricted = || -> Result<RulesetStatus, RulesetError> {
            let strict = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
            let mut ruleset = strict.handle_access(rights)?;
            if self.version >= SCOPES && log == Log::Nothing {
                ruleset = ruleset.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
            }
            if restrictions.network == Network::Denied && self.version >= NETWORK {
                ruleset = ruleset.handle_access(AccessNet::from_all(self.abi))?;
            }
            let mut ruleset = ruleset.create()?;
            for root in restrictions.roots.iter().flat_map(Roots::iter) {
                ruleset = ruleset.add_rule(PathBeneath::new(&root.dir, rights))?;
            }
            for device in SAFE_DEVICES {
                // One that the host does not have is not granted.
                if let Ok(device) = PathFd::new(device) {
                    ruleset = ruleset.add_rule(PathBeneath::new(device, rights & of_files))?;
                }
            }
            if log == Log::Denials {
                ruleset = ruleset.log_new_exec(true)?;
            } else if self.version >= RECORDS {
                ruleset = ruleset.log_same_exec(false)?;
            }
            Ok(ruleset.restrict_self()?.ruleset)
        };
        match restricted() {
            // A signal to all is denied for each process that there is, which nobody needs to read.
            // What is denied goes on the account of the inner domain that denies it.
            Ok(RulesetStatus::FullyEnforced) if log == Log::Denials => {
                scope_signals(Scope::AbstractUnixSocket | Scope::Signal)
            }
            Ok(RulesetStatus::FullyEnforced) => Ok(()),
            Ok(RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced) => {
                Err(lacks("landlock does not hold all that it knows"))
            }
            Err(error) => Err(not_entered(error)),
        }
    }
}

/// Why a domain was not entered. The kernel lets a thread be in sixteen at most, landlock(7): that
/// is told in words.
pub(super) fn not_entered(error: RulesetError) -> io::Error {
    if let RulesetError::RestrictSelf(RestrictSelfError::RestrictSelfCall { source, .. }) = &error
        && source.kind() == io::ErrorKind::ArgumentListTooLong
    {
        return lacks("the sixteen layers of landlock that there can be are used up");
    }
    io::Error::other(error)
}

fn lacks(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}
