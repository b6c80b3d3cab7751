//! One change: where it goes, the grant it spends, and another aim where a symlink needs one.

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};

use ringfence_platform::{
    self as platform, Assurance, Confinement, ErrorKind, Fence, Follow, Mutation, Parents, RelPath,
    RootedPath, Snapshot, Terms,
};

use crate::error::{Denial, Error, Layer, Result};
use crate::lexical;
use crate::policy::{Decision, Grant, Policy, Unmade};
use crate::reader::ReadOnly;
use crate::request::{Op, Outcome, Request};
use crate::target::{self, Aim, Target};

/// How often a call may start again with another spelling of the place that was asked for.
const MAX_REAIMS: usize = 8;

/// What a change is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) op: Op,
    pub(crate) policy: &'a Policy,
    pub(crate) fence: Option<&'a dyn Fence>,
    pub(crate) reader: &'a ReadOnly,
    pub(crate) terms: &'a Terms,
}

/// A change that the policy allows, and where it goes.
#[derive(Debug)]
pub(crate) struct Judged<'a, const N: usize> {
    grant: Grant,
    fence: &'a dyn Fence,
    targets: [Target; N],
}

impl<'a> Change<'a> {
    /// Asks the policy, and finds the writable root of each path.
    pub(crate) fn judge<const N: usize>(
        &self,
        request: &Request,
        raw: [&PathBuf; N],
    ) -> Result<Judged<'a, N>> {
        let grant = match self.policy.decide(request) {
            Decision::Allow(grant) => grant,
            Decision::Deny(denial) => return Err(Error::Denied(denial)),
        };
        let fence = self.fence.ok_or_else(|| self.wrong_fence(raw[0]))?;
        let targets = each(&raw, |raw| {
            let shown = lexical::shown(self.op, self.policy.workspace(), raw)?;
            self.aim(fence).take(shown.clone()).map_err(|kind| {
                if matches!(kind, ErrorKind::Escape | ErrorKind::Loop) {
                    self.denied(shown, Layer::Roots)
                } else {
                    self.failed(shown, kind, None)
                }
            })
        })?;
        self.spare_the_roots(fence, &targets)?;
        Ok(Judged { grant, fence, targets })
    }

    /// Makes the change. The fence decides at each aim whether a path stays beneath its root.
    pub(crate) fn make<const N: usize>(
        &self,
        judged: Judged<'a, N>,
        mutation: impl Fn([RootedPath; N], Parents) -> platform::Result<Mutation>,
    ) -> Result<Outcome> {
        let Judged { mut grant, fence, mut targets } = judged;
        let mut reaims = 0;
        loop {
            let at = targets.each_ref().map(|target| target.at.clone());
            let mutation = mutation(at, passable(&targets))
                .map_err(|error| self.malformed(targets[0].shown.clone(), error))?;
            let error = match grant.spend(fence, mutation, self.terms) {
                Ok(receipt) => {
                    let path = targets[N - 1].shown.clone();
                    return Ok(Outcome::Changed { path, receipt });
                }
                Err(Unmade::WrongFence) => return Err(self.wrong_fence(&targets[0].shown)),
                Err(Unmade::Failed(error)) => {
                    let path = culprit(&targets, &error);
                    return Err(target::failed(self.op, path, error));
                }
                Err(Unmade::Misaimed(unspent, error)) => {
                    grant = unspent;
                    error
                }
            };
            self.aim_again(fence, &mut targets, &mut reaims, error)?;
        }
    }

    /// Opens the file that the change is about, by the fence and thus beneath its root.
    pub(crate) fn open(&self, judged: &mut Judged<'a, 1>) -> Result<(PathBuf, Snapshot)> {
        let Judged { fence, targets, .. } = judged;
        let mut reaims = 0;
        loop {
            let path = targets[0].shown.clone();
            match fence.open(&targets[0].at) {
                Ok(snapshot) => return Ok((path, snapshot)),
                Err(error) if matches!(error.kind(), ErrorKind::Escape | ErrorKind::Loop) => {
                    self.aim_again(*fence, targets, &mut reaims, error)?;
                }
                Err(error) => return Err(target::failed(self.op, path, error)),
            }
        }
    }

    /// Finds another spelling of each place after the fence has not taken one, or says what that
    /// means.
    fn aim_again<const N: usize>(
        &self,
        fence: &'a dyn Fence,
        targets: &mut [Target; N],
        reaims: &mut usize,
        error: platform::Error,
    ) -> Result<()> {
        let again = each(targets, |target| {
            let again = self.aim(fence).through_links(target.shown.clone());
            again.map_err(|kind| (target.shown.clone(), kind))
        });
        let (path, kind) = match again {
            Ok(again) if again != *targets && *reaims < MAX_REAIMS => {
                self.spare_the_roots(fence, &again)?;
                *targets = again;
                *reaims += 1;
                return Ok(());
            }
            Ok(_) => (culprit(targets, &error), error.kind()),
            Err(miss) => miss,
        };
        Err(self.misaimed(fence, path, kind, error))
    }

    fn aim(&self, fence: &'a dyn Fence) -> Aim<'a> {
        Aim { reader: self.reader, roots: fence.roots(), op: self.op }
    }

    /// A root itself is never removed or renamed: what it is called is not the policy's.
    fn spare_the_roots(&self, fence: &dyn Fence, targets: &[Target]) -> Result<()> {
        let moves = matches!(self.op, Op::Remove | Op::Rename) && self.policy.roots().is_some();
        let nested = moves && self.policy.has_nested();
        let is_root = |target: &&Target| {
            let seen = nested.then(|| fence.stat(&target.at, Follow::No));
            target.at.path == RelPath::root()
                || seen.is_some_and(|seen| seen.is_ok_and(|s| self.policy.is_nested(&s.key)))
        };
        match targets.iter().filter(|_| moves).find(is_root) {
            Some(root) => Err(self.denied(root.shown.clone(), Layer::Roots)),
            None => Ok(()),
        }
    }

    /// What it means that the fence does not take a path, once there is nowhere else to aim.
    fn misaimed(
        &self,
        fence: &dyn Fence,
        path: PathBuf,
        kind: ErrorKind,
        error: platform::Error,
    ) -> Error {
        if kind != ErrorKind::Escape {
            self.failed(path, kind, Some(error))
        } else if self.policy.roots().is_some() {
            self.denied(path, layer(fence, &error))
        } else {
            self.failed(path, error.kind(), Some(error))
        }
    }

    /// What it means that a change cannot even be asked for: an absolute text of a symlink is
    /// refused in every mode.
    fn malformed(&self, path: PathBuf, error: platform::Error) -> Error {
        if error.kind() != ErrorKind::Escape {
            return self.failed(path, error.kind(), Some(error));
        }
        let denial = self.policy.deny(self.op, path, Layer::LinkText);
        Error::Denied(Denial { narrowest: None, ..denial })
    }

    fn denied(&self, path: PathBuf, by: Layer) -> Error {
        Error::Denied(self.policy.deny(self.op, path, by))
    }

    fn failed(&self, path: PathBuf, kind: ErrorKind, source: Option<platform::Error>) -> Error {
        Error::Failed { op: self.op, path, kind, source }
    }

    fn wrong_fence(&self, path: &Path) -> Error {
        Error::WrongFence { op: self.op, path: path.to_owned() }
    }
}

/// Who found that a path leads out of the roots. A refusal by the host on the way out is the
/// confined thread's: resolution had let the path pass.
fn layer(fence: &dyn Fence, error: &platform::Error) -> Layer {
    let Assurance { resolution, confinement, .. } = *fence.assurance();
    let by_host = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let refused = by_host.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    if refused && confinement != Confinement::Nothing {
        Layer::Confinement(confinement)
    } else {
        Layer::Resolution(resolution)
    }
}

/// The path that a failure is about.
fn culprit(targets: &[Target], error: &platform::Error) -> PathBuf {
    let named = targets.iter().find(|target| target.at.path.as_path() == error.path());
    named.unwrap_or(&targets[0]).shown.clone()
}

fn passable(targets: &[Target]) -> Parents {
    match targets.iter().all(|target| target.parents == Parents::Create) {
        true => Parents::Create,
        false => Parents::Require,
    }
}

fn each<'a, T, U: std::fmt::Debug, E, const N: usize>(
    items: &'a [T; N],
    find: impl FnMut(&'a T) -> Result<U, E>,
) -> Result<[U; N], E> {
    let found: Vec<U> = items.iter().map(find).collect::<Result<_, E>>()?;
    Ok(found.try_into().expect("there is one for each item"))
}
