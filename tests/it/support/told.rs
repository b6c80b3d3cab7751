//! What a subscriber is told while something is done.

use std::sync::{Arc, Mutex};

/// Keeps what a subscriber is told.
#[derive(Clone, Debug, Default)]
struct Told(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Told {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs `act`, and returns each line that was told on its thread.
pub(crate) fn told_by(act: impl FnOnce()) -> Vec<String> {
    let told = Told::default();
    let writer = told.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::INFO)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, act);
    let bytes = told.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(ToOwned::to_owned).collect()
}
