//! Which boundaries this host can hold, found by holding each for a moment.

use ringfence_platform::{self as platform, Assurance, Confinement, Fence, Resolution, Roots};

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
