//! What blocks is done beside the connection, and is waited for in the end.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The threads that are under way.
#[derive(Debug, Default)]
pub(super) struct Threads(Mutex<Vec<JoinHandle<()>>>);

impl Threads {
    /// Does `work` on a thread of its own. Where there can be none it is dropped, and with it the
    /// request that it would have answered, which the client is told.
    pub(super) fn start(&self, work: impl FnOnce() + Send + 'static) {
        let mut handles = self.handles();
        handles.retain(|handle| !handle.is_finished());
        match thread::Builder::new().name("ringfence-agent".into()).spawn(work) {
            Ok(handle) => handles.push(handle),
            Err(error) => tracing::warn!(%error, "no thread for a request"),
        }
    }

    /// Waits for all of them. One that has panicked has told so.
    pub(super) fn wait(&self) {
        let handles = std::mem::take(&mut *self.handles());
        for handle in handles {
            drop(handle.join());
        }
    }

    fn handles(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
