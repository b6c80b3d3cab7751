//! A caller's wish that a call not be made after all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{ErrorKind, Fault};

/// A token that cancels the calls it was given to.
///
/// Clones share one state. It is looked at between the steps of a change, while that waits for a
/// lock, and a last time right before it is published; what has been published stays. What is read
/// or listed is given up between two pieces of it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Option<Arc<AtomicBool>>);

impl Cancel {
    /// A token that can be cancelled.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// A token that never is.
    pub const fn never() -> Self {
        Self(None)
    }

    /// Cancels every call that was given this token or a clone of it. Does nothing to
    /// [`never`](Self::never).
    pub fn cancel(&self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::Release);
        }
    }

    /// Whether somebody has cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire))
    }

    /// Goes on only if nobody has.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        Fault::new(ErrorKind::Cancelled).unless(!self.is_cancelled())
    }
}
