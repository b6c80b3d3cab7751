//! The Landlock domain around that of one command, and the thread in it that can signal all of its
//! processes. No thread of this process is in the command's own domain while that runs: a process may
//! trace whatever is in its domain, ptrace(2), and what a thread of this process can do, all can.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::Signal as RawSignal;

use super::supervisor::Supervisor;
use crate::own_process::{Process, this_process};

/// The domain, for as long as this value lives.
#[derive(Debug)]
pub(super) struct Domain {
    process: Process,
    orders: Sender<Order>,
}

#[derive(Debug)]
struct Order {
    signal: Signal,
    done: SyncSender<()>,
}

impl Domain {
    /// Runs `enter` on a thread of its own, which is to restrict itself there and to start the
    /// command. Gives what came of it.
    pub(super) fn open<T: Send + 'static>(
        supervisor: &Supervisor,
        enter: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<(Self, T)> {
        let (orders, queue) = channel();
        let (tell, told) = sync_channel(1);
        supervisor.start_thread(move || {
            let entered = enter();
            let go_on = entered.is_ok();
            drop(tell.send(entered));
            if go_on {
                obey(&queue);
            }
        })?;
        let died = |_| Err(io::Error::other("the thread that starts the command has died"));
        let begun = told.recv().unwrap_or_else(died)?;
        Ok((Self { process: this_process(), orders }, begun))
    }

    /// Sends `signal` to every process in the domain; `SIGKILL` leaves none, since no process can
    /// leave the domain, and one that is being forked gets the signal or is not made, fork(2).
    pub(super) fn signal(&self, signal: RawSignal) {
        let Ok(signal) = Signal::try_from(signal.as_raw()) else { return };
        let (done, wait) = sync_channel(1);
        // In a child of fork(2) there is no thread that would obey.
        if self.process == this_process() && self.orders.send(Order { signal, done }).is_ok() {
            let _ = wait.recv();
        }
    }
}

/// Only threads that were seen to be scoped come here: any other would reach every process of this
/// user.
fn obey(orders: &Receiver<Order>) {
    while let Ok(Order { signal, done }) = orders.recv() {
        // There may be none.
        let _ = kill(Pid::from_raw(-1), signal);
        let _ = done.send(());
    }
}
