//! Standard output, written by a thread of its own, so that a client that does not read keeps
//! nothing else waiting.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

/// How many messages may lie ready to be written.
const READY: usize = 4;
/// How long the end waits for a client that does not read what was written to it.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Nobody reads any more.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the client reads no more")]
pub(super) struct Closed;

/// One message, and who is told that it is written.
type Message = (Vec<u8>, oneshot::Sender<()>);

/// Where the messages to the client go.
#[derive(Debug)]
pub(super) struct Output {
    ready: Option<mpsc::Sender<Message>>,
    ended: oneshot::Receiver<()>,
}

impl Output {
    /// Begins to write to standard output. The thread ends when nobody can send any more, or when
    /// nobody reads.
    pub(super) fn open() -> io::Result<Self> {
        let (ready, messages) = mpsc::channel(READY);
        let (end, ended) = oneshot::channel();
        let writer = thread::Builder::new().name("ringfence-output".into());
        writer.spawn(move || {
            if let Err(error) = write(io::stdout().lock(), messages) {
                tracing::info!(%error, "standard output cannot be written");
            }
            // Whoever waited for it may have given up.
            let _ = end.send(());
        })?;
        Ok(Self { ready: Some(ready), ended })
    }

    /// Writes one message, which is one line without its end. It is written whole or not at all,
    /// whatever becomes of the future once it has begun.
    pub(super) fn send(
        &self,
        mut line: Vec<u8>,
    ) -> impl Future<Output = Result<(), Closed>> + Send + use<> {
        line.push(b'\n');
        let ready = self.ready.clone();
        async move {
            let (written, is_written) = oneshot::channel();
            let ready = ready.ok_or(Closed)?;
            ready.send((line, written)).await.map_err(|_| Closed)?;
            is_written.await.map_err(|_| Closed)
        }
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

fn write(mut to: impl Write, mut messages: mpsc::Receiver<Message>) -> io::Result<()> {
    while let Some((line, written)) = messages.blocking_recv() {
        to.write_all(&line)?;
        to.flush()?;
        // Who has sent it need not wait for it.
        let _ = written.send(());
    }
    Ok(())
}
