//! What is typed at a terminal to end a program goes to all of its foreground group: to a command
//! that was given the terminal, and to this process, which is to outlive it.

use std::io;

use nix::sys::signal::{SigSet, Signal};

/// Leaves `SIGINT` and `SIGQUIT` to the command: this thread, and each that it starts from now on,
/// does not get them. A command starts as if nothing had been said.
///
/// # Errors
///
/// As `pthread_sigmask(3)`.
pub fn leave_interrupts_to_the_command() -> io::Result<()> {
    let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGQUIT]);
    Ok(signals.thread_block()?)
}
