//! One change of a session after the other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use ringfence_platform::Cancel;

/// How long somebody who waits sleeps before they look whether they are to give up.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Whose turn it is. First come, first served.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    line: Mutex<Line>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Line {
    next: u64,
    /// Who waits, by number and thread; the first has the turn.
    waiting: Vec<(u64, ThreadId)>,
}

/// Why somebody does not get a turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NoTurn {
    /// The call was cancelled.
    Cancelled,
    /// This thread has the turn already, and would wait for itself.
    Held,
}

/// A turn that is over when it is dropped.
#[derive(Debug)]
pub(crate) struct Taken<'a>(&'a Turn, u64);

impl Turn {
    /// Waits for a turn.
    pub(crate) fn take(&self, cancel: &Cancel) -> Result<Taken<'_>, NoTurn> {
        let mut line = self.line();
        let this = std::thread::current().id();
        if line.waiting.first().is_some_and(|(_, first)| *first == this) {
            return Err(NoTurn::Held);
        }
        let number = line.next;
        line.next += 1;
        line.waiting.push((number, this));
        // Leaves the line wherever this returns.
        let taken = Taken(self, number);
        while line.waiting.first() != Some(&(number, this)) {
            if cancel.is_cancelled() {
                drop(line);
                return Err(NoTurn::Cancelled);
            }
            let waited = self.moved.wait_timeout(line, BETWEEN_LOOKS);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(line);
        Ok(taken)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.line().waiting.retain(|(number, _)| *number != self.1);
        self.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_turn_and_a_cancelled_one_leaves_the_line() {
        let turn = Turn::default();
        let first = turn.take(&Cancel::never()).unwrap();
        assert_eq!(turn.take(&Cancel::never()).err(), Some(NoTurn::Held));
        let cancelled = Cancel::new();
        cancelled.cancel();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| turn.take(&cancelled).err());
            assert_eq!(other.join().unwrap(), Some(NoTurn::Cancelled));
        });
        drop(first);
        assert!(turn.take(&Cancel::never()).is_ok());
        assert!(turn.take(&Cancel::never()).is_ok());
    }

    #[test]
    fn nobody_shares_a_turn() {
        let (turn, inside) = (Turn::default(), Mutex::new(()));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _turn = turn.take(&Cancel::never()).unwrap();
                        assert!(inside.try_lock().is_ok());
                    }
                });
            }
        });
    }
}
