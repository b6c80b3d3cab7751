//! One writer per directory, first come, first served.
//!
//! An update that compares and then publishes is only whole if nobody of ours publishes between
//! the two. The lock is taken inside the fence, by identity of the directory, so no caller can
//! forget it or spell around it. It has two layers: a queue of this process, since two fences may
//! overlap, and the advisory lock of the directory for other processes.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::cancel::Cancel;
use crate::dir::{Dir, DirLock};
use crate::error::{ErrorKind, Fault};
use crate::own_process::{Process, this_process};
use crate::stat::FileId;

/// How often somebody who waits looks whether they were cancelled.
const GLANCE: Duration = Duration::from_millis(20);
/// How long opening a fence waits for the table. Only a child of `fork(2)` can find it held for
/// good, by a thread that it does not have.
const TABLE_DEADLINE: Duration = Duration::from_millis(200);

/// The locks of this process.
#[derive(Debug)]
pub(crate) struct Locks {
    process: Process,
    queue: Mutex<Queue>,
    moved_on: Condvar,
}

/// Everybody who holds a directory or waits for one, in the order in which they came.
#[derive(Debug, Default)]
struct Queue {
    tickets: Vec<Ticket>,
    next: u64,
}

/// Wants one directory, or two at once.
#[derive(Debug)]
struct Ticket {
    number: u64,
    dirs: [FileId; 2],
}

/// One or two directories, held until dropped.
#[derive(Debug)]
pub(crate) struct Lock<'l> {
    locks: &'l Locks,
    number: u64,
    between_processes: [Option<DirLock<'l>>; 2],
    /// Whether somebody else was served first, so that what was looked up before may be old.
    pub(crate) waited: bool,
}

impl Locks {
    /// The table of this process: made anew in a child of `fork(2)`, where the parent's may be held
    /// by threads that do not exist.
    pub(crate) fn of_this_process() -> Result<Arc<Self>, Fault> {
        static TABLE: Mutex<Option<Arc<Locks>>> = Mutex::new(None);
        let began = Instant::now();
        let mut table = loop {
            match TABLE.try_lock() {
                Ok(table) => break table,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if began.elapsed() > TABLE_DEADLINE => {
                    return Err(Fault::new(ErrorKind::Busy));
                }
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        };
        let mine = table.take().filter(|locks| locks.is_mine());
        Ok(Arc::clone(table.insert(mine.unwrap_or_else(|| Arc::new(Self::new())))))
    }

    fn new() -> Self {
        Self { process: this_process(), queue: Mutex::default(), moved_on: Condvar::new() }
    }

    /// Whether this is the table of the calling process, and not of one that it was forked from.
    pub(crate) fn is_mine(&self) -> bool {
        self.process == this_process()
    }

    /// Waits for two directories at once, which may be the same.
    ///
    /// It waits for nobody in another process: if one holds the lock, the fault says so.
    pub(crate) fn lock<'l>(
        &'l self,
        mut dirs: [(FileId, &'l Dir); 2],
        cancel: &Cancel,
    ) -> Result<Lock<'l>, Fault> {
        let mut queue = self.queue();
        let number = queue.next;
        queue.next += 1;
        queue.tickets.push(Ticket { number, dirs: dirs.map(|(id, _)| id) });
        // Leaves the queue when it is dropped, served or not.
        let mut lock = Lock { locks: self, number, between_processes: [None, None], waited: false };
        while queue.serves_before(number, dirs) {
            lock.waited = true;
            if let Err(fault) = cancel.check() {
                drop(queue);
                return Err(fault);
            }
            let woken = self.moved_on.wait_timeout(queue, GLANCE);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(queue);
        // In an order that is the same for everybody; and once, if both are one directory.
        dirs.sort_by_key(|(id, _)| *id);
        lock.between_processes[0] = Some(dirs[0].1.lock()?);
        if dirs[0].0 != dirs[1].0 {
            lock.between_processes[1] = Some(dirs[1].1.lock()?);
        }
        Ok(lock)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code that can panic runs while it is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Whether somebody who came before `number` holds or awaits one of `dirs`.
    fn serves_before(&self, number: u64, dirs: [(FileId, &Dir); 2]) -> bool {
        let mut earlier = self.tickets.iter().take_while(|ticket| ticket.number != number);
        earlier.any(|ticket| dirs.iter().any(|(id, _)| ticket.dirs.contains(id)))
    }
}

impl Lock<'_> {
    /// Whether other processes are kept out too: a directory that cannot be read is not locked.
    pub(crate) fn is_between_processes(&self) -> bool {
        self.between_processes.iter().flatten().all(|lock| lock.0.is_some())
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // First, so that whoever is served next finds it free.
        self.between_processes = [None, None];
        let mut queue = self.locks.queue();
        queue.tickets.retain(|ticket| ticket.number != self.number);
        if !queue.tickets.is_empty() {
            self.locks.moved_on.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;
    use crate::dir::Hold;

    /// Two directories with what identifies them.
    struct Place([(FileId, Dir); 2]);

    impl Place {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            let dirs = ["a", "b"].map(|name| {
                std::fs::create_dir(place.path().join(name)).unwrap();
                let dir = Dir::open_ambient(&place.path().join(name)).unwrap();
                let dir = dir.again(Hold::Readable).unwrap();
                (dir.id().unwrap(), dir)
            });
            Self(dirs)
        }

        fn pair(&self, first: usize, second: usize) -> [(FileId, &Dir); 2] {
            [first, second].map(|index| (self.0[index].0, &self.0[index].1))
        }
    }

    #[test]
    fn one_at_a_time_is_served_and_in_the_order_of_asking() {
        let locks = Locks::new();
        let place = Place::new();
        let held = locks.lock(place.pair(0, 0), &Cancel::never()).unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let before = locks.queue().next;
                let (locks, place, tell) = (&locks, &place, tell.clone());
                scope.spawn(move || {
                    let lock = locks.lock(place.pair(0, 0), &Cancel::never()).unwrap();
                    assert!(lock.waited);
                    tell.send(number).unwrap();
                    drop(lock);
                });
                while locks.queue().next == before {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        drop(tell);
        assert_eq!(told.iter().collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn whoever_cancels_leaves_the_queue_and_the_next_is_served() {
        let locks = Locks::new();
        let place = Place::new();
        let held = locks.lock(place.pair(0, 0), &Cancel::never()).unwrap();
        let cancelled = Cancel::new();
        cancelled.cancel();
        let fault = locks.lock(place.pair(1, 0), &cancelled).unwrap_err();
        assert_eq!(fault.kind, ErrorKind::Cancelled);
        drop(held);
        assert!(!locks.lock(place.pair(0, 1), &Cancel::never()).unwrap().waited);
    }

    #[test]
    fn two_directories_asked_for_in_opposite_orders_do_not_block_each_other() {
        let locks = Locks::new();
        let place = Place::new();
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for flip in [false, true] {
                let (locks, place, inside) = (&locks, &place, &inside);
                scope.spawn(move || {
                    for _ in 0..10_000 {
                        let pair = if flip { place.pair(0, 1) } else { place.pair(1, 0) };
                        let held = locks.lock(pair, &Cancel::never()).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(held);
                    }
                });
            }
        });
    }
}
