//! The lines of one client: messages on standard input, answers on standard output.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use futures::{Sink, Stream, sink, stream};
use ringfence::acp::protocol::{ConnectTo, Lines, Result, Role};
use tokio::sync::mpsc as channel;

/// The longest message that is taken, as bytes: a `write` of the largest file that a model could
/// have written, many times over. A longer one is not held in memory.
const MOST_BYTES: u64 = 64 * 1_024 * 1_024;

/// How many lines are read before the first of them is taken.
const MOST_LINES: usize = 16;

/// How many bytes wait at most for a client that does not read. One that leaves more is gone.
const MOST_UNREAD: usize = 64 * 1_024 * 1_024;

/// How long the end waits for a client that does not read what was written to it.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What stands for a line that cannot be read. It is no JSON, so it is answered as such.
const TOO_LONG: &str = "(a line of more than 64 MiB)";
const NO_UTF8: &str = "(a line that is no UTF-8)";

/// The standard streams of this process.
#[derive(Debug)]
pub(super) struct Stdio {
    incoming: channel::Receiver<io::Result<String>>,
    outgoing: mpsc::Sender<String>,
    unread: Arc<AtomicUsize>,
}

/// That what is written by now reaches the client.
#[derive(Debug)]
pub(super) struct Written(mpsc::Receiver<io::Result<()>>);

impl Written {
    /// Waits until it is all written, but not for ever.
    pub(super) fn wait(self) -> io::Result<()> {
        self.0.recv_timeout(LAST_WORDS).unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl Stdio {
    /// Begins to read, and waits to write, each on a thread of its own. They are left behind where
    /// the input does not end, or the output is not read.
    pub(super) fn open() -> io::Result<(Self, Written)> {
        let (to_read, incoming) = channel::channel(MOST_LINES);
        let (outgoing, to_write) = mpsc::channel();
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        named("ringfence-input").spawn(move || read(io::stdin().lock(), &to_read))?;
        let unread = Arc::new(AtomicUsize::new(0));
        let (waiting, (tell, written)) = (Arc::clone(&unread), mpsc::channel());
        named("ringfence-output").spawn(move || {
            // Whoever waited has gone by then, or takes it.
            drop(tell.send(write(io::stdout(), &to_write, &waiting)));
        })?;
        Ok((Self { incoming, outgoing, unread }, Written(written)))
    }

    fn into_lines(
        self,
    ) -> Lines<impl Sink<String, Error = io::Error>, impl Stream<Item = io::Result<String>>> {
        let Self { mut incoming, outgoing, unread } = self;
        let outgoing = sink::unfold((outgoing, unread), |(outgoing, unread), line: String| async {
            if unread.fetch_add(line.len(), Ordering::Relaxed) > MOST_UNREAD {
                return Err(gone());
            }
            outgoing.send(line).map_err(|_| gone()).map(|()| (outgoing, unread))
        });
        Lines::new(outgoing, stream::poll_fn(move |context| incoming.poll_recv(context)))
    }
}

impl<R: Role> ConnectTo<R> for Stdio {
    async fn connect_to(self, other: impl ConnectTo<R::Counterpart>) -> Result<()> {
        ConnectTo::<R>::connect_to(self.into_lines(), other).await
    }
}

/// Hands on each line until the input ends or nobody takes them.
fn read(mut input: impl BufRead, lines: &channel::Sender<io::Result<String>>) {
    while let Some(line) = line(&mut input).transpose() {
        let is_last = line.is_err();
        if lines.blocking_send(line).is_err() || is_last {
            return;
        }
    }
}

/// The next line that is not blank, or what stands for it; nothing at the end of the input.
fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    loop {
        let mut bytes = Vec::new();
        if input.by_ref().take(MOST_BYTES).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        if bytes.last() != Some(&b'\n') && !input.fill_buf()?.is_empty() {
            input.skip_until(b'\n')?;
            return Ok(Some(TOO_LONG.to_owned()));
        }
        if !bytes.trim_ascii().is_empty() {
            let line = String::from_utf8(bytes);
            return Ok(Some(line.unwrap_or_else(|_| NO_UTF8.to_owned())));
        }
    }
}

fn write(
    mut output: impl Write,
    lines: &mpsc::Receiver<String>,
    unread: &AtomicUsize,
) -> io::Result<()> {
    for line in lines {
        output.write_all(line.as_bytes())?;
        output.write_all(b"\n")?;
        output.flush()?;
        unread.fetch_sub(line.len(), Ordering::Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_be_read_is_none_and_the_next_one_is_read() {
        let most = usize::try_from(MOST_BYTES).unwrap();
        let mut input = b"{}\r\n\n \n\xff\n".to_vec();
        input.resize(input.len() + most, b' ');
        input.extend(b"x\nlast");
        let mut input = &input[..];
        let lines = std::iter::from_fn(|| line(&mut input).unwrap());
        assert_eq!(lines.collect::<Vec<_>>(), ["{}\r\n", NO_UTF8, TOO_LONG, "last"]);
    }
}
