//! Which boundaries this host can hold, found by holding each for a moment.

use ringfence_platform::process::{
    Held, NoRunner, PassedOver, Restrictions, Runners, ShellEnforcement,
};
use ringfence_platform::{
    self as platform, Assurance, Confinement, Fence, RelPath, Resolution, RootedPath, Roots,
};

/// One kind of boundary, and what it was seen to hold here.
#[derive(Debug)]
#[non_exhaustive]
pub struct Boundary {
    /// Who would resolve paths.
    pub resolution: Resolution,
    /// What would confine the acting thread.
    pub confinement: Confinement,
    /// What was seen, or why this host cannot hold it.
    pub assurance: platform::Result<Assurance>,
}

/// Puts up each kind of boundary around `roots`, strongest first, and takes it down again. What is
/// told is what was seen: nothing goes by a version.
#[must_use]
pub fn survey(roots: &Roots) -> Vec<Boundary> {
    let offers = platform::survey(roots, platform::Options::default());
    let seen = offers.map(|offer| Boundary {
        resolution: offer.resolution,
        confinement: offer.confinement,
        assurance: offer.fence.map(|fence| Fence::assurance(&*fence).clone()),
    });
    seen.collect()
}

/// What can hold commands here.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunnerSurvey {
    /// Every runner in the usual order: what it holds where nothing beyond the roots is asked for,
    /// or why it cannot be used.
    pub runners: Vec<Result<Held, PassedOver>>,
    /// Which one is taken unless more is asked for.
    pub usual: Result<Held, NoRunner>,
    /// Which one is taken where places in the roots are protected.
    pub protecting: Result<Held, NoRunner>,
}

/// Has each runner hold a command, in a directory for temporary files. What is told is what was
/// seen. A command is held beneath `roots` where one is chosen, and no more is required than is
/// there.
#[must_use]
pub fn runners(roots: &Roots) -> RunnerSurvey {
    let runners = Runners::probe();
    let choose = |roots: Roots| {
        let mut restrictions = Restrictions::default();
        restrictions.roots = Some(roots);
        runners.choose(&restrictions, ShellEnforcement::Partial)
    };
    // Whether it is there makes no difference to who is asked first.
    let hooks = RelPath::new(".git/hooks").expect("a path beneath a root");
    let places = roots.iter().take(1).map(|root| RootedPath::new(root.id(), hooks.clone()));
    RunnerSurvey {
        runners: runners.survey(),
        usual: choose(roots.clone()),
        protecting: choose(roots.clone().protecting(places)),
    }
}
