//! The jobs of one session.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use ringfence_platform::process::SpillFile;
use tracing::Span;
use tracing::dispatcher::{get_default, with_default};

use super::commanding::Begun;
use crate::audit::CommandRecord;
use crate::error::{Error, Result};
use crate::shell::{Job, Run};

/// The jobs of one session, and the files that its commands have left their output in. All of it
/// goes when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Jobs(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    jobs: BTreeMap<String, Job>,
    started: u64,
    files: Vec<SpillFile>,
}

impl Jobs {
    /// Keeps files for as long as the session lasts.
    pub(crate) fn keep(&self, files: Vec<SpillFile>) {
        self.kept().files.extend(files);
    }

    pub(crate) fn get(&self, id: &str) -> Option<Job> {
        self.kept().jobs.get(id).cloned()
    }

    /// Waits for a command on a thread of its own.
    pub(crate) fn start(
        &self,
        span: Span,
        run: Run,
        begun: Begun,
        mut record: CommandRecord,
    ) -> Result<Job> {
        let id = {
            let mut kept = self.kept();
            kept.started += 1;
            format!("job-{}", kept.started)
        };
        let job = begun.job(id.clone());
        let own = job.clone();
        // Whoever listens to this thread is told of the end too.
        let listening = get_default(Clone::clone);
        let wait = move || {
            with_default(&listening, || {
                let _entered = span.entered();
                let (ran, files) = begun.end(&run, &mut record);
                own.end_as(ran, files);
            });
        };
        let thread = thread::Builder::new().name("ringfence-job".into()).spawn(wait);
        // The command was dropped with what was to wait for it, and so has ended.
        thread.map_err(|source| Error::RunnerFailed { source })?;
        self.kept().jobs.insert(id, job.clone());
        Ok(job)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Jobs {
    /// Ends the jobs that still run.
    fn drop(&mut self) {
        for job in self.kept().jobs.values() {
            job.kill();
        }
    }
}
