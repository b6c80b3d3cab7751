//! Threads that go on until their test is through.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the flag when it is dropped: also when the test fails, since a scope waits for its threads.
#[derive(Debug)]
pub(crate) struct StopOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
