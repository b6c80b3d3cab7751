//! A change that has been handed over.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::confine::Slot;
use crate::error::Result;
use crate::mutation::Receipt;

/// A change that has been handed to a fence. Await it, or [`wait`](Self::wait) for it.
///
/// Dropping it cancels the change if it has not begun; one that has begun is finished.
#[derive(Debug)]
#[must_use = "dropping it cancels the change if it has not begun"]
pub struct Pending(State);

#[derive(Debug)]
enum State {
    Ready(Option<Result<Receipt>>),
    HandedOver(Arc<Slot>),
}

impl Pending {
    pub(crate) fn ready(result: Result<Receipt>) -> Self {
        Self(State::Ready(Some(result)))
    }

    pub(crate) fn handed_over(slot: Arc<Slot>) -> Self {
        Self(State::HandedOver(slot))
    }

    /// Blocks until the change has been made or refused.
    ///
    /// # Errors
    ///
    /// As [`Fence::apply`](crate::Fence::apply).
    pub fn wait(mut self) -> Result<Receipt> {
        match &mut self.0 {
            State::Ready(result) => result.take().expect("a Pending is waited for once"),
            State::HandedOver(slot) => slot.wait(),
        }
    }
}

impl Future for Pending {
    type Output = Result<Receipt>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(result) => {
                Poll::Ready(result.take().expect("a Pending is not polled after it was ready"))
            }
            State::HandedOver(slot) => slot.poll(context),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let State::HandedOver(slot) = &self.0 {
            slot.abandon();
        }
    }
}
