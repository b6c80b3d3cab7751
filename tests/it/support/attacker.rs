//! Somebody who works against a call while it runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// How often an attacker has to have struck before a race proves anything.
const STRIKES: usize = 1_000;

/// How many rounds may come to nothing for one that counts.
const PATIENCE: usize = 2_000;

/// Calls `round` until `rounds` of them count, which each tells, while a thread exchanges `a` and
/// `b` without pause. Tells how often it did.
pub(crate) fn while_exchanging(
    a: &Path,
    b: &Path,
    rounds: usize,
    mut round: impl FnMut() -> bool,
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
        let (mut counted, mut in_vain) = (0, 0);
        while counted < rounds || strikes.load(Ordering::Relaxed) < STRIKES {
            if round() {
                counted += 1;
            } else {
                in_vain += 1;
                assert!(in_vain < PATIENCE * rounds, "only {counted} of {in_vain} rounds counted");
            }
        }
    });
    strikes.into_inner()
}
