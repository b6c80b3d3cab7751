//! Somebody who works against a call while it runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// How often an attacker has to have struck before a race proves anything.
const STRIKES: usize = 1_000;

/// Calls `round` at least `rounds` times while a thread exchanges `a` and `b` without pause, and
/// tells how often it did.
pub(crate) fn while_exchanging(
    a: &Path,
    b: &Path,
    rounds: usize,
    mut round: impl FnMut(),
) -> usize {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (stop, strikes) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
                strikes.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Also when a round panics: the scope waits for its thread.
        let _stop = Stop(&stop);
        let mut played = 0;
        while played < rounds || strikes.load(Ordering::Relaxed) < STRIKES {
            round();
            played += 1;
        }
    });
    strikes.into_inner()
}
