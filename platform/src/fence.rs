//! The boundary, and how the strongest one that a host offers is found.

use std::path::Path;
use std::{fmt, io};

use crate::error::{ErrorKind, Fault, Result};
use crate::local::Local;
use crate::mutation::{Mutation, Receipt, Terms};
use crate::path::RootedPath;
use crate::pending::Pending;
use crate::resolve::{self, Scope};
use crate::roots::{Root, Roots};
use crate::stat::{Entry, Follow, Snapshot, Stat};

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A boundary around a set of directory trees, and the only way to change what is in them.
///
/// A fence holds its roots open; it is not a path check: renaming a root elsewhere does not move
/// the boundary. Every path it takes is a [`RootedPath`], which root and a
/// [`RelPath`](crate::RelPath) beneath it, and is resolved at the moment of the call, in the same
/// call that acts on it, so nothing can be swapped between a check and its use.
///
/// Reading methods never change anything. [`apply`](Self::apply) is the one method that does, and
/// [`submit`](Self::submit) is `apply` without waiting.
///
/// # Enforcement
///
/// How hard the boundary is depends on the host. [`assurance`](Self::assurance) says so, and it is
/// a promise about this fence, not a hope: each layer has been seen to refuse when the fence was
/// opened.
///
/// # Implementing
///
/// Sealed. A fence is trusted code, and what it must uphold cannot be written in a signature.
pub trait Fence: fmt::Debug + Send + Sync + sealed::Sealed {
    /// The directories this fence was opened on, in order. A root may have been renamed since.
    fn roots(&self) -> &Roots;

    /// Who holds the boundary, and what is known not to be held.
    fn assurance(&self) -> &Assurance;

    /// Looks at what `path` names, or would name.
    ///
    /// An absent file is an answer and not an error: [`Stat::found`] is then `None`, and
    /// [`Stat::key`] still identifies the place.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Escape`] if `path` leads outside the root, whether or not anything is there;
    /// [`ErrorKind::WrongKind`] if a file is used as a directory; [`ErrorKind::NotFound`] if a
    /// symlink on the way dangles.
    fn stat(&self, path: &RootedPath, follow: Follow) -> Result<Stat>;

    /// Opens a regular file for reading, following a symlink in the last place.
    ///
    /// The file and its [`Stamp`](crate::Stamp) come from one descriptor, so the stamp describes
    /// the bytes that will be read, not the bytes that are there by then. Never blocks on a FIFO.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Escape`], [`ErrorKind::NotFound`], or [`ErrorKind::WrongKind`] if it is not a
    /// regular file.
    fn open(&self, path: &RootedPath) -> Result<Snapshot>;

    /// Lists a directory in the order of its names' bytes, one level deep, following a symlink in
    /// the last place of `path`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Escape`], [`ErrorKind::NotFound`], or [`ErrorKind::WrongKind`] if it is not a
    /// directory.
    fn list(&self, path: &RootedPath) -> Result<Vec<Entry>>;

    /// Makes one change beneath the roots, or none.
    ///
    /// Takes the mutation by value: what was judged is what is done, and it is done once. A reader
    /// sees the old file or the new one, never a part of either. On error nothing has changed, with
    /// two exceptions: directories made for [`Parents::Create`](crate::Parents::Create) may remain,
    /// and a failed [`Removal::Tree`](crate::Removal::Tree) may have removed a part.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Escape`] if any path leads outside its root; [`ErrorKind::Stale`] or
    /// [`ErrorKind::AlreadyExists`] if a [`Precondition`](crate::Precondition) does not hold;
    /// [`ErrorKind::Cancelled`]; [`ErrorKind::ConfinementLost`] if the confined thread has died or
    /// this is a forked child, in which case this fence refuses every change from then on.
    ///
    /// # Platforms
    ///
    /// [`Precondition::Matches`](crate::Precondition::Matches) is exact among all fences of all
    /// processes where the parent directory can be locked. A writer that is not one of ours is
    /// detected, and its file put back, where the file system can exchange two entries.
    fn apply(&self, mutation: Mutation, terms: &Terms) -> Result<Receipt>;

    /// Hands a change over and returns at once, with a future that needs no runtime.
    ///
    /// A fence without a confined thread makes the change here and now. Dropping the future
    /// cancels what has not begun; what has begun is finished.
    fn submit(&self, mutation: Mutation, terms: &Terms) -> Pending;
}

/// Who holds the boundary, weakest first.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Enforcement {
    /// Nobody.
    Unfenced,
    /// This process, which pins a directory and then proves where it is. A concurrent writer with
    /// the same rights can still move that directory after the proof.
    Checked,
    /// The kernel, which refuses to resolve a path outside the root (`openat2`, `RESOLVE_BENEATH`).
    Kernel,
    /// The acting thread has also given up the right to write anywhere else (Landlock), so the
    /// kernel refuses even what was resolved wrongly.
    Confined,
}

/// Who resolves a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Resolution {
    /// The kernel: `openat2` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`.
    Openat2,
    /// This process, name by name from descriptor to descriptor, with a proof at the end.
    Walk,
}

/// What confines the thread that acts.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Confinement {
    /// Nothing: changes are made on the caller's thread.
    Nothing,
    /// A Landlock domain over every right to change files.
    Landlock,
}

/// What is known not to be held. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Gap {
    /// A root is, or contains, a bind mount: a directory that is moved away on the other side of
    /// the mount still counts as beneath it.
    BindRoot,
    /// The mounts beneath the roots could not be read, so there may be bind mounts.
    MountsUnknown,
    /// The confinement could not be seen to hold: a root covers `/dev/null`, or there is none.
    Unproved,
    /// The kernel does not resolve beneath a directory here (`openat2`).
    NoOpenat2,
    /// The acting thread is not confined (Landlock).
    NoLandlock,
}

/// What a fence was seen to hold when it was opened.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Assurance {
    /// The level that may be claimed.
    pub level: Enforcement,
    /// Who resolves paths.
    pub resolution: Resolution,
    /// What confines the acting thread. It is used even where `level` cannot claim it.
    pub confinement: Confinement,
    /// Why `level` is not higher.
    pub gaps: Vec<Gap>,
}

/// How a fence is to be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// The weakest enforcement that is accepted.
    pub at_least: Enforcement,
    /// Whether a path may cross from one mount to another beneath a root (`RESOLVE_NO_XDEV`).
    pub cross_mounts: bool,
}

impl Default for Options {
    /// [`Enforcement::Checked`] or better, and mounts are crossed.
    fn default() -> Self {
        Self { at_least: Enforcement::Checked, cross_mounts: true }
    }
}

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
