//! Every fence that the host offers, and what is expected of the host.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use ringfence_platform::{Confinement, Enforcement, Fence, Options, Resolution, Roots, survey};

use super::host::say;
use super::{Base, Stage, Tree};

/// The weakest that the strongest fence of this host may be: `confined`, `kernel` or `checked`.
const EXPECT: &str = "RINGFENCE_TEST_EXPECT";

/// One of the fences that a host may offer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct FenceKind {
    pub(crate) resolution: Resolution,
    pub(crate) confinement: Confinement,
}

impl fmt::Display for FenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.resolution, self.confinement)
    }
}

impl FenceKind {
    pub(crate) fn of(fence: &dyn Fence) -> Self {
        let assurance = fence.assurance();
        Self { resolution: assurance.resolution, confinement: assurance.confinement }
    }
}

/// Every fence that this host can put around `roots`, strongest first.
pub(crate) fn fences_on(roots: &Roots) -> Vec<Box<dyn Fence>> {
    let offers = survey(roots, Options::default());
    offers.filter_map(|offer| offer.fence.ok()).collect()
}

/// The kinds that this host offers, strongest first. Fails if they are weaker than expected.
pub(crate) fn offered() -> &'static [FenceKind] {
    static OFFERED: OnceLock<(Vec<FenceKind>, Enforcement)> = OnceLock::new();
    let (kinds, strongest) = OFFERED.get_or_init(|| {
        let base = Base::new();
        let roots = Roots::open([base.path()]).expect("a fresh directory can be a root");
        let fences = fences_on(&roots);
        let strongest = fences.iter().map(|fence| fence.assurance().level).max();
        let kinds = fences.iter().map(|fence| FenceKind::of(fence.as_ref())).collect();
        (kinds, strongest.expect("every host offers a fence"))
    });
    if let Some(expected) = expectation() {
        assert!(
            *strongest >= expected,
            "{EXPECT} asks for {expected}, and this host gives only {strongest}"
        );
    }
    kinds
}

fn expectation() -> Option<Enforcement> {
    let text = std::env::var(EXPECT).ok()?;
    let levels = [Enforcement::Confined, Enforcement::Kernel, Enforcement::Checked];
    let level = levels.into_iter().find(|level| level.to_string() == text);
    Some(level.unwrap_or_else(|| panic!("{EXPECT} is {text:?}, not confined, kernel or checked")))
}

/// Puts up the fence of this kind.
pub(crate) fn open_fence(roots: &Roots, kind: FenceKind) -> Box<dyn Fence> {
    open_fence_with(roots, Options::default(), kind)
}

/// Puts up the fence of this kind, opened as `options` say.
pub(crate) fn open_fence_with(roots: &Roots, options: Options, kind: FenceKind) -> Box<dyn Fence> {
    survey(roots, options)
        .into_iter()
        .find(|offer| offer.resolution == kind.resolution && offer.confinement == kind.confinement)
        .expect("every kind is surveyed")
        .fence
        .unwrap_or_else(|error| panic!("{kind} was offered a moment ago: {error:?}"))
}

/// Puts up the fence of this kind around the roots of `stage`.
pub(crate) fn fence_on(stage: &Stage, kind: FenceKind) -> Box<dyn Fence> {
    open_fence(&stage.roots(), kind)
}

/// Calls `test` with every fence the host offers around `roots`; a failure tells on which.
pub(crate) fn each_fence(roots: &Roots, test: impl Fn(&dyn Fence)) {
    for kind in offered() {
        let fence = open_fence(roots, *kind);
        labelled(*kind, || test(fence.as_ref()));
    }
}

/// As [`each_fence`], each on a fresh stage.
pub(crate) fn each_fence_on(tree: &Tree, test: impl Fn(&Stage, &dyn Fence)) {
    for kind in offered() {
        let stage = Stage::new(tree);
        let fence = fence_on(&stage, *kind);
        labelled(*kind, || test(&stage, fence.as_ref()));
    }
}

fn labelled(kind: FenceKind, test: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(test)) {
        say(format_args!("failed on the fence {kind}"));
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn the_host_offers_the_fence_that_is_expected_of_it() {
    let kinds: Vec<_> = offered().iter().map(ToString::to_string).collect();
    let expected = expectation().map_or_else(|| "nothing".to_owned(), |level| level.to_string());
    say(format_args!("fences of this host: {}; {EXPECT} asks for {expected}", kinds.join(", ")));
}
