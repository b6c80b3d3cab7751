//! The PID namespace of one command, which bubblewrap makes and watches over.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::begin::Lasting;
use super::descent;
use crate::own_process::{Process, this_process};

/// How long the processes in it may take to be gone.
const PATIENCE: Duration = Duration::from_millis(500);

/// The namespace, for as long as this value lives: its processes end with bubblewrap, and that with
/// the thread which started it.
#[derive(Debug)]
pub(super) struct Namespace {
    process: Process,
    pid: Pid,
    monitor: OwnedFd,
    /// Its first process, once it is known. The kernel ends all others with it, and it is gone when
    /// they are, pid_namespaces(7).
    first: Option<OwnedFd>,
    _starter: Lasting,
}

impl Namespace {
    /// What `monitor`, which `starter` has started, makes.
    pub(super) fn of(monitor: Pid, starter: Lasting) -> io::Result<Self> {
        let pidfd = pidfd_open(monitor, PidfdFlags::empty())?;
        let process = this_process();
        Ok(Self { process, pid: monitor, monitor: pidfd, first: None, _starter: starter })
    }

    /// Knows its first process by the number that it has out here.
    pub(super) fn begins_with(&mut self, first: Pid) -> io::Result<()> {
        self.first = Some(pidfd_open(first, PidfdFlags::empty())?);
        Ok(())
    }

    /// Sends `signal` to every process in it. `SIGKILL` leaves none, and goes to bubblewrap too, so
    /// that the command is seen to have ended by it. By any other, bubblewrap would end at once and
    /// take all with it.
    pub(super) fn signal(&self, signal: Signal) {
        if self.process != this_process() {
            return;
        }
        if signal != Signal::KILL {
            if !is_gone(&self.monitor, Duration::ZERO) {
                descent::signal_below(self.pid, signal);
            }
            return;
        }
        for process in [Some(&self.monitor), self.first.as_ref()].into_iter().flatten() {
            // It may be gone.
            let _ = pidfd_send_signal(process, signal);
        }
        if let Some(first) = &self.first {
            is_gone(first, PATIENCE);
        }
    }
}

/// Whether the process has ended, or does within this time.
fn is_gone(process: &OwnedFd, patience: Duration) -> bool {
    let patience = Timespec::try_from(patience).expect("a second at most");
    matches!(poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&patience)), Ok(1..))
}
