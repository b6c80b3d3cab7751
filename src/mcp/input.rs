//! Standard input, read by a thread of its own.

use std::io::{self, BufRead};
use std::thread;

use tokio::sync::mpsc;

use super::lines::{self, Line};

/// The most bytes of one message. It is room for a file of tens of megabytes to be written in one
/// call, and what is read ahead and not looked at yet is no more than two of these.
pub(super) const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The lines that come in, one after the other. They end with the input, or where it cannot be
/// read.
pub(super) type Lines = mpsc::Receiver<Line>;

/// Begins to read. The thread ends with the input, or when nobody takes what it has read.
pub(super) fn open() -> io::Result<Lines> {
    let (read, lines) = mpsc::channel(1);
    let reader = thread::Builder::new().name("ringfence-input".into());
    reader.spawn(move || pass_on(io::stdin().lock(), &read))?;
    Ok(lines)
}

fn pass_on(mut from: impl BufRead, read: &mpsc::Sender<Line>) {
    loop {
        let line = match lines::next(&mut from, MOST_BYTES) {
            Ok(Some(line)) => line,
            Ok(None) => return,
            Err(error) => return tracing::warn!(%error, "standard input cannot be read"),
        };
        if read.blocking_send(line).is_err() {
            return;
        }
    }
}
