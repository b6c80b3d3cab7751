//! What a subscriber is told while something is done.

use std::sync::{Arc, Mutex};

use tracing_subscriber::filter::LevelFilter;

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
    told_up_to(LevelFilter::INFO, act)
}

/// As [`told_by`], with what is told to hosts for each step.
pub(crate) fn told_in_full_by(act: impl FnOnce()) -> Vec<String> {
    told_up_to(LevelFilter::DEBUG, act)
}

fn told_up_to(level: LevelFilter, act: impl FnOnce()) -> Vec<String> {
    let told = Told::default();
    let writer = told.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, act);
    let bytes = told.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(ToOwned::to_owned).collect()
}
