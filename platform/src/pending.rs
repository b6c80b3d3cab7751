//! A change that has been handed over.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::error::Result;
use crate::mutation::{Mutation, Receipt};
use crate::process::{Process, this_process};

/// A change that has been handed to a fence: a future that needs no runtime.
///
/// Dropping it cancels the change if it has not begun; one that has begun is finished.
#[derive(Debug)]
#[must_use = "dropping it cancels the change if it has not begun"]
pub struct Pending(State);

#[derive(Debug)]
enum State {
    Ready(Option<Result<Receipt>>),
    HandedOver {
        process: Process,
        answer: oneshot::AsyncReceiver<Result<Receipt>>,
        of: Arc<Mutation>,
    },
}

impl Pending {
    pub(crate) fn ready(result: Result<Receipt>) -> Self {
        Self(State::Ready(Some(result)))
    }

    pub(crate) fn handed_over(
        answer: oneshot::Receiver<Result<Receipt>>,
        of: Arc<Mutation>,
    ) -> Self {
        let process = this_process();
        Self(State::HandedOver { process, answer: answer.into_future(), of })
    }
}

impl Future for Pending {
    type Output = Result<Receipt>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(result) => {
                Poll::Ready(result.take().expect("it is not polled after it was ready"))
            }
            // The thread that would answer does not exist in a child of fork(2).
            State::HandedOver { process, of, .. } if *process != this_process() => {
                Poll::Ready(of.lost())
            }
            State::HandedOver { answer, of, .. } => {
                Pin::new(answer).poll(context).map(|end| end.unwrap_or_else(|_| of.lost()))
            }
        }
    }
}
