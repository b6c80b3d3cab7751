//! The boundary.

use std::fmt;
use std::path::PathBuf;

use crate::assurance::Assurance;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::mutation::{Mutation, Receipt, Terms};
use crate::path::RootedPath;
use crate::pending::Pending;
use crate::roots::Roots;
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
    /// [`Escape`](crate::ErrorKind::Escape) if `path` leads outside the root, whether or not
    /// anything is there; [`WrongKind`](crate::ErrorKind::WrongKind) if a file is used as a
    /// directory; [`NotFound`](crate::ErrorKind::NotFound) if a symlink on the way dangles.
    fn stat(&self, path: &RootedPath, follow: Follow) -> Result<Stat>;

    /// Opens a regular file for reading, following a symlink in the last place.
    ///
    /// The file and its [`Stamp`](crate::Stamp) come from one descriptor, so the stamp describes
    /// the bytes that will be read, not the bytes that are there by then. Never blocks on a FIFO.
    ///
    /// # Errors
    ///
    /// [`Escape`](crate::ErrorKind::Escape), [`NotFound`](crate::ErrorKind::NotFound), or
    /// [`WrongKind`](crate::ErrorKind::WrongKind) if it is not a regular file.
    fn open(&self, path: &RootedPath) -> Result<Snapshot>;

    /// Lists a directory in the order of its names' bytes, one level deep, following a symlink in
    /// the last place of `path`, and none in the directory. Looks at `cancel` before each entry.
    ///
    /// # Errors
    ///
    /// [`Escape`](crate::ErrorKind::Escape), [`NotFound`](crate::ErrorKind::NotFound), or
    /// [`WrongKind`](crate::ErrorKind::WrongKind) if it is not a directory;
    /// [`Cancelled`](crate::ErrorKind::Cancelled).
    fn list(&self, path: &RootedPath, cancel: &Cancel) -> Result<Vec<Entry>>;

    /// Makes one change beneath the roots, or none.
    ///
    /// Takes the mutation by value: what was judged is what is done, and it is done once. A reader
    /// sees the old file or the new one, never a part of either. On error nothing has changed, with
    /// two exceptions: directories made for [`Parents::Create`](crate::Parents::Create) may remain,
    /// and a failed [`Removal::Tree`](crate::Removal::Tree) may have removed a part.
    ///
    /// # Errors
    ///
    /// [`Escape`](crate::ErrorKind::Escape) if any path leads outside its root;
    /// [`Stale`](crate::ErrorKind::Stale) or [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if
    /// a [`Precondition`](crate::Precondition) does not hold;
    /// [`Busy`](crate::ErrorKind::Busy) if another process has held the lock of a directory for ten
    /// seconds; [`Cancelled`](crate::ErrorKind::Cancelled);
    /// [`ConfinementLost`](crate::ErrorKind::ConfinementLost) if the confined thread has died or
    /// this is a forked child, in which case this fence refuses every change from then on.
    ///
    /// # Platforms
    ///
    /// [`Precondition::Matches`](crate::Precondition::Matches) is exact among all fences of all
    /// processes where the parent directory can be locked. A writer that is not one of ours is
    /// detected, and its file put back, where the file system can exchange two entries.
    fn apply(&self, mutation: Mutation, terms: &Terms) -> Result<Receipt>;

    /// Says whether [`apply`](Self::apply) would make this change, and where: absolute and without
    /// symlinks, in the kernel's own words. Nothing is told where the system does not tell that, for
    /// want of `/proc`. Changes nothing.
    ///
    /// It answers from what can be seen now: where the path leads, what is there, the precondition,
    /// and the caller's own rights to the file and to its directory. Verdicts come in the order in
    /// which `apply` comes to them. It takes no lock, so what it saw can be another thing by the
    /// time of the change; and whether there is enough space, and the confined thread is still
    /// there, only the change itself can tell. Of a [`Removal::Tree`](crate::Removal::Tree) it looks
    /// at the top alone. Of a [`Mutation::Rename`] it answers where both ends are one entry, and
    /// says of that whether it may be taken elsewhere.
    ///
    /// # Errors
    ///
    /// Those of `apply`; [`Unsupported`](crate::ErrorKind::Unsupported) for a rename from one entry
    /// to another, and for an exchange.
    fn rehearse(&self, mutation: &Mutation) -> Result<Option<PathBuf>>;

    /// Hands a change over and returns at once, with a future that needs no runtime.
    ///
    /// A fence without a confined thread makes the change here and now. Changes are made in the
    /// order in which they are handed over, but that one which waits for another process lets the
    /// others pass. Dropping the future cancels what has not begun, and what waits; what has begun
    /// is finished.
    fn submit(&self, mutation: Mutation, terms: &Terms) -> Pending;
}
