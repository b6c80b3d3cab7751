//! A change that has been handed over.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::confine::{Answer, Worker};
use crate::error::Result;
use crate::mutation::{Mutation, Receipt};
use crate::own_process::{Process, this_process};

/// A change that has been handed to a fence: a future that needs no runtime.
///
/// Dropping it cancels the change if it has not begun; one that has begun is finished.
#[derive(Debug)]
#[must_use = "dropping it cancels the change if it has not begun"]
pub struct Pending {
    /// Whose thread answers; nobody's, if the answer is there already.
    by: Option<Process>,
    answer: oneshot::AsyncReceiver<Result<Receipt>>,
    of: Arc<Mutation>,
}

impl Pending {
    pub(crate) fn new(answer: Answer, by: Option<&Worker>, of: Arc<Mutation>) -> Self {
        Self { by: by.map(|_| this_process()), answer: answer.into_future(), of }
    }
}

impl Future for Pending {
    type Output = Result<Receipt>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // The thread that would answer does not exist in a child of fork(2).
        if self.by.is_some_and(|process| process != this_process()) {
            return Poll::Ready(self.of.lost());
        }
        let answer = Pin::new(&mut self.answer).poll(context);
        answer.map(|end| end.unwrap_or_else(|_| self.of.lost()))
    }
}
