//! Waits for a command: takes what it writes, and ends it when its time is over.

use std::io;
use std::time::{Duration, Instant};

use ringfence_platform::Cancel;
use ringfence_platform::process::{Child, Happened, Stream};

use super::ran::Ending;
use crate::policy::ShellLimits;

/// How long what a command has started may still write once all of it was killed.
const DRAIN: Duration = Duration::from_millis(300);

/// How long nobody looks whether the caller has cancelled.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// On what terms a command is waited for.
#[derive(Debug)]
pub(super) struct Attending<'a> {
    pub(super) limits: ShellLimits,
    /// When its time is over, if it ever is.
    pub(super) deadline: Option<Instant>,
    pub(super) cancel: &'a Cancel,
}

/// How far it is from its end.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Running,
    /// It was asked to end, and is killed then.
    Asked(Instant),
    /// All of it was killed; what is not silent then is not waited for.
    Killed(Instant),
}

impl Attending<'_> {
    /// Hands each piece of what it writes to `take`, until the command and all that it has started
    /// have ended.
    ///
    /// # Errors
    ///
    /// As the child cannot be waited for; it is killed then.
    pub(super) fn attend(
        &self,
        child: &mut Child,
        mut take: impl FnMut(Stream, &[u8]),
    ) -> io::Result<Ending> {
        let (mut phase, mut ended, mut stopped) = (Phase::Running, None, None);
        loop {
            match child.next(self.next_look(phase))? {
                Happened::Wrote(stream, bytes) => take(stream, &bytes),
                Happened::Ended(how) => {
                    ended = Some(how);
                    // What it has left running goes with it.
                    phase = kill(child);
                }
                Happened::Silent => break,
                Happened::Late | _ => {}
            }
            let now = Instant::now();
            match phase {
                Phase::Running => {
                    stopped = self.reason_to_stop(now);
                    if stopped.is_some() {
                        child.terminate();
                        phase = Phase::Asked(now + self.limits.grace);
                    }
                }
                Phase::Asked(until) if now >= until => phase = kill(child),
                Phase::Killed(until) if now >= until => break,
                Phase::Asked(_) | Phase::Killed(_) => {}
            }
        }
        Ok(match (stopped, ended.map_or(Ending::Unknown, Ending::from)) {
            (Some(reason), _) => reason,
            // Whoever cancelled it has killed it too.
            (None, Ending::Signalled(_)) if self.cancel.is_cancelled() => Ending::Aborted,
            (None, ending) => ending,
        })
    }

    fn reason_to_stop(&self, now: Instant) -> Option<Ending> {
        if self.cancel.is_cancelled() {
            Some(Ending::Aborted)
        } else if self.deadline.is_some_and(|deadline| now >= deadline) {
            Some(Ending::TimedOut)
        } else {
            None
        }
    }

    fn next_look(&self, phase: Phase) -> Option<Instant> {
        match phase {
            Phase::Running => {
                let look = Instant::now() + BETWEEN_LOOKS;
                Some(self.deadline.map_or(look, |deadline| deadline.min(look)))
            }
            Phase::Asked(until) | Phase::Killed(until) => Some(until),
        }
    }
}

fn kill(child: &Child) -> Phase {
    child.kill();
    Phase::Killed(Instant::now() + DRAIN)
}
