//! The Landlock domain: the acting thread gives up the right to change files anywhere but beneath
//! the roots, landlock(7).

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use ::landlock::{
    ABI, AccessFs, CompatLevel, Compatible, LandlockStatus, PathBeneath, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
};

use super::mounts;
use super::worker::Worker;
use crate::assurance::{Assurance, Enforcement, Gap, Resolution};
use crate::dir::Dir;
use crate::error::{ErrorKind, Fault, Result};
use crate::mutation::{Mutation, Receipt, Terms};
use crate::roots::Roots;

/// Every right to change files as of Linux 6.2: with less, a rename across directories or a
/// truncation would be refused, or not be held.
const RIGHTS: ABI = ABI::V3;

/// What an unrestricted thread may open for writing and the confined one must not.
const PROBE: &str = "/dev/null";

/// Starts a thread that can change files beneath `roots` and nowhere else, to `act` there, and adds
/// to `assurance` what that is worth.
pub(crate) fn landlock(
    roots: &Roots,
    assurance: &mut Assurance,
    act: impl Fn(Mutation, &Terms, Enforcement) -> Result<Receipt> + Send + 'static,
) -> Result<Worker> {
    let telling = is_telling(roots);
    assurance.gaps.extend(mounts::gap(roots));
    assurance.gaps.extend((!telling).then_some(Gap::Unproved));
    if assurance.gaps.is_empty() && assurance.resolution == Resolution::Openat2 {
        assurance.level = Enforcement::Confined;
    }
    let setup = {
        let roots = roots.clone();
        move || restrict(&roots).and_then(|()| if telling { prove() } else { Ok(()) })
    };
    let level = assurance.level;
    let act = move |mutation, terms: &Terms| act(mutation, terms, level);
    Worker::start(setup, act).map_err(|source| {
        let path = roots.iter().next().map_or(Path::new(""), |root| root.path());
        let fault = Fault { source: Some(source), ..Fault::new(ErrorKind::TooWeak) };
        fault.at("confine with landlock", path)
    })
}

/// Whether the probe can tell a confined thread from one that is not: this thread, which is
/// unrestricted, may write there, and no root covers it.
fn is_telling(roots: &Roots) -> bool {
    let outside = |dir: Dir| roots.iter().all(|root| matches!(dir.is_beneath(root.id), Ok(false)));
    let dir = Path::new(PROBE).parent().unwrap_or(Path::new("/"));
    open_probe().is_ok() && Dir::open_ambient(dir).is_ok_and(outside)
}

fn open_probe() -> io::Result<File> {
    OpenOptions::new().write(true).open(PROBE)
}

/// Gives up, on this thread and for good, the right to change files anywhere but beneath `roots`.
fn restrict(roots: &Roots) -> io::Result<()> {
    let rights = AccessFs::from_write(RIGHTS);
    let restricted = || -> Result<RestrictionStatus, RulesetError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(rights)?
            .create()?;
        for root in roots.iter() {
            ruleset = ruleset.add_rule(PathBeneath::new(&root.dir, rights))?;
        }
        ruleset.restrict_self()
    };
    let status = restricted().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs {
        Ok(())
    } else {
        Err(io::Error::other("landlock is not fully enforced"))
    }
}

/// What the kernel says of its Landlock. For people: a fence does not go by what is said, but by
/// what it has seen refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum LandlockSupport {
    /// The version of its interface; a confined fence needs 3 (Linux 6.2).
    Abi(i32),
    /// It is built in and not switched on: it is missing in the boot parameter `lsm=`.
    NotEnabled,
    /// It is not built in, or a filter hides it.
    NotImplemented,
}

/// Asks the kernel about its Landlock.
///
/// # Errors
///
/// The system's, if it answers in no way that is known.
pub fn landlock_support() -> io::Result<LandlockSupport> {
    let ask = || -> Result<RestrictionStatus, RulesetError> {
        Ruleset::default().handle_access(AccessFs::WriteFile)?.create()?.restrict_self()
    };
    // Whoever asks is restricted by it, so a thread does that has nothing else to do.
    let answer = std::thread::spawn(ask).join().map_err(|_| io::Error::other("it panicked"))?;
    Ok(match answer.map_err(io::Error::other)?.landlock {
        LandlockStatus::NotEnabled => LandlockSupport::NotEnabled,
        LandlockStatus::NotImplemented => LandlockSupport::NotImplemented,
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            LandlockSupport::Abi(kernel_abi.unwrap_or(effective_abi as i32))
        }
    })
}

/// Sees the kernel refuse. Called on the restricted thread.
fn prove() -> io::Result<()> {
    match open_probe() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        _ => Err(io::Error::other("landlock accepted the domain and does not hold it")),
    }
}
