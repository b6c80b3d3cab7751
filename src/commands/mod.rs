//! Commands, from a command line to what came of it.

mod commanding;
mod jobs;

pub(crate) use commanding::{Commanding, cancelled};
pub(crate) use jobs::Jobs;
