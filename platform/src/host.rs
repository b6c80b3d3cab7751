//! How the strongest fence that a host offers is found.

use std::io;
use std::path::Path;

use crate::assurance::{Assurance, Confinement, Enforcement, Options, Resolution};
use crate::error::{ErrorKind, Fault, Result};
use crate::fence::Fence;
use crate::local::Local;
use crate::resolve::{Openat2, Resolve, Rules, Scope, Walk};
use crate::roots::{Root, Roots};

/// One kind of fence and whether this host can put it up.
#[derive(Debug)]
#[non_exhaustive]
pub struct Offer {
    /// Who would resolve paths.
    pub resolution: Resolution,
    /// What would confine the acting thread.
    pub confinement: Confinement,
    /// The fence, or why there is none.
    pub fence: Result<Box<dyn Fence>>,
}

/// Opens the strongest fence this host can put around `roots`.
///
/// # Errors
///
/// [`ErrorKind::TooWeak`] if that is weaker than [`Options::at_least`]. There is no silent
/// fallback: to accept less, ask for less. Any other kind if a stronger one could not be put up for
/// another reason than that the host has none: then no weaker one takes its place.
pub fn open(roots: &Roots, options: Options) -> Result<Box<dyn Fence>> {
    let mut why_not = None;
    for Offer { fence, .. } in survey(roots, options) {
        let reason = match fence {
            Ok(fence) if fence.assurance().level >= options.at_least => {
                let Assurance { level, gaps, .. } = fence.assurance();
                if *level < Enforcement::Confined {
                    tracing::warn!(%level, ?gaps, ?why_not, "a fence weaker than confined");
                }
                return Ok(fence);
            }
            Ok(fence) => io::Error::other(format!("the strongest is {}", fence.assurance().level)),
            Err(error) if error.kind() == ErrorKind::TooWeak => io::Error::other(error),
            Err(error) => return Err(error),
        };
        // The first is about the strongest kind, and so what there is to mend.
        why_not.get_or_insert(reason);
    }
    let path = roots.iter().next().map_or(Path::new(""), Root::path);
    Err(Fault { source: why_not, ..Fault::new(ErrorKind::TooWeak) }.at("open a fence on", path))
}

/// Puts up each kind of fence, strongest first, when it is asked for: the fence, or the reason why
/// this host has none. One that is weaker than [`Options::at_least`] is put up all the same.
pub fn survey(roots: &Roots, options: Options) -> impl Iterator<Item = Offer> {
    let kinds = [Resolution::Openat2, Resolution::Walk]
        .map(|who| [Confinement::Landlock, Confinement::Nothing].map(|what| (who, what)));
    let rules = Rules::new(Scope::Beneath, options);
    kinds.into_iter().flatten().map(move |(resolution, confinement)| {
        let fence = put_up(roots, rules, resolution, confinement);
        Offer { resolution, confinement, fence }
    })
}

/// Acts without a boundary, on absolute paths: a path `a/b` beneath the one root is `/a/b`.
/// Symlinks lead where they lead; magic links are not followed. The argument is there to be seen
/// in review.
///
/// # Errors
///
/// Only if the root directory cannot be opened.
pub fn unfenced(_: AmbientAuthority) -> Result<Box<dyn Fence>> {
    let roots = Roots::open(["/"])?;
    let rules = Rules::new(Scope::Ambient, Options::default());
    let put_up = |who| put_up(&roots, rules, who, Confinement::Nothing);
    match put_up(Resolution::Openat2) {
        Err(error) if error.kind() == ErrorKind::TooWeak => put_up(Resolution::Walk),
        opened => opened,
    }
}

/// The power of the whole process, to be handed to [`unfenced`].
#[derive(Debug)]
pub struct AmbientAuthority(());

/// Says in the caller's code that what follows has no boundary.
pub fn ambient_authority() -> AmbientAuthority {
    AmbientAuthority(())
}

fn put_up(
    roots: &Roots,
    rules: Rules,
    resolution: Resolution,
    confinement: Confinement,
) -> Result<Box<dyn Fence>> {
    let resolver: Box<dyn Resolve> = match resolution {
        Resolution::Openat2 => Box::new(Openat2::proven(roots, rules)?),
        Resolution::Walk => Box::new(Walk(rules)),
    };
    Ok(Box::new(Local::new(roots, resolver, resolution, confinement)?))
}
