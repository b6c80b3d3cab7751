//! A command in the background.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ringfence_platform::Cancel;
use ringfence_platform::process::{Killer, SpillFile};

use super::ran::{Output, Ran};
use super::started::Written;

/// How long what was killed may take to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// A command in the background. It ends with its session at the latest; dropping this handle lets
/// it go on.
#[derive(Clone, Debug)]
pub struct Job(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    id: String,
    cancel: Cancel,
    killer: Option<Killer>,
    written: Arc<Written>,
    end: Mutex<Option<End>>,
    ended: Condvar,
}

#[derive(Debug)]
struct End {
    ran: Ran,
    /// They go with the job.
    _files: Vec<SpillFile>,
}

/// How far a job has come.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JobState {
    /// It runs, and has written this so far.
    Running {
        /// To its standard output.
        stdout: Output,
        /// To its standard error.
        stderr: Output,
    },
    /// It has ended.
    Ended(Ran),
}

impl Job {
    pub(crate) fn new(
        id: String,
        cancel: Cancel,
        killer: Option<Killer>,
        written: Arc<Written>,
    ) -> Self {
        let (end, ended) = (Mutex::new(None), Condvar::new());
        Self(Arc::new(Shared { id, cancel, killer, written, end, ended }))
    }

    /// How the session calls it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// How far it has come by now.
    #[must_use]
    pub fn state(&self) -> JobState {
        let end = self.end();
        match &*end {
            Some(End { ran, .. }) => JobState::Ended(ran.clone()),
            None => {
                let [stdout, stderr] = self.0.written.so_far();
                JobState::Running { stdout, stderr }
            }
        }
    }

    /// Ends it, and all that it started, at once. Returns when that is done, within a second.
    pub fn kill(&self) {
        let end = self.end();
        if end.is_none() {
            self.0.cancel.cancel();
            if let Some(killer) = &self.0.killer {
                killer.kill();
            }
            let waited = self.0.ended.wait_timeout_while(end, PATIENCE, |end| end.is_none());
            drop(waited);
        }
    }

    /// It has ended so.
    pub(crate) fn end_as(&self, ran: Ran, files: Vec<SpillFile>) {
        *self.end() = Some(End { ran, _files: files });
        self.0.ended.notify_all();
    }

    fn end(&self) -> MutexGuard<'_, Option<End>> {
        self.0.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
