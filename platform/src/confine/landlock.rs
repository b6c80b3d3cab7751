//! The Landlock domain: the acting thread gives up the right to change files anywhere but beneath
//! the roots, landlock(7).

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use ::landlock::{
    ABI, AccessFs, CompatLevel, Compatible, LandlockStatus, PathBeneath, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
};

use super::mounts;
use super::worker::Worker;
use crate::dir::Dir;
use crate::error::{ErrorKind, Fault, Result};
use crate::fence::{Assurance, Confinement, Enforcement, Fence, Gap, Resolution, sealed};
use crate::local::Local;
use crate::mutation::{Mutation, Receipt, Terms};
use crate::path::RootedPath;
use crate::pending::Pending;
use crate::resolve::Resolve;
use crate::roots::Roots;
use crate::stat::{Entry, Follow, Snapshot, Stat};

/// Every right to change files as of Linux 6.2: with less, a rename across directories or a
/// truncation would be refused, or not be held.
const RIGHTS: ABI = ABI::V3;

/// What an unrestricted thread may open for writing and the confined one must not.
const PROBE: &str = "/dev/null";

/// A fence whose changes are made by a thread that can make them nowhere else. Reads stay on the
/// caller's thread.
#[derive(Debug)]
struct Confined<R> {
    inner: Arc<Local<R>>,
    assurance: Assurance,
    worker: Worker,
}

/// Puts the confined thread before `local`, if this host has one that holds.
pub(crate) fn landlock<R: Resolve>(local: Local<R>) -> Result<Box<dyn Fence>> {
    let roots = local.roots().clone();
    let refuse = |source: io::Error| {
        let fault = Fault { source: Some(source), ..Fault::new(ErrorKind::TooWeak) };
        fault.at("confine with landlock", first(&roots))
    };
    let telling = is_telling(&roots);
    let mut assurance = local.assurance().clone();
    assurance.confinement = Confinement::Landlock;
    assurance.gaps.retain(|gap| *gap != Gap::NoLandlock);
    assurance.gaps.extend(mounts::gap(&roots));
    assurance.gaps.extend((!telling).then_some(Gap::Unproved));
    // What may be claimed once the thread is restricted and has proved it.
    if assurance.gaps.is_empty() && assurance.resolution == Resolution::Openat2 {
        assurance.level = Enforcement::Confined;
    }
    let setup = {
        let roots = roots.clone();
        move || restrict(&roots).and_then(|()| if telling { prove() } else { Ok(()) })
    };
    let inner = Arc::new(local);
    let run = {
        let (inner, level) = (Arc::clone(&inner), assurance.level);
        move |mutation, terms: &Terms| inner.run(mutation, terms, level)
    };
    let worker = Worker::start(setup, run).map_err(refuse)?;
    Ok(Box::new(Confined { inner, assurance, worker }))
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

impl<R> sealed::Sealed for Confined<R> {}

impl<R: Resolve> Fence for Confined<R> {
    fn roots(&self) -> &Roots {
        self.inner.roots()
    }

    fn assurance(&self) -> &Assurance {
        &self.assurance
    }

    fn stat(&self, path: &RootedPath, follow: Follow) -> Result<Stat> {
        self.inner.stat(path, follow)
    }

    fn open(&self, path: &RootedPath) -> Result<Snapshot> {
        self.inner.open(path)
    }

    fn list(&self, path: &RootedPath) -> Result<Vec<Entry>> {
        self.inner.list(path)
    }

    fn apply(&self, mutation: Mutation, terms: &Terms) -> Result<Receipt> {
        let of = mutation.call();
        let answer = self.worker.hand_over(mutation, terms);
        answer.and_then(|answer| self.worker.wait(answer)).unwrap_or_else(|| of.lost())
    }

    fn submit(&self, mutation: Mutation, terms: &Terms) -> Pending {
        let of = mutation.call();
        match self.worker.hand_over(mutation, terms) {
            Some(answer) => Pending::handed_over(answer, of),
            None => Pending::ready(of.lost()),
        }
    }
}

fn first(roots: &Roots) -> &Path {
    roots.iter().next().map_or(Path::new(""), |root| root.path())
}
