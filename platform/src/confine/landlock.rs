//! The Landlock domain: the acting thread gives up the right to change files anywhere but beneath
//! the roots, landlock(7).

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use ::landlock::{
    ABI, AccessFs, LandlockStatus, PathBeneath, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus,
};

use super::mounts;
use super::worker::{Act, Worker};
use crate::assurance::{Assurance, Enforcement, Gap, Resolution};
use crate::dir::Dir;
use crate::error::{Fault, Result};
use crate::roots::Roots;

/// Every right to change files as of Linux 6.2: with less, a rename across directories or a
/// truncation would be refused, or not be held.
const RIGHTS: ABI = ABI::V3;

/// What an unrestricted thread may open for writing and the confined one must not.
const PROBE: &str = "/dev/null";

/// Adds to `assurance` what a domain over `roots` is worth, if the kernel holds it.
pub(crate) fn assess(roots: &Roots, assurance: &mut Assurance) {
    assurance.gaps.extend(mounts::gap(roots));
    assurance.gaps.extend((!is_telling(roots)).then_some(Gap::Unproved));
    if assurance.gaps.is_empty() && assurance.resolution == Resolution::Openat2 {
        assurance.level = Enforcement::Confined;
    }
}

/// Starts a thread that can change files beneath `roots` and nowhere else, to `act` there.
pub(crate) fn landlock(roots: &Roots, assurance: &mut Assurance, act: Act) -> Result<Worker> {
    let (held, provable) = (roots.clone(), !assurance.gaps.contains(&Gap::Unproved));
    let setup = move || {
        let abi = restrict(&held)?;
        if provable { prove() } else { Ok(()) }.map(|()| abi)
    };
    let (worker, abi) = Worker::start(setup, act).map_err(|source| {
        let path = roots.iter().next().map_or(Path::new(""), |root| root.path());
        Fault::from(source).too_weak().at("confine with landlock", path)
    })?;
    assurance.landlock_abi = Some(abi);
    Ok(worker)
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
/// Says which version of Landlock holds that.
fn restrict(roots: &Roots) -> io::Result<i32> {
    let rights = AccessFs::from_write(RIGHTS);
    let restricted = || -> Result<RestrictionStatus, RulesetError> {
        let mut ruleset = Ruleset::default().handle_access(rights)?.create()?;
        for root in roots.iter() {
            ruleset = ruleset.add_rule(PathBeneath::new(&root.dir, rights))?;
        }
        ruleset.restrict_self()
    };
    let status = restricted().map_err(io::Error::other)?;
    let LandlockStatus::Available { effective_abi, kernel_abi } = status.landlock else {
        return Err(lacks("the kernel has no landlock, or hides it".into()));
    };
    let abi = kernel_abi.unwrap_or(effective_abi as i32);
    // What the kernel does not know, the crate leaves out.
    if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs {
        Ok(abi)
    } else {
        Err(lacks(format!("landlock of ABI {abi} does not hold it all")))
    }
}

fn lacks(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// Sees the kernel refuse. Called on the restricted thread.
fn prove() -> io::Result<()> {
    match open_probe() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        _ => Err(lacks("landlock accepted the domain and does not hold it".into())),
    }
}
