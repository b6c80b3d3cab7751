//! Permission for one change, as a value that is used up.

use std::path::PathBuf;

use ringfence_platform::{
    Enforcement, Error, ErrorKind, Fence, Mutation, Receipt, Result, Roots, Terms,
};

use crate::mode::Mode;

/// Proof that one change was allowed.
///
/// Not `Clone`, and only the policy can make one. It is spent by the change it allows.
#[derive(Debug)]
#[must_use = "a grant that is not spent allows nothing"]
pub struct Grant {
    mode: Mode,
    roots: Option<Roots>,
    /// The one place it is for, if a person was shown one.
    at: Option<PathBuf>,
}

/// Why a grant was not spent on a change that was made.
#[derive(Debug)]
pub(crate) enum Unmade {
    /// The path could not be resolved beneath its root, so nothing has been done, and the grant
    /// comes back for another spelling of the same place.
    Misaimed(Grant, Error),
    /// The call failed.
    Failed(Error),
    /// The fence is not on the grant's roots, and was not asked.
    WrongFence,
}

impl Grant {
    pub(super) fn new(mode: Mode, roots: Option<Roots>, at: Option<PathBuf>) -> Self {
        Self { mode, roots, at }
    }

    /// The mode it was granted under.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Makes `mutation` through `fence`, which must be on this grant's roots, and at its place if
    /// it is for one alone.
    pub(crate) fn spend(
        self,
        fence: &dyn Fence,
        mutation: Mutation,
        terms: &Terms,
    ) -> Result<Receipt, Unmade> {
        if !self.is_for(fence) {
            return Err(Unmade::WrongFence);
        }
        let terms = Terms { at: self.at.clone(), ..terms.clone() };
        #[expect(clippy::disallowed_methods, reason = "the one caller: it takes a grant by value")]
        let result = fence.apply(mutation, &terms);
        result.map_err(|error| {
            if matches!(error.kind(), ErrorKind::Escape | ErrorKind::Loop) {
                Unmade::Misaimed(self, error)
            } else {
                Unmade::Failed(error)
            }
        })
    }

    /// The same open directories, not merely equal paths, and the same places protected in them;
    /// without a set, no fence at all.
    fn is_for(&self, fence: &dyn Fence) -> bool {
        match &self.roots {
            Some(roots) => {
                roots
                    .iter()
                    .map(std::ptr::from_ref)
                    .eq(fence.roots().iter().map(std::ptr::from_ref))
                    && roots.protected() == fence.roots().protected()
            }
            None => {
                self.mode == Mode::DangerFullAccess
                    && fence.assurance().level == Enforcement::Unfenced
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ringfence_platform::{
        Options, Parents, RelPath, RootedPath, ambient_authority, open, unfenced,
    };

    use super::*;
    use crate::policy::{Decision, Policy, TempAreas};
    use crate::request::Request;

    const HERE: &str = env!("CARGO_MANIFEST_DIR");

    fn grant(policy: &Policy, request: &Request) -> Grant {
        match policy.decide(request) {
            Decision::Allow(grant) => grant,
            Decision::Deny(denial) => panic!("{denial}"),
        }
    }

    fn spend(grant: Grant, fence: &dyn Fence) -> Result<Receipt, Unmade> {
        let root = fence.roots().iter().next().unwrap().id();
        let path = RootedPath::new(root, RelPath::root());
        // It is a directory already, so nothing would come of it.
        let mutation = Mutation::CreateDir { path, parents: Parents::Require };
        grant.spend(fence, mutation, &Terms::default())
    }

    #[test]
    fn a_grant_is_spent_only_on_the_roots_it_was_given_for() {
        let load = |mode| Policy::load(mode, Path::new(HERE), &TempAreas::none()).unwrap();
        let change = Request::CreateDir { path: ".".into(), parents: Parents::Require };
        let read = Request::Read { path: ".".into() };

        let policy = load(Mode::WorkspaceWrite);
        let own = open(policy.roots().unwrap(), Options::default()).unwrap();
        let same_place = open(&Roots::open([HERE]).unwrap(), Options::default()).unwrap();
        let anywhere = unfenced(ambient_authority()).unwrap();

        assert!(spend(grant(&policy, &change), own.as_ref()).is_ok());
        for fence in [&same_place, &anywhere] {
            let spent = spend(grant(&policy, &change), fence.as_ref());
            assert!(matches!(spent, Err(Unmade::WrongFence)), "{spent:?}");
        }
        let full = load(Mode::DangerFullAccess);
        let spent = spend(grant(&full, &change), own.as_ref());
        assert!(matches!(spent, Err(Unmade::WrongFence)), "{spent:?}");
        for mode in Mode::ALL {
            for fence in [&own, &same_place, &anywhere] {
                let spent = spend(grant(&load(mode), &read), fence.as_ref());
                assert!(matches!(spent, Err(Unmade::WrongFence)), "a read allows no change");
            }
        }
    }
}
