//! How the strongest fence that a host offers is found.

use std::io;
use std::path::Path;

use crate::assurance::{Assurance, Confinement, Enforcement, Options, Resolution};
use crate::error::{ErrorKind, Fault, Result};
use crate::fence::Fence;
use crate::local::Local;
use crate::resolve::{self, Scope};
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
/// fallback: to accept less, ask for less.
pub fn open(roots: &Roots, options: Options) -> Result<Box<dyn Fence>> {
    let mut why_not = None;
    for offer in offers(roots, options) {
        let reason = match offer.fence {
            Ok(fence) => {
                let Assurance { level, gaps, .. } = fence.assurance();
                if *level >= options.at_least {
                    if *level < Enforcement::Confined {
                        tracing::warn!(%level, ?gaps, ?why_not, "a fence weaker than confined");
                    }
                    return Ok(fence);
                }
                io::Error::other(format!("the strongest here is {level}, since {gaps:?}"))
            }
            Err(error) => io::Error::other(error),
        };
        // The first is about the strongest kind, and so what there is to mend.
        why_not.get_or_insert(reason);
    }
    let path = roots.iter().next().map_or(Path::new(""), Root::path);
    Err(Fault { source: why_not, ..Fault::new(ErrorKind::TooWeak) }.at("open a fence on", path))
}

/// Every fence this host can put around `roots`, strongest first. For tests and diagnostics.
#[must_use]
pub fn available(roots: &Roots, options: Options) -> Vec<Box<dyn Fence>> {
    offers(roots, options).filter_map(|offer| offer.fence.ok()).collect()
}

/// Each kind of fence, strongest first, with the fence or the reason why this host has none.
#[must_use]
pub fn survey(roots: &Roots, options: Options) -> Vec<Offer> {
    offers(roots, options).collect()
}

/// Acts without a boundary, on absolute paths: a path `a/b` beneath the one root is `/a/b`.
/// Symlinks lead where they lead; magic links are not followed. The argument is there to be seen
/// in review.
///
/// # Errors
///
/// Only if the root directory cannot be opened.
pub fn unfenced(_: AmbientAuthority) -> Result<Box<dyn Fence>> {
    let (roots, options) = (Roots::open(["/"])?, Options::default());
    let put_up = |who| put_up(&roots, Scope::Ambient, options, who, Confinement::Nothing);
    put_up(Resolution::Openat2).or_else(|_| put_up(Resolution::Walk))
}

/// The power of the whole process, to be handed to [`unfenced`].
#[derive(Debug)]
pub struct AmbientAuthority(());

/// Says in the caller's code that what follows has no boundary.
#[must_use]
pub fn ambient_authority() -> AmbientAuthority {
    AmbientAuthority(())
}

/// Puts up one kind after the other, strongest first, when it is asked for.
fn offers(roots: &Roots, options: Options) -> impl Iterator<Item = Offer> {
    use {Confinement::*, Resolution::*};
    let kinds = [(Openat2, Landlock), (Openat2, Nothing), (Walk, Landlock), (Walk, Nothing)];
    kinds.into_iter().map(move |(resolution, confinement)| {
        let fence = put_up(roots, Scope::Beneath, options, resolution, confinement);
        Offer { resolution, confinement, fence }
    })
}

fn put_up(
    roots: &Roots,
    scope: Scope,
    options: Options,
    resolution: Resolution,
    confinement: Confinement,
) -> Result<Box<dyn Fence>> {
    let roots = roots.clone();
    Ok(match resolution {
        Resolution::Openat2 => {
            let resolver = resolve::Openat2::proven(&roots, scope, options)?;
            Box::new(Local::new(roots, resolver, confinement)?)
        }
        Resolution::Walk => {
            Box::new(Local::new(roots, resolve::Walk::new(scope, options), confinement)?)
        }
    })
}
