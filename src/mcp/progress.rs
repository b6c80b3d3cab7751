//! What a client is told of a command while it runs.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::end::End;
use ringfence::{OutputListener, Stream};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// How often a client is told at most.
const BETWEEN: Duration = Duration::from_millis(100);
/// How long nothing is told while nothing is written.
const SILENCE: Duration = Duration::from_secs(1);
/// The most chars of a line that are told.
const MOST_CHARS: usize = 200;
/// The most bytes of a line that are kept.
const MOST_BYTES: usize = 4 * MOST_CHARS;

/// The last line that a command has written, for whoever looks.
#[derive(Clone, Debug, Default)]
pub(super) struct LastLine(Arc<Mutex<Written>>);

#[derive(Debug, Default)]
struct Written {
    /// What was written since the last end of a line, by stream.
    begun: [Vec<u8>; 2],
    last: Vec<u8>,
    is_news: bool,
}

impl LastLine {
    /// What is to be told of all that a command writes.
    pub(super) fn listener(&self) -> OutputListener {
        let Self(written) = self.clone();
        OutputListener::new(move |stream, bytes| {
            written.lock().unwrap_or_else(PoisonError::into_inner).take(stream, bytes);
        })
    }

    /// The line, and whether that is news since this was asked last.
    fn look(&self) -> (String, bool) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = mem::take(&mut written.is_news);
        (shown(&written.last), is_news)
    }
}

impl Written {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let begun = &mut self.begun[usize::from(stream == Stream::Stderr)];
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = MOST_BYTES.saturating_sub(begun.len());
            begun.extend_from_slice(&text[..text.len().min(room)]);
            if text.len() == piece.len() {
                continue;
            }
            if !begun.trim_ascii().is_empty() {
                mem::swap(&mut self.last, begun);
                self.is_news = true;
            }
            begun.clear();
        }
    }
}

/// A line that can draw nothing where it is shown.
fn shown(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line.trim_ascii_end());
    let mut shown = String::new();
    for c in line.chars().take(MOST_CHARS) {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            c => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// Tells the client of the command until it has `finished`, and after that no more. A client that
/// does not read is told less, and nothing gathers.
pub(super) async fn tell(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    line: LastLine,
    finished: &End,
) {
    let mut ticks = interval_at(Instant::now() + BETWEEN, BETWEEN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut count, mut told) = (0_u32, Instant::now());
    loop {
        let now = tokio::select! {
            () = finished.reached() => return,
            now = ticks.tick() => now,
        };
        let (text, is_news) = line.look();
        if !is_news && now.duration_since(told) < SILENCE {
            continue;
        }
        count += 1;
        let progress = ProgressNotificationParam::new(token.clone(), f64::from(count));
        let progress = if text.is_empty() { progress } else { progress.with_message(text) };
        if peer.notify_progress(progress).await.is_err() {
            return;
        }
        told = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(pieces: &[(Stream, &str)]) -> String {
        let mut written = Written::default();
        for (stream, piece) in pieces {
            written.take(*stream, piece.as_bytes());
        }
        shown(&written.last)
    }

    #[test]
    fn the_last_whole_line_is_told_whatever_pieces_it_came_in() {
        assert_eq!(last(&[(Stream::Stdout, "a\nb\nc")]), "b");
        assert_eq!(last(&[(Stream::Stdout, "a\nb"), (Stream::Stdout, "c\n")]), "bc");
        assert_eq!(
            last(&[(Stream::Stdout, "a"), (Stream::Stderr, "e\n"), (Stream::Stdout, "b\n")]),
            "ab"
        );
        assert_eq!(last(&[(Stream::Stdout, "a\n\n \r\n")]), "a", "an empty line tells nothing");
    }

    #[test]
    fn a_line_draws_nothing_and_is_cut() {
        assert_eq!(last(&[(Stream::Stdout, "50%\r\u{1b}[2J\"\\\u{202e}\r\n")]), {
            "50%\\r\\u{1b}[2J\"\\\\u{202e}"
        });
        let long = "é".repeat(MOST_BYTES) + "\n";
        assert_eq!(last(&[(Stream::Stdout, &long)]), "é".repeat(MOST_CHARS));
    }
}
