//! One command of a model: run, started, looked at or ended.

use std::path::PathBuf;

use crate::policy::Escalation;
use crate::shell::{self, Job, JobState};

use super::answer::Answer;
use super::arguments::{Command, Place, Wider};
use super::context::{CallContext, OutputListener};
use super::failure::Failure;
use super::run::Run;

impl Run<'_> {
    /// Runs a command to its end, or starts it.
    pub(super) fn command(
        &self,
        command: Command,
        wider: Option<Wider>,
    ) -> Result<Answer, Failure> {
        let place = command.place;
        let path = command.workdir.clone().unwrap_or_else(|| PathBuf::from("."));
        let run = self.described(command, wider);
        match place {
            Place::Foreground => {
                let ran = self.session.run(run).map_err(|error| self.refused(&path, error))?;
                Ok(Answer::Ran { job: None, ran: Box::new(ran) })
            }
            Place::Background => {
                let job = self.session.start(run).map_err(|error| self.refused(&path, error))?;
                self.looks.begin(self.session, &job);
                Ok(Answer::Started { job: job.id().to_owned() })
            }
        }
    }

    /// What a job has written since the last look, and how it ended if it has.
    pub(super) fn look(&self, id: String) -> Result<Answer, Failure> {
        let job = self.job(&id)?;
        Ok(match self.looks.look(self.session, &job) {
            JobState::Running { stdout, stderr } => Answer::Running { job: id, stdout, stderr },
            JobState::Ended(ran) => Answer::Ran { job: Some(id), ran: Box::new(ran) },
        })
    }

    /// Ends a job, and shows the last of it.
    pub(super) fn kill(&self, id: String) -> Result<Answer, Failure> {
        self.job(&id)?.kill();
        self.look(id)
    }

    fn job(&self, id: &str) -> Result<Job, Failure> {
        if self.context.cancel.is_cancelled() {
            return Err(Failure::Cancelled { name: self.tool.as_str().to_owned() });
        }
        let none = || Failure::NoJob { tool: self.tool, job: id.to_owned() };
        self.session.job(id).ok_or_else(none)
    }

    fn described(&self, command: Command, wider: Option<Wider>) -> shell::Run {
        let CallContext { call_id, cancel, listener } = self.context.clone();
        let mut run = shell::Run::new(command.line).tool(self.tool.as_str()).cancel(cancel);
        if let Some(workdir) = command.workdir {
            run = run.workdir(workdir);
        }
        if let Some(timeout) = command.timeout {
            run = run.timeout(timeout);
        }
        if let Some(id) = call_id {
            run = run.id(id);
        }
        run.listener = listener.map(OutputListener::into_inner);
        match wider {
            Some(Wider { to, justification }) => run.escalate(Escalation { to, justification }),
            None => run,
        }
    }
}
