//! One thread that makes changes in the order in which they come, and the hand-off to it.
//!
//! The hand-off is the largest cost that confinement adds. Waking a thread that sleeps costs most,
//! so each side watches for the other for a few microseconds before it sleeps; but only while the
//! other was last seen on another CPU, since on the same one watching keeps it from running.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};

use crate::error::Result;
use crate::mutation::{Mutation, Receipt, Terms};
use crate::own_process::{Process, this_process};

/// How long one side watches for the other: longer than a hot replacement in memory takes.
const WATCH: Duration = Duration::from_micros(50);

/// How long a change that has to wait for a lock lets pass before it tries again.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

#[derive(Debug)]
struct Job {
    mutation: Arc<Mutation>,
    terms: Terms,
    /// Since when it has met a lock.
    waits: Option<Instant>,
    answer: oneshot::Sender<Result<Receipt>>,
}

/// The thread, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Worker {
    process: Process,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    sides: Arc<Sides>,
}

/// What comes of a change that was handed over. An end without an answer is the end of the thread.
pub(crate) type Answer = oneshot::Receiver<Result<Receipt>>;

/// Makes one change; nothing if that has to wait for a lock, since when is then told.
pub(crate) type Act =
    Box<dyn Fn(&Mutation, &Terms, &mut Option<Instant>) -> Option<Result<Receipt>> + Send>;

/// An answer that is there already.
pub(crate) fn answered(result: Result<Receipt>) -> Answer {
    let (answer, receiver) = oneshot::channel();
    drop(answer.send(result));
    receiver
}

impl Worker {
    /// Starts the thread, which first runs `setup` and makes changes only if that succeeds. Gives
    /// what came of it.
    pub(super) fn start<T: Send + 'static>(
        setup: impl FnOnce() -> io::Result<T> + Send + 'static,
        act: Act,
    ) -> io::Result<(Self, T)> {
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
                    work(&queue, &sides, &act);
                }
            }
        })?;
        let worker =
            Self { process: this_process(), jobs: Some(jobs), thread: Some(thread), sides };
        let died = |_| Err(io::Error::other("the confined thread died while it was set up"));
        told.recv().unwrap_or_else(died).map(|found| (worker, found))
    }

    /// Puts a change into the queue. If nobody would take it out, that is the end already.
    pub(crate) fn hand_over(&self, mutation: Arc<Mutation>, terms: &Terms) -> Answer {
        let (answer, receiver) = oneshot::channel();
        // In a child of fork(2) the thread does not exist, and the queue may be locked for good.
        if let Some(jobs) = self.jobs.as_ref().filter(|_| self.process == this_process()) {
            self.sides.caller.arrive();
            drop(jobs.send(Job { mutation, terms: terms.clone(), waits: None, answer }));
        }
        receiver
    }

    pub(crate) fn is_this_thread(&self) -> bool {
        self.thread.as_ref().is_some_and(|own| own.thread().id() == thread::current().id())
    }

    /// Waits for the answer. Nothing if the thread has ended without one.
    pub(crate) fn wait(&self, answer: Answer) -> Option<Result<Receipt>> {
        self.sides.worker.watch(|| answer.has_message());
        answer.recv().ok()
    }
}

/// Makes changes until there are no more, or one panics. What is left then is dropped, and by that
/// its callers are told. A change that has to wait for a lock lets the others pass.
fn work(queue: &Receiver<Job>, sides: &Sides, act: &Act) {
    // A file that grows beyond the process's limit is an error, and not the end of the process.
    if let Err(errno) = SigSet::from(Signal::SIGXFSZ).thread_block() {
        tracing::debug!(%errno, "SIGXFSZ is not blocked");
    }
    sides.worker.arrive();
    let mut waiting = Vec::new();
    loop {
        let next = match waiting.len() {
            0 => sides.next(queue).ok_or(RecvTimeoutError::Disconnected),
            _ => queue.recv_timeout(PAUSE),
        };
        match next {
            Ok(job) => waiting.push(job),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if waiting.is_empty() => return,
            Err(RecvTimeoutError::Disconnected) => thread::sleep(PAUSE),
        }
        for mut job in std::mem::take(&mut waiting) {
            // Its caller has gone.
            if job.answer.is_closed() {
                continue;
            }
            let attempt = || act(&job.mutation, &job.terms, &mut job.waits);
            let Ok(done) = panic::catch_unwind(AssertUnwindSafe(attempt)) else {
                tracing::error!("a change panicked: the fence refuses every change from now on");
                return;
            };
            match done {
                None => waiting.push(job),
                Some(result) => {
                    sides.worker.arrive();
                    // Nobody may be there any more to hear it.
                    drop(job.answer.send(result));
                }
            }
        }
    }
}

impl Drop for Worker {
    /// Lets the thread finish what it was given, and waits for it.
    fn drop(&mut self) {
        if self.process != this_process() {
            std::mem::forget((self.jobs.take(), self.thread.take()));
            return;
        }
        self.jobs = None;
        // A task that is woken on the thread may drop the fence there.
        if !self.is_this_thread()
            && let Some(thread) = self.thread.take()
        {
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
        let mut job = None;
        self.caller.watch(|| {
            job = queue.try_recv().ok();
            job.is_some()
        });
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
