//! What is over once and for all, and whoever has to know.

use tokio::sync::watch;

/// Whether something is over: a connection, or the place that calls act in.
#[derive(Debug)]
pub(super) struct End(watch::Sender<bool>);

impl End {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// From now on it is over.
    pub(super) fn set(&self) {
        self.0.send_replace(true);
    }

    /// Waits until it is over.
    pub(super) async fn reached(&self) {
        // The sender is here, so there is no other way for the wait to end.
        drop(self.0.subscribe().wait_for(|over| *over).await);
    }
}
