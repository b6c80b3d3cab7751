//! A fence over any resolver, with a confined thread or without.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::assurance::{Assurance, Confinement, Enforcement, Gap, Resolution};
use crate::cancel::Cancel;
use crate::confine::{self, PAUSE, Worker};
use crate::error::Result;
use crate::fence::{Fence, sealed};
use crate::held::Held;
use crate::locks::Locks;
use crate::mutate;
use crate::mutation::{Mutation, Receipt, Terms};
use crate::path::RootedPath;
use crate::pending::Pending;
use crate::resolve::{Resolve, Scope};
use crate::roots::Roots;
use crate::stat::{Entry, Follow, Snapshot, Stat};

/// A fence on this host. With a worker, changes are made by that and reads by the caller's thread;
/// without, all is done there.
#[derive(Debug)]
pub(crate) struct Local {
    held: Arc<Held>,
    assurance: Assurance,
    worker: Option<Worker>,
}

impl Local {
    pub(crate) fn new(
        roots: &Roots,
        resolver: Box<dyn Resolve>,
        resolution: Resolution,
        confinement: Confinement,
    ) -> Result<Self> {
        let (level, gaps) = match (resolver.rules().scope, resolution) {
            (Scope::Beneath, Resolution::Openat2) => (Enforcement::Kernel, vec![]),
            (Scope::Beneath, Resolution::Walk) => (Enforcement::Checked, vec![Gap::NoOpenat2]),
            (Scope::Ambient, _) => (Enforcement::Unfenced, vec![]),
        };
        let mut assurance = Assurance { level, resolution, confinement, landlock_abi: None, gaps };
        let locks = Locks::of_this_process().map_err(|fault| fault.at("open a fence on", "."))?;
        match confinement {
            Confinement::Landlock => confine::assess(roots, &mut assurance),
            Confinement::Nothing => assurance.gaps.push(Gap::NoLandlock),
        }
        let level = assurance.level;
        let held = Arc::new(Held { roots: roots.clone(), resolver, locks, level });
        let worker = (confinement == Confinement::Landlock).then(|| {
            let acting = Arc::clone(&held);
            let act = move |m: &_, terms: &_, waits: &mut _| attempt(&acting, m, terms, waits);
            confine::landlock(&held.roots, &mut assurance, Box::new(act))
        });
        Ok(Self { worker: worker.transpose()?, held, assurance })
    }

    /// Makes the change on this thread.
    fn act(&self, mutation: &Mutation, terms: &Terms) -> Result<Receipt> {
        let mut waits = None;
        loop {
            if let Some(result) = attempt(&self.held, mutation, terms, &mut waits) {
                return result;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// How long another process may hold the lock of a directory before a change gives up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes the change on this thread, if nobody else is changing the same directory. What is to be
/// changed is looked up anew by each attempt, so nothing is decided by what was before a wait;
/// `waits` says since when.
fn attempt(
    held: &Held,
    mutation: &Mutation,
    terms: &Terms,
    waits: &mut Option<Instant>,
) -> Option<Result<Receipt>> {
    // In a child of fork(2) the locks may be held by threads that do not exist there.
    if !held.locks.is_mine() {
        return Some(mutation.lost());
    }
    let made = mutate::run(held, mutation, terms);
    let locked = made.as_ref().is_err_and(|fault| fault.locked);
    if locked && waits.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
        return None;
    }
    Some(made.map_err(|fault| mutation.failed(fault)))
}

impl sealed::Sealed for Local {}

impl Fence for Local {
    fn roots(&self) -> &Roots {
        &self.held.roots
    }

    fn assurance(&self) -> &Assurance {
        &self.assurance
    }

    fn stat(&self, path: &RootedPath, follow: Follow) -> Result<Stat> {
        self.held.read("look at", path, |root, path| self.held.place(root, path, follow))
    }

    fn open(&self, path: &RootedPath) -> Result<Snapshot> {
        self.held.read("open", path, |root, path| self.held.snapshot(root, path))
    }

    fn list(&self, path: &RootedPath, cancel: &Cancel) -> Result<Vec<Entry>> {
        self.held.list(path, cancel)
    }

    fn apply(&self, mutation: Mutation, terms: &Terms) -> Result<Receipt> {
        // A task that is woken on the worker's thread may ask for a change there.
        let Some(worker) = self.worker.as_ref().filter(|worker| !worker.is_this_thread()) else {
            return self.act(&mutation, terms);
        };
        let mutation = Arc::new(mutation);
        let answer = worker.hand_over(Arc::clone(&mutation), terms);
        worker.wait(answer).unwrap_or_else(|| mutation.lost())
    }

    fn rehearse(&self, mutation: &Mutation) -> Result<Option<PathBuf>> {
        mutate::rehearse(&self.held, mutation).map_err(|fault| mutation.failed(fault))
    }

    fn submit(&self, mutation: Mutation, terms: &Terms) -> Pending {
        let mutation = Arc::new(mutation);
        let answer = match &self.worker {
            Some(worker) => worker.hand_over(Arc::clone(&mutation), terms),
            None => confine::answered(self.act(&mutation, terms)),
        };
        Pending::new(answer, self.worker.as_ref(), mutation)
    }
}
