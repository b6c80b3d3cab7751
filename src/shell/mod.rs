//! Commands under the policy that the file tools have.

mod attending;
mod environment;
mod job;
mod judgement;
mod means;
mod output;
mod ran;
mod run;
mod started;

pub(crate) use environment::Environment;
pub use job::{Job, JobState};
pub(crate) use judgement::Judgement;
pub(crate) use means::Shell;
pub use ran::{CommandDenial, Ending, Evidence, Explained, Output, Ran, Sandbox, Spill};
pub(crate) use run::Listener;
pub use run::{Exec, Run};
pub(crate) use started::{Started, Written};
