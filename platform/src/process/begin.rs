//! Starts a command from a thread of its own, which may be restricted for good and is in the
//! directory that the command begins in.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread;

use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::fchdir;

use super::command::{Command, Workdir};
use super::handover::Handover;
use super::spawn::{Image, SHELL, Started};

/// Enters the directory that is descriptor 3, for a thread that may not have a working directory of
/// its own.
const ENTER: &str = "cd -P /proc/self/fd/3 && exec 3<&- && exec \"$@\"";

/// Starts the command from this thread, in its directory.
pub(super) fn start(command: &Command) -> io::Result<Started> {
    let image = Image::of(command)?;
    match enter(&command.workdir) {
        Ok(()) => image.spawn(command.streams, &[]),
        Err(Errno::PERM | Errno::NOSYS) => {
            let words = ["-c".into(), ENTER.into(), "sh".into()].into_iter().chain(image.words());
            let shell = Image::new(Path::new(SHELL), words, &command.env)?;
            shell.spawn(command.streams, &[command.workdir.as_fd()])
        }
        Err(errno) => Err(errno.into()),
    }
}

/// What runs before a command that begins on a restricted thread: nothing of the command may run
/// while that thread is there, which has the same rights and shares the memory of this process. So
/// it waits for a line from descriptor 3, and takes what it is to export from 4.
const GATE: &str =
    "read -r _ <&3; unset PWD OLDPWD SHLVL; while IFS= read -r pair; do export \"$pair\"; done <&4";

/// Dropped once the thread that has started a command is gone. Then the command begins.
#[derive(Debug)]
pub(super) struct Gate {
    write: OwnedFd,
    /// Held so that there is somebody to write to, whatever has become of the command.
    _read: OwnedFd,
}

impl Drop for Gate {
    /// Writes, as the other end of a pipe that is only closed may be held by a child of fork(2).
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.write, b"\n");
    }
}

/// The same as [`start`], but the command waits until the gate is dropped.
pub(super) fn start_behind_gate(command: &Command) -> io::Result<(Started, Gate)> {
    let image = Image::of(command)?;
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let Handover { early, late, odd } = Handover::of(&command.env)?;
    let mut script = GATE.to_owned();
    let mut extra = vec![read.as_fd(), late.as_fd()];
    match enter(&command.workdir) {
        Ok(()) => {}
        Err(Errno::PERM | Errno::NOSYS) => {
            script.insert_str(0, "cd -P /proc/self/fd/5 || exit 126; ");
            extra.push(command.workdir.as_fd());
        }
        Err(errno) => return Err(errno.into()),
    }
    script.push_str("; exec 3<&- 4<&- 5<&-; exec \"$@\"");
    let words = ["-c".into(), script.into(), "sh".into()].into_iter().chain(odd);
    let shell = Image::new(Path::new(SHELL), words.chain(image.words()), &early)?;
    let started = shell.spawn(command.streams, &extra)?;
    Ok((started, Gate { write, _read: read }))
}

/// Gives this thread a working directory of its own, which some containers forbid, and enters it.
fn enter(workdir: &Workdir) -> Result<(), Errno> {
    // The errno is the kernel's, whichever crate names it.
    unshare(CloneFlags::CLONE_FS).map_err(|errno| Errno::from_raw_os_error(errno as i32))?;
    fchdir(workdir)
}

/// Runs `begin` on a thread of its own, which may be restricted for good.
pub(super) fn on_a_thread<T: Send + 'static>(
    begin: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let thread = thread::Builder::new().name("ringfence-command".into()).spawn(begin)?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it has died")))
}

/// A thread that lasts until this value is dropped.
#[derive(Debug)]
pub(super) struct Lasting {
    _until_dropped: Sender<()>,
}

/// Runs `begin` on a thread that lasts: what it starts and ties to its parent's life,
/// PR_SET_PDEATHSIG(2const), is tied to that thread's.
pub(super) fn on_a_lasting_thread<T: Send + 'static>(
    begin: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<(T, Lasting)> {
    let (until_dropped, dropped) = channel();
    let (tell, told) = sync_channel(1);
    thread::Builder::new().name("ringfence-command".into()).spawn(move || {
        drop(tell.send(begin()));
        let _ = dropped.recv();
    })?;
    let died = |_| Err(io::Error::other("the thread that starts it has died"));
    let begun = told.recv().unwrap_or_else(died)?;
    Ok((begun, Lasting { _until_dropped: until_dropped }))
}
