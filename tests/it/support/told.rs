//! What a subscriber is told while something is done.

use std::sync::{Arc, LazyLock, Mutex};

use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;
use tracing_subscriber::filter::LevelFilter;

/// While there is at most one subscriber, `tracing` asks only the thread that comes to an event
/// first whether anybody wants it, and remembers that for all threads: an event would be lost here
/// because a thread that nobody listens to came first. With these it asks all subscribers.
static MORE_THAN_ONE: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(NoSubscriber::new())));

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
    LazyLock::force(&MORE_THAN_ONE);
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

#[test]
fn what_a_thread_that_nobody_listens_to_says_first_is_heard_from_the_others() {
    let say = || tracing::info!("said");
    let lines = told_by(|| {
        std::thread::scope(|scope| scope.spawn(say).join()).unwrap();
        say();
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
}
