//! The PID namespace of one command, which bubblewrap makes and watches over.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::begin::Lasting;
use super::child::Ended;
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
    /// The last signal that was sent, or 0.
    sent: AtomicI32,
    _starter: Lasting,
}

impl Namespace {
    /// What `monitor`, which `starter` has started, makes.
    pub(super) fn of(monitor: Pid, starter: Lasting) -> io::Result<Self> {
        let pidfd = pidfd_open(monitor, PidfdFlags::empty())?;
        Ok(Self {
            process: this_process(),
            pid: monitor,
            monitor: pidfd,
            first: None,
            sent: AtomicI32::new(0),
            _starter: starter,
        })
    }

    /// Knows its first process by the number that it has out here, unless that is gone already: a
    /// short command may have ended by now, and the number be another's.
    pub(super) fn begins_with(&mut self, first: Pid) {
        let held = pidfd_open(first, PidfdFlags::empty()).ok();
        self.first = held.filter(|_| descent::parent(first) == Some(self.pid));
    }

    /// Sends `signal` to every process in it. `SIGKILL` leaves none, and goes to bubblewrap too, so
    /// that the command is seen to have ended by it. By any other, bubblewrap would end at once and
    /// take all with it.
    pub(super) fn signal(&self, signal: Signal) {
        if self.process != this_process() {
            return;
        }
        self.sent.store(signal.as_raw(), Ordering::Relaxed);
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

    /// How the command has ended, as far as bubblewrap tells: that of a signal it makes an exit code.
    /// If one was sent, that is what the code stands for; else a program may have chosen it.
    pub(super) fn understood(&self, ended: Ended) -> Ended {
        let sent = self.sent.load(Ordering::Relaxed);
        let stands_for_it = sent != 0 && ended == Ended::Exited(128 + sent);
        if stands_for_it { Ended::Signalled(sent) } else { ended }
    }
}

/// Whether the process has ended, or does within this time.
fn is_gone(process: &OwnedFd, patience: Duration) -> bool {
    let patience = Timespec::try_from(patience).expect("a second at most");
    matches!(poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&patience)), Ok(1..))
}
