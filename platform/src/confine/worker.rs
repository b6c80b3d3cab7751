//! One thread that makes changes in the order in which they come, and the hand-off to it.
//!
//! The hand-off is the largest cost that confinement adds. Waking a thread that sleeps costs most,
//! so each side watches for the other for a few microseconds before it sleeps; but only while the
//! other was last seen on another CPU, since on the same one watching keeps it from running.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::mutation::{Mutation, Receipt, Terms};

/// How long one side watches for the other: longer than a hot round trip, shorter than a wake-up.
const WATCH: Duration = Duration::from_micros(20);

#[derive(Debug)]
struct Job {
    mutation: Mutation,
    terms: Terms,
    answer: oneshot::Sender<Result<Receipt>>,
}

/// The thread, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Worker {
    process: u32,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    sides: Arc<Sides>,
}

/// What comes of a change that was handed over. An end without an answer is the end of the thread.
pub(crate) type Answer = oneshot::Receiver<Result<Receipt>>;

impl Worker {
    /// Starts the thread, which first runs `setup` and makes changes only if that succeeds.
    pub(super) fn start(
        setup: impl FnOnce() -> io::Result<()> + Send + 'static,
        run: impl Fn(Mutation, &Terms) -> Result<Receipt> + Send + 'static,
    ) -> io::Result<Self> {
        let sides = Arc::new(Sides::default());
        let (jobs, queue) = channel();
        let (tell, told) = sync_channel(1);
        let thread = thread::Builder::new().name("ringfence".into()).spawn({
            let sides = Arc::clone(&sides);
            move || {
                let ready = setup();
                let go_on = ready.is_ok();
                drop(tell.send(ready));
                if go_on {
                    work(&queue, &sides, run);
                }
            }
        })?;
        let worker =
            Self { process: std::process::id(), jobs: Some(jobs), thread: Some(thread), sides };
        let died = |_| Err(io::Error::other("the confined thread died while it was set up"));
        told.recv().unwrap_or_else(died).map(|()| worker)
    }

    /// Puts a change into the queue. Nothing if nobody would take it out.
    pub(crate) fn hand_over(&self, mutation: Mutation, terms: &Terms) -> Option<Answer> {
        // In a child of fork(2) the thread does not exist, and the queue may be locked for good.
        if self.process != std::process::id() {
            return None;
        }
        self.sides.caller.arrive();
        let (answer, receiver) = oneshot::channel();
        let job = Job { mutation, terms: terms.clone(), answer };
        self.jobs.as_ref()?.send(job).ok().map(|()| receiver)
    }

    /// Waits for the answer. Nothing if the thread has ended without one.
    pub(crate) fn wait(&self, answer: Answer) -> Option<Result<Receipt>> {
        self.sides.worker.watch(|| answer.has_message());
        answer.recv().ok()
    }
}

/// Makes changes until there are no more, or one panics. What is left in the queue then is dropped,
/// which its callers are told by that.
fn work(queue: &Receiver<Job>, sides: &Sides, run: impl Fn(Mutation, &Terms) -> Result<Receipt>) {
    sides.worker.arrive();
    while let Some(Job { mutation, terms, answer }) = sides.next(queue) {
        // Its caller has gone.
        if answer.is_closed() {
            continue;
        }
        let Ok(result) = panic::catch_unwind(AssertUnwindSafe(|| run(mutation, &terms))) else {
            tracing::error!("a change panicked: the fence refuses every change from now on");
            return;
        };
        sides.worker.arrive();
        // Nobody may be there any more to hear it.
        drop(answer.send(result));
    }
}

impl Drop for Worker {
    /// Lets the thread finish what it was given, and waits for it.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget((self.jobs.take(), self.thread.take()));
            return;
        }
        self.jobs = None;
        // A task that is woken on the thread may drop the fence there.
        let elsewhere = |thread: &JoinHandle<()>| thread.thread().id() != thread::current().id();
        if let Some(thread) = self.thread.take().filter(elsewhere) {
            drop(thread.join());
        }
    }
}

/// Where the two sides of the hand-off were last seen.
#[derive(Debug, Default)]
struct Sides {
    worker: Side,
    caller: Side,
}

#[derive(Debug, Default)]
struct Side {
    cpu: AtomicUsize,
    asleep: AtomicBool,
}

impl Sides {
    /// The next job; nothing when there can be no more.
    fn next(&self, queue: &Receiver<Job>) -> Option<Job> {
        let mut job = queue.try_recv().ok();
        if job.is_none() {
            self.caller.watch(|| {
                job = queue.try_recv().ok();
                job.is_some()
            });
        }
        job.or_else(|| {
            self.worker.asleep.store(true, Ordering::Relaxed);
            let job = queue.recv().ok();
            self.worker.asleep.store(false, Ordering::Relaxed);
            self.worker.arrive();
            job
        })
    }
}

impl Side {
    fn arrive(&self) {
        self.cpu.store(this_cpu(), Ordering::Relaxed);
    }

    /// Watches for a moment until `happened`, if this side can make it happen meanwhile.
    fn watch(&self, mut happened: impl FnMut() -> bool) {
        if self.asleep.load(Ordering::Relaxed) || self.cpu.load(Ordering::Relaxed) == this_cpu() {
            return;
        }
        let began = Instant::now();
        while !happened() && began.elapsed() < WATCH {
            std::hint::spin_loop();
        }
    }
}

/// The CPU this thread runs on. Where the system does not tell, all are one, and nobody watches.
fn this_cpu() -> usize {
    nix::sched::sched_getcpu().unwrap_or(0)
}
