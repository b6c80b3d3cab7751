//! One writer per directory entry in this process, first come, first served.
//!
//! An update that compares and then publishes is only whole if nobody of ours publishes between
//! the two. The lock is process-wide, since two fences may overlap, and it is taken inside the
//! fence, by identity of the directory and name, so no caller can forget it or spell around it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::cancel::Cancel;
use crate::error::{ErrorKind, Fault};
use crate::path::Name;
use crate::stat::FileId;

/// How often somebody who waits looks whether they were cancelled.
const GLANCE: Duration = Duration::from_millis(20);
/// How long opening a fence waits for the table. Only a child of `fork(2)` can find it held for
/// good, by a thread that it does not have.
const TABLE_DEADLINE: Duration = Duration::from_millis(200);

/// The locks of this process.
#[derive(Debug)]
pub(crate) struct Locks {
    process: u32,
    queue: Mutex<Queue>,
    moved_on: Condvar,
}

/// Everybody who holds an entry or waits for one, in the order in which they came.
#[derive(Debug, Default)]
struct Queue {
    tickets: Vec<Ticket>,
    next: u64,
}

/// Wants one entry, or two at once, each by a hash. Two entries that share one only wait for each
/// other without need.
#[derive(Debug)]
struct Ticket {
    number: u64,
    entries: [u64; 2],
}

/// One or two entries, held until dropped.
#[derive(Debug)]
pub(crate) struct EntryLock<'l> {
    locks: &'l Locks,
    number: u64,
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
        if !table.as_ref().is_some_and(|locks| locks.is_mine()) {
            *table = Some(Arc::new(Self::new()));
        }
        Ok(Arc::clone(table.as_ref().expect("it was just made")))
    }

    fn new() -> Self {
        Self { process: std::process::id(), queue: Mutex::default(), moved_on: Condvar::new() }
    }

    /// Whether this is the table of the calling process, and not of one that it was forked from.
    pub(crate) fn is_mine(&self) -> bool {
        self.process == std::process::id()
    }

    /// Waits for two entries at once, which may be the same.
    pub(crate) fn entries(
        &self,
        first: (FileId, &Name),
        second: (FileId, &Name),
        cancel: &Cancel,
    ) -> Result<EntryLock<'_>, Fault> {
        let entries = [first, second].map(|entry| {
            let mut hasher = DefaultHasher::new();
            entry.hash(&mut hasher);
            hasher.finish()
        });
        let mut queue = self.queue();
        let number = queue.next;
        queue.next += 1;
        queue.tickets.push(Ticket { number, entries });
        // Leaves the queue when it is dropped, served or not.
        let mut lock = EntryLock { locks: self, number, waited: false };
        while queue.serves_before(number, entries) {
            lock.waited = true;
            if cancel.is_cancelled() {
                drop(queue);
                return Err(Fault::new(ErrorKind::Cancelled));
            }
            let woken = self.moved_on.wait_timeout(queue, GLANCE);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(lock)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code that can panic runs while it is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Whether somebody who came before `number` holds or awaits one of `entries`.
    fn serves_before(&self, number: u64, entries: [u64; 2]) -> bool {
        let earlier = self.tickets.iter().take_while(|ticket| ticket.number != number);
        earlier.into_iter().any(|ticket| ticket.entries.iter().any(|e| entries.contains(e)))
    }
}

impl Drop for EntryLock<'_> {
    fn drop(&mut self) {
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

    fn name(text: &str) -> Name {
        Name::new(text.as_ref()).unwrap()
    }

    const DIR: FileId = FileId { dev: 1, ino: 2 };

    #[test]
    fn one_at_a_time_is_served_and_in_the_order_of_asking() {
        let locks = Locks::new();
        let entry = name("an entry of the order test");
        let held = locks.entries((DIR, &entry), (DIR, &entry), &Cancel::never()).unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let before = locks.queue().next;
                let (locks, entry, tell) = (&locks, &entry, tell.clone());
                scope.spawn(move || {
                    let lock = locks.entries((DIR, entry), (DIR, entry), &Cancel::never()).unwrap();
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
        let entry = name("an entry of the cancel test");
        let held = locks.entries((DIR, &entry), (DIR, &entry), &Cancel::never()).unwrap();
        let cancelled = Cancel::new();
        cancelled.cancel();
        let fault = locks.entries((DIR, &entry), (DIR, &entry), &cancelled).unwrap_err();
        assert_eq!(fault.kind, ErrorKind::Cancelled);
        drop(held);
        assert!(!locks.entries((DIR, &entry), (DIR, &entry), &Cancel::never()).unwrap().waited);
    }

    #[test]
    fn two_entries_asked_for_in_opposite_orders_do_not_block_each_other() {
        let locks = Locks::new();
        let (a, b) = (name("a"), name("b"));
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for flip in [false, true] {
                let (locks, a, b, inside) = (&locks, &a, &b, &inside);
                scope.spawn(move || {
                    for _ in 0..10_000 {
                        let (x, y) = if flip { (a, b) } else { (b, a) };
                        let held = locks.entries((DIR, x), (DIR, y), &Cancel::never()).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(held);
                    }
                });
            }
        });
    }
}
