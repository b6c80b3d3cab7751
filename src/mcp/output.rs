//! Standard output, which keeps nothing else waiting when a client does not read: what might have
//! to wait is written by a thread of its own.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::{mpsc, oneshot};

/// How many messages may lie ready to be written.
const READY: usize = 4;
/// What a pipe takes without waiting, once it takes anything: PIPE_BUF, see pipe(7).
const AT_ONCE: usize = 4096;
/// How long the end waits for a client that does not read what was written to it.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Nobody reads any more.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the client reads no more")]
pub(super) struct Closed;

/// One message that the thread is to write.
#[derive(Debug)]
struct Message {
    line: Vec<u8>,
    written: oneshot::Sender<()>,
    /// Dropped when it is written, or will not be.
    _open: Arc<()>,
}

/// Where the messages to the client go.
#[derive(Debug)]
pub(super) struct Output {
    ready: Option<mpsc::Sender<Message>>,
    ended: oneshot::Receiver<()>,
    /// Has a clone for each message that is left to the thread.
    open: Arc<()>,
}

impl Output {
    /// Begins to write to standard output. The thread ends when nobody can send any more, or when
    /// nobody reads.
    pub(super) fn open() -> io::Result<Self> {
        let (ready, messages) = mpsc::channel(READY);
        let (end, ended) = oneshot::channel();
        let writer = thread::Builder::new().name("ringfence-output".into());
        writer.spawn(move || {
            if let Err(error) = write_all(messages) {
                tracing::info!(%error, "standard output cannot be written");
            }
            // Whoever waited for it may have given up.
            let _ = end.send(());
        })?;
        Ok(Self { ready: Some(ready), ended, open: Arc::default() })
    }

    /// Writes one message, which is one line without its end: now, if that needs no wait, or else
    /// while the future is waited for. It is written whole or not at all.
    pub(super) fn send(
        &self,
        mut line: Vec<u8>,
    ) -> impl Future<Output = Result<(), Closed>> + Send + use<> {
        line.push(b'\n');
        let is_written =
            self.is_first() && line.len() <= AT_ONCE && takes() && write(&line).is_ok();
        let left = (!is_written).then(|| (self.ready.clone(), Arc::clone(&self.open)));
        async move {
            let Some((ready, open)) = left else { return Ok(()) };
            let (written, is_written) = oneshot::channel();
            let ready = ready.ok_or(Closed)?;
            let message = Message { line, written, _open: open };
            ready.send(message).await.map_err(|_| Closed)?;
            is_written.await.map_err(|_| Closed)
        }
    }

    /// Whether no other message is left to be written.
    fn is_first(&self) -> bool {
        Arc::strong_count(&self.open) == 1
    }

    /// Waits until nobody reads.
    pub(super) async fn closed(&self) {
        if let Some(ready) = &self.ready {
            ready.closed().await;
        }
    }

    /// Takes no more messages, and waits until those that were taken are written, if they are read
    /// before long.
    pub(super) async fn finish(&mut self) {
        self.ready = None;
        // In time or not, and whether the thread could say so or not: nothing follows.
        let _ = tokio::time::timeout(LAST_WORDS, &mut self.ended).await;
    }
}

/// Whether standard output takes something without a wait.
fn takes() -> bool {
    let now = Timespec::default();
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::OUT)];
    poll(&mut asked, Some(&now)).is_ok() && asked[0].revents() == PollFlags::OUT
}

fn write(line: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(line)?;
    stdout.flush()
}

fn write_all(mut messages: mpsc::Receiver<Message>) -> io::Result<()> {
    while let Some(Message { line, written, _open: open }) = messages.blocking_recv() {
        write(&line)?;
        drop(open);
        // Who has sent it need not wait for it.
        let _ = written.send(());
    }
    Ok(())
}
