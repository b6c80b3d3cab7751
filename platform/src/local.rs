//! A fence over any resolver, with a confined thread or without.

use std::sync::Arc;

use crate::assurance::{Assurance, Confinement, Enforcement, Gap, Resolution};
use crate::confine::{self, Worker};
use crate::entry_lock::Locks;
use crate::error::Result;
use crate::fence::{Fence, sealed};
use crate::held::Held;
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
pub(crate) struct Local<R> {
    held: Arc<Held<R>>,
    assurance: Assurance,
    worker: Option<Worker>,
}

impl<R: Resolve> Local<R> {
    pub(crate) fn new(roots: Roots, resolver: R, confinement: Confinement) -> Result<Self> {
        let (level, gaps) = match (resolver.rules().scope, R::RESOLUTION) {
            (Scope::Beneath, Resolution::Openat2) => (Enforcement::Kernel, vec![]),
            (Scope::Beneath, Resolution::Walk) => (Enforcement::Checked, vec![Gap::NoOpenat2]),
            (Scope::Ambient, _) => (Enforcement::Unfenced, vec![]),
        };
        let mut assurance = Assurance { level, resolution: R::RESOLUTION, confinement, gaps };
        let locks = Locks::of_this_process().map_err(|fault| fault.at("open a fence on", "."))?;
        let held = Arc::new(Held { roots, resolver, locks });
        let worker = match confinement {
            Confinement::Landlock => {
                let acting = Arc::clone(&held);
                let act =
                    move |mutation, terms: &Terms, level| run(&acting, mutation, terms, level);
                Some(confine::landlock(&held.roots, &mut assurance, act)?)
            }
            Confinement::Nothing => None,
        };
        assurance.gaps.extend(worker.is_none().then_some(Gap::NoLandlock));
        Ok(Self { held, assurance, worker })
    }
}

/// Makes the change on this thread.
fn run<R: Resolve>(
    held: &Held<R>,
    mutation: Mutation,
    terms: &Terms,
    level: Enforcement,
) -> Result<Receipt> {
    let call = mutation.call();
    // In a child of fork(2) the locks may be held by threads that do not exist there.
    if !held.locks.is_mine() {
        return call.lost();
    }
    mutate::run(held, mutation, terms, level).map_err(|fault| call.failed(fault))
}

impl<R> sealed::Sealed for Local<R> {}

impl<R: Resolve> Fence for Local<R> {
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

    fn list(&self, path: &RootedPath) -> Result<Vec<Entry>> {
        self.held.read("list", path, |root, path| self.held.entries(root, path))
    }

    fn apply(&self, mutation: Mutation, terms: &Terms) -> Result<Receipt> {
        let Some(worker) = &self.worker else {
            return run(&self.held, mutation, terms, self.assurance.level);
        };
        let call = mutation.call();
        let answer = worker.hand_over(mutation, terms);
        answer.and_then(|answer| worker.wait(answer)).unwrap_or_else(|| call.lost())
    }

    fn submit(&self, mutation: Mutation, terms: &Terms) -> Pending {
        let Some(worker) = &self.worker else {
            return Pending::ready(self.apply(mutation, terms));
        };
        let call = mutation.call();
        match worker.hand_over(mutation, terms) {
            Some(answer) => Pending::handed_over(answer, call),
            None => Pending::ready(call.lost()),
        }
    }
}
