//! One writer per directory entry in this process, first come, first served.
//!
//! An update that compares and then publishes is only whole if nobody of ours publishes between
//! the two. The lock is process-wide, since two fences may overlap, and it is taken inside the
//! fence, by identity of the directory and name, so no caller can forget it or spell around it.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::cancel::Cancel;
use crate::error::{ErrorKind, Fault};
use crate::path::Name;
use crate::stat::FileId;

/// Entries share stripes; two that do only wait for each other without need.
const STRIPES: usize = 64;
/// How often somebody who waits looks whether they were cancelled.
const GLANCE: Duration = Duration::from_millis(20);
/// How long opening a fence waits for the table. Only a child of `fork(2)` can find it held for
/// good, by a thread that it does not have.
const TABLE_DEADLINE: Duration = Duration::from_millis(200);

/// The locks of this process.
#[derive(Debug)]
pub(crate) struct Locks {
    process: u32,
    stripes: [Stripe; STRIPES],
}

#[derive(Debug, Default)]
struct Stripe {
    turn: Mutex<Turn>,
    moved_on: Condvar,
}

/// Numbered tickets, as at a counter.
#[derive(Debug, Default)]
struct Turn {
    serving: u64,
    next: u64,
    /// Tickets whose holders left before they were served.
    gone: BTreeSet<u64>,
}

/// One or two entries, held until dropped.
#[derive(Debug)]
pub(crate) struct EntryLock<'l> {
    stripes: [Option<&'l Stripe>; 2],
    /// Whether somebody else was served first, so that what was looked up before may be old.
    pub(crate) waited: bool,
}

impl Locks {
    /// The table of this process: made anew in a child of `fork(2)`, where the parent's may be held
    /// by threads that do not exist.
    pub(crate) fn of_this_process() -> Result<Arc<Self>, Fault> {
        static TABLE: Mutex<Option<Arc<Locks>>> = Mutex::new(None);
        let process = std::process::id();
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
        match &*table {
            Some(locks) if locks.process == process => Ok(Arc::clone(locks)),
            _ => Ok(Arc::clone(table.insert(Arc::new(Self::new())))),
        }
    }

    fn new() -> Self {
        Self { process: std::process::id(), stripes: std::array::from_fn(|_| Stripe::default()) }
    }

    /// Whether this is the table of the calling process, and not of one that it was forked from.
    pub(crate) fn is_mine(&self) -> bool {
        self.process == std::process::id()
    }

    /// Waits for the entry `name` of the directory `dir`.
    pub(crate) fn entry(
        &self,
        dir: FileId,
        name: &Name,
        cancel: &Cancel,
    ) -> Result<EntryLock<'_>, Fault> {
        let (stripe, waited) = self.stripes[index(dir, name)].wait(cancel)?;
        Ok(EntryLock { stripes: [Some(stripe), None], waited })
    }

    /// Waits for two entries, in an order that is the same for everybody.
    pub(crate) fn entries(
        &self,
        first: (FileId, &Name),
        second: (FileId, &Name),
        cancel: &Cancel,
    ) -> Result<EntryLock<'_>, Fault> {
        let mut both = [index(first.0, first.1), index(second.0, second.1)];
        both.sort_unstable();
        let (one, waited) = self.stripes[both[0]].wait(cancel)?;
        let mut lock = EntryLock { stripes: [Some(one), None], waited };
        if both[0] != both[1] {
            let (other, waited) = self.stripes[both[1]].wait(cancel)?;
            lock.stripes[1] = Some(other);
            lock.waited |= waited;
        }
        Ok(lock)
    }
}

fn index(dir: FileId, name: &Name) -> usize {
    let mut hasher = DefaultHasher::new();
    (dir, name).hash(&mut hasher);
    usize::try_from(hasher.finish() % STRIPES as u64).expect("it is less than the stripes")
}

impl Stripe {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        // No code that can panic runs while it is held.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, cancel: &Cancel) -> Result<(&Self, bool), Fault> {
        let mut turn = self.turn();
        let ticket = turn.next;
        turn.next += 1;
        let waited = turn.serving != ticket;
        while turn.serving != ticket {
            if cancel.is_cancelled() {
                turn.gone.insert(ticket);
                return Err(Fault::new(ErrorKind::Cancelled));
            }
            turn =
                self.moved_on.wait_timeout(turn, GLANCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok((self, waited))
    }

    fn leave(&self) {
        let mut turn = self.turn();
        turn.serving += 1;
        loop {
            let serving = turn.serving;
            if !turn.gone.remove(&serving) {
                break;
            }
            turn.serving += 1;
        }
        let others_wait = turn.next != turn.serving;
        drop(turn);
        if others_wait {
            self.moved_on.notify_all();
        }
    }
}

impl Drop for EntryLock<'_> {
    fn drop(&mut self) {
        for stripe in self.stripes.iter().flatten() {
            stripe.leave();
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
        let held = locks.entry(DIR, &entry, &Cancel::never()).unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let stripe = &locks.stripes[index(DIR, &entry)];
                let before = stripe.turn().next;
                let (locks, entry, tell) = (&locks, &entry, tell.clone());
                scope.spawn(move || {
                    let lock = locks.entry(DIR, entry, &Cancel::never()).unwrap();
                    assert!(lock.waited);
                    tell.send(number).unwrap();
                    drop(lock);
                });
                while stripe.turn().next == before {
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
        let held = locks.entry(DIR, &entry, &Cancel::never()).unwrap();
        let cancelled = Cancel::new();
        cancelled.cancel();
        let fault = locks.entry(DIR, &entry, &cancelled).unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::Cancelled);
        drop(held);
        assert!(!locks.entry(DIR, &entry, &Cancel::never()).unwrap().waited);
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
