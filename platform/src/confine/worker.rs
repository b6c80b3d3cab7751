//! One thread that does jobs in the order in which they come, and the hand-off to it.
//!
//! The hand-off is the largest cost that confinement adds. Waking a thread that sleeps costs most,
//! so each side watches for the other for a few microseconds before it sleeps; but only while the
//! other was last seen on another CPU, since on the same one watching keeps it from running.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use super::slot::Slot;
use crate::error::Result;
use crate::mutation::{Mutation, Receipt, Terms};

/// How long one side watches for the other. Longer than a hot round trip, shorter than a wake-up.
const WATCH: Duration = Duration::from_micros(20);
/// Enough for any change: none recurses.
const STACK: usize = 256 * 1024;

/// Where one side of the hand-off was last seen.
#[derive(Debug, Default)]
pub(crate) struct Place {
    cpu: AtomicUsize,
    asleep: AtomicBool,
}

impl Place {
    fn arrive(&self) {
        self.cpu.store(this_cpu(), Ordering::Relaxed);
    }

    /// Watches for a moment until `happened`, if whoever is at this place can make it happen
    /// meanwhile.
    pub(super) fn watch(&self, happened: impl Fn() -> bool) {
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

#[derive(Debug)]
struct Job {
    mutation: Mutation,
    terms: Terms,
    slot: Arc<Slot>,
}

#[derive(Debug)]
struct Queue {
    jobs: VecDeque<Job>,
    open: bool,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    length: AtomicUsize,
    worker: Arc<Place>,
    caller: Place,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code that can panic runs while it is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; nothing once the queue is closed and empty.
    fn next(&self) -> Option<Job> {
        loop {
            {
                let mut queue = self.queue();
                if let Some(job) = queue.jobs.pop_front() {
                    self.length.store(queue.jobs.len(), Ordering::Release);
                    return Some(job);
                }
                if !queue.open {
                    return None;
                }
            }
            self.caller.watch(|| self.length.load(Ordering::Acquire) > 0);
            self.worker.asleep.store(true, Ordering::SeqCst);
            if self.length.load(Ordering::SeqCst) == 0 && self.queue().open {
                thread::park();
            }
            self.worker.asleep.store(false, Ordering::SeqCst);
            self.worker.arrive();
        }
    }
}

/// The thread, for as long as this value lives.
#[derive(Debug)]
pub(super) struct Worker {
    process: u32,
    shared: Arc<Shared>,
    thread: Thread,
    handle: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread, which first runs `setup` and does jobs only if that succeeds.
    pub(super) fn start<T: Send + 'static, E: Send + 'static>(
        setup: impl FnOnce() -> Result<T, E> + Send + 'static,
        run: impl Fn(Mutation, &Terms) -> Result<Receipt> + Send + 'static,
    ) -> io::Result<Result<(Self, T), E>> {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue { jobs: VecDeque::new(), open: true }),
            length: AtomicUsize::new(0),
            worker: Arc::default(),
            caller: Place::default(),
        });
        let (tell, told) = mpsc::sync_channel(1);
        let handle = thread::Builder::new().name("ringfence".into()).stack_size(STACK).spawn({
            let shared = Arc::clone(&shared);
            move || {
                let closing = Closing(shared);
                let ready = setup();
                let go_on = ready.is_ok();
                if tell.send(ready).is_ok() && go_on {
                    drop(tell);
                    work(&closing.0, run);
                }
            }
        })?;
        let thread = handle.thread().clone();
        let process = std::process::id();
        let mut worker = Self { process, shared, thread, handle: Some(handle) };
        match told.recv() {
            Ok(Ok(ready)) => Ok(Ok((worker, ready))),
            Ok(Err(refusal)) => Ok(Err(refusal)),
            Err(mpsc::RecvError) => {
                let panic = worker.handle.take().map(JoinHandle::join);
                drop::<Option<Result<(), Box<dyn Any + Send>>>>(panic);
                Err(io::Error::other("the confined thread died while it was being set up"))
            }
        }
    }

    /// Puts a change into the queue. It is answered in any case.
    pub(super) fn hand_over(&self, mutation: Mutation, terms: &Terms) -> Arc<Slot> {
        let place = Arc::clone(&self.shared.worker);
        let slot = Arc::new(Slot::new(mutation.op(), mutation.path().path.clone(), place));
        // The queue of a forked child may be locked by a thread that it does not have.
        if self.process != std::process::id() {
            return slot;
        }
        self.shared.caller.arrive();
        let job = Job { mutation, terms: terms.clone(), slot: Arc::clone(&slot) };
        {
            let mut queue = self.shared.queue();
            if !queue.open {
                drop(queue);
                slot.lose();
                return slot;
            }
            queue.jobs.push_back(job);
            self.shared.length.store(queue.jobs.len(), Ordering::SeqCst);
        }
        if self.shared.worker.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        slot
    }
}

/// Does jobs until there are no more, or one panics.
fn work(shared: &Shared, run: impl Fn(Mutation, &Terms) -> Result<Receipt>) {
    shared.worker.arrive();
    while let Some(Job { mutation, terms, slot }) = shared.next() {
        if !slot.begin() {
            continue;
        }
        match panic::catch_unwind(AssertUnwindSafe(|| run(mutation, &terms))) {
            Ok(result) => slot.finish(result),
            Err(_) => {
                tracing::error!("a change panicked: the fence refuses from now on");
                // Before the answer: whoever has it must find the queue closed.
                shared.queue().open = false;
                slot.lose();
                return;
            }
        }
        shared.worker.arrive();
    }
}

/// Closes the queue when the thread ends, however it ends, and answers what is still in it.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        let jobs = {
            let mut queue = self.0.queue();
            queue.open = false;
            std::mem::take(&mut queue.jobs)
        };
        for job in jobs {
            job.slot.lose();
        }
    }
}

impl Drop for Worker {
    /// Lets the thread finish what it was given, and waits for it.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        self.shared.queue().open = false;
        self.thread.unpark();
        if let Some(handle) = self.handle.take()
            // A task that is woken on the thread may drop the last owner there.
            && self.thread.id() != thread::current().id()
        {
            drop(handle.join());
        }
    }
}
