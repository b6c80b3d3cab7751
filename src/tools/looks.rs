//! How much of what the jobs write was shown already.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::session::Session;
use crate::shell::{Job, JobState, Output, Ran};

use super::shown;

/// What was shown of each job, so that nothing of it is shown twice.
#[derive(Debug, Default)]
pub(super) struct Looks {
    seen: Mutex<HashMap<Name, Seen>>,
}

/// A session and its job, by what they are called.
type Name = (String, String);

/// How many bytes of each stream were shown.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    stdout: u64,
    stderr: u64,
}

impl Looks {
    /// Takes a job for a new one, whichever was called the same before.
    pub(super) fn begin(&self, session: &Session, job: &Job) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(name(session, job), Seen::default());
    }

    /// How far a job has come, with that of its output which no look has shown yet. Of two looks at
    /// once, one has it.
    pub(super) fn look(&self, session: &Session, job: &Job) -> JobState {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(name(session, job)).or_default().next(job.state())
    }
}

fn name(session: &Session, job: &Job) -> Name {
    (session.name().to_owned(), job.id().to_owned())
}

impl Seen {
    fn next(&mut self, state: JobState) -> JobState {
        let (stdout, stderr) = (&mut self.stdout, &mut self.stderr);
        match state {
            // What is no whole char yet will be one at the next look.
            JobState::Running { stdout: out, stderr: err } => JobState::Running {
                stdout: advanced(stdout, shown::whole_chars(shown::after(*stdout, out))),
                stderr: advanced(stderr, shown::whole_chars(shown::after(*stderr, err))),
            },
            JobState::Ended(ran) => JobState::Ended(Ran {
                stdout: advanced(stdout, shown::after(*stdout, ran.stdout)),
                stderr: advanced(stderr, shown::after(*stderr, ran.stderr)),
                ..ran
            }),
        }
    }
}

/// `new`, which is seen by that.
fn advanced(seen: &mut u64, new: Output) -> Output {
    *seen += new.total;
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::Spill;

    fn output(tail: &str, total: u64) -> Output {
        Output { tail: tail.into(), total, spill: Spill::None }
    }

    #[test]
    fn each_look_shows_what_the_last_did_not() {
        let mut seen = Seen::default();
        let mut look = |stdout, stderr| match seen.next(JobState::Running { stdout, stderr }) {
            JobState::Running { stdout, stderr } => {
                (shown::text(&stdout), shown::text(&stderr), stdout.is_truncated())
            }
            JobState::Ended(_) => panic!("it runs"),
        };
        let told = |out: &str, err: &str, truncated| (out.into(), err.into(), truncated);
        assert_eq!(look(output("a", 1), output("", 0)), told("a", "", false));
        assert_eq!(look(output("ab", 2), output("x", 1)), told("b", "x", false));
        assert_eq!(look(output("ab", 2), output("x", 1)), told("", "", false));
        assert_eq!(look(output("yz", 26), output("x", 1)), told("yz", "", true));
        assert_eq!(look(output("z!", 27), output("x", 1)), told("!", "", false));
    }
}
