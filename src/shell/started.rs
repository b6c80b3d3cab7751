//! A command that was started, up to its end.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ringfence_platform::Cancel;
use ringfence_platform::process::{Child, KernelDenial, SpillFile, Stream};

use super::attending::Attending;
use super::output::Capture;
use super::ran::{Ending, Output};
use super::run::Listener;
use crate::policy::ShellLimits;

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) limits: ShellLimits,
    /// When its time is over, if it ever is.
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: Cancel,
}

/// What a command has written, which may be looked at meanwhile.
#[derive(Debug)]
pub(crate) struct Written(Mutex<[Capture; 2]>);

impl Written {
    /// Nothing so far. What does not fit in memory is in files in one of `places`.
    pub(crate) fn new(limits: ShellLimits, places: &[PathBuf]) -> Self {
        Self(Mutex::new([(); 2].map(|()| Capture::new(limits, places.to_vec()))))
    }

    /// Both streams by now.
    pub(crate) fn so_far(&self) -> [Output; 2] {
        self.lock().each_ref().map(Capture::so_far)
    }

    /// Both streams, and the files that they are in.
    pub(crate) fn end(&self) -> ([Output; 2], Vec<SpillFile>) {
        let [stdout, stderr] = std::mem::take(&mut *self.lock());
        let ((stdout, first), (stderr, second)) = (stdout.end(), stderr.end());
        ([stdout, stderr], first.into_iter().chain(second).collect())
    }

    fn push(&self, stream: Stream, bytes: &[u8]) {
        let [stdout, stderr] = &mut *self.lock();
        match stream {
            Stream::Stdout => stdout.push(bytes),
            Stream::Stderr => stderr.push(bytes),
        }
    }

    fn lock(&self) -> MutexGuard<'_, [Capture; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Started {
    /// Waits for its end and that of all that it has started. Gives what the kernel says it denied.
    ///
    /// # Errors
    ///
    /// As it cannot be waited for; it is ended all the same.
    pub(crate) fn wait(
        mut self,
        written: &Written,
        listener: Option<&Listener>,
    ) -> io::Result<(Ending, Vec<KernelDenial>)> {
        let Self { limits, deadline, ref cancel, ref mut child } = self;
        let attending = Attending { limits, deadline, cancel };
        let ending = attending.attend(child, |stream, bytes| {
            written.push(stream, bytes);
            if let Some(listener) = listener {
                listener(stream, bytes);
            }
        })?;
        Ok((ending, child.denials()))
    }
}
