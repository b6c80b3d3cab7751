//! One change: the grant that it spends, and another aim where a symlink needs one.

use std::path::PathBuf;

use ringfence_platform::{self as platform, Fence, Mutation, Parents, Receipt, RootedPath, Terms};

use crate::aiming::{Aiming, narrowest, passable};
use crate::error::{Denial, Error, Result};
use crate::policy::{Decision, Grant, Policy, Unmade};
use crate::request::Request;
use crate::target::Target;
use crate::text::TextTerms;

/// What a change is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) request: &'a Request,
    pub(crate) policy: &'a Policy,
    pub(crate) fence: Option<&'a dyn Fence>,
    pub(crate) terms: &'a Terms,
    pub(crate) texts: TextTerms<'a>,
    /// Whether the places were looked at before anything is decided, as those of tools are.
    pub(crate) has_looked: bool,
}

/// A change that the policy allows, and where it goes.
#[derive(Debug)]
pub(crate) struct Judged<'a, const N: usize> {
    grant: Grant,
    pub(crate) aiming: Aiming<'a>,
    pub(crate) targets: [Target; N],
}

impl<'a> Change<'a> {
    /// Asks the policy, and finds the writable root of each path.
    pub(crate) fn judge<const N: usize>(&self, raw: [&PathBuf; N]) -> Result<Judged<'a, N>> {
        let grant = match self.policy.decide(self.request) {
            Decision::Allow(grant) => grant,
            Decision::Deny(denial) if self.has_looked => {
                let narrowest = denial.narrowest.map(|_| narrowest(self.policy.bounds(), &denial));
                return Err(Error::Denied(Denial { narrowest, ..denial }));
            }
            Decision::Deny(denial) => return Err(Error::Denied(denial)),
        };
        let (op, bounds) = (self.request.op(), self.policy.bounds());
        let fence = self.fence.ok_or_else(|| Error::WrongFence { op, path: raw[0].to_owned() })?;
        let aiming = Aiming { op, bounds, fence };
        let targets = aiming.targets(raw)?;
        Ok(Judged { grant, aiming, targets })
    }

    /// Makes the change. The fence decides at each aim whether a path stays beneath its root.
    pub(crate) fn make<const N: usize>(
        &self,
        judged: Judged<'a, N>,
        mutation: impl Fn([RootedPath; N], Parents) -> platform::Result<Mutation>,
    ) -> Result<(PathBuf, Receipt)> {
        let Judged { mut grant, aiming, mut targets } = judged;
        let mut reaims = 0;
        loop {
            let at = targets.each_ref().map(|target| target.at.clone());
            let mutation = mutation(at, passable(&targets))
                .map_err(|error| aiming.malformed(targets[0].shown.clone(), error))?;
            let error = match grant.spend(aiming.fence, mutation, self.terms) {
                Ok(receipt) => return Ok((targets[N - 1].shown.clone(), receipt)),
                Err(Unmade::WrongFence) => {
                    let (op, path) = (aiming.op, targets[0].shown.clone());
                    return Err(Error::WrongFence { op, path });
                }
                Err(Unmade::Failed(error)) => return Err(aiming.refused(&targets, error)),
                Err(Unmade::Misaimed(unspent, error)) => {
                    grant = unspent;
                    error
                }
            };
            aiming.again(&mut targets, &mut reaims, error)?;
        }
    }
}
