//! Where the answer to one handed-over change is left.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Thread;

use super::worker::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::mutation::Receipt;
use crate::path::RelPath;

const QUEUED: u8 = 0;
const BEGUN: u8 = 1;
const ABANDONED: u8 = 2;

/// Shared by the caller, who waits, and the confined thread, which answers once.
#[derive(Debug)]
pub(crate) struct Slot {
    process: u32,
    op: &'static str,
    path: RelPath,
    state: AtomicU8,
    done: AtomicBool,
    answer: Mutex<Answer>,
    worker: Arc<Place>,
}

#[derive(Debug, Default)]
struct Answer {
    result: Option<Result<Receipt>>,
    waiter: Option<Waiter>,
}

#[derive(Debug)]
enum Waiter {
    Thread(Thread),
    Task(Waker),
}

impl Slot {
    pub(super) fn new(op: &'static str, path: RelPath, worker: Arc<Place>) -> Self {
        Self {
            process: std::process::id(),
            op,
            path,
            state: AtomicU8::new(QUEUED),
            done: AtomicBool::new(false),
            answer: Mutex::default(),
            worker,
        }
    }

    fn answer(&self) -> MutexGuard<'_, Answer> {
        // No code that can panic runs while it is held.
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the change as begun, unless its caller has gone.
    pub(super) fn begin(&self) -> bool {
        self.state.compare_exchange(QUEUED, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Leaves the answer and wakes whoever waits for it.
    pub(super) fn finish(&self, result: Result<Receipt>) {
        let mut answer = self.answer();
        answer.result = Some(result);
        self.done.store(true, Ordering::Release);
        let waiter = answer.waiter.take();
        drop(answer);
        match waiter {
            Some(Waiter::Thread(thread)) => thread.unpark(),
            Some(Waiter::Task(waker)) => waker.wake(),
            None => {}
        }
    }

    /// Leaves the answer that the confined thread is gone.
    pub(super) fn lose(&self) {
        self.finish(Err(self.lost()));
    }

    fn lost(&self) -> Error {
        Error::new(self.op, self.path.as_path(), ErrorKind::ConfinementLost)
    }

    /// Whether the thread that would answer does not exist in this process.
    fn is_orphaned(&self) -> bool {
        self.process != std::process::id()
    }

    pub(crate) fn wait(&self) -> Result<Receipt> {
        if self.is_orphaned() {
            return Err(self.lost());
        }
        self.worker.watch(|| self.done.load(Ordering::Acquire));
        loop {
            let mut answer = self.answer();
            if let Some(result) = answer.result.take() {
                return result;
            }
            answer.waiter = Some(Waiter::Thread(std::thread::current()));
            drop(answer);
            std::thread::park();
        }
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Result<Receipt>> {
        if self.is_orphaned() {
            return Poll::Ready(Err(self.lost()));
        }
        let mut answer = self.answer();
        match answer.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                answer.waiter = Some(Waiter::Task(context.waker().clone()));
                Poll::Pending
            }
        }
    }

    /// The caller has gone: what has not begun is not begun any more.
    pub(crate) fn abandon(&self) {
        let _ = self.state.compare_exchange(QUEUED, ABANDONED, Ordering::AcqRel, Ordering::Acquire);
    }
}
