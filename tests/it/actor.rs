//! Another process that plays a part in a test: this program once more, told what to do.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Which part of its test a process plays, if any.
const PART: &str = "RINGFENCE_TEST_PART";
/// What it needs to know for that, one word a line.
const WORDS: &str = "RINGFENCE_TEST_WORDS";
/// What stands before each line that an actor says; the test harness prints to the same stream.
const SAYS: &str = "actor says: ";
/// Longer than anything here takes on the slowest machine: past it an actor hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The part that this process plays, and its words.
pub(crate) fn part() -> Option<(String, Vec<String>)> {
    let part = std::env::var(PART).ok()?;
    let words = std::env::var(WORDS).unwrap_or_default();
    Some((part, words.lines().map(ToOwned::to_owned).collect()))
}

/// Says a line to the process that started this one.
pub(crate) fn tell(line: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{SAYS}{line}").and_then(|()| out.flush()).expect("the test listens");
}

/// Returns once the process that started this one says so, or is gone.
pub(crate) fn wait_for_the_end() {
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).expect("standard input is a pipe");
}

/// A process that plays a part; killed when dropped.
#[derive(Debug)]
pub(crate) struct Actor {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Actor {
    /// Starts `part` of `test`, which is to ask for its [`part`] before anything else.
    pub(crate) fn start(test: &str, part: &str, words: &[&str]) -> Self {
        Self::start_by(Command::new(std::env::current_exe().unwrap()), test, part, words)
    }

    /// As [`start`](Self::start), by a command that begins with this program.
    pub(crate) fn start_by(mut command: Command, test: &str, part: &str, words: &[&str]) -> Self {
        let mut child = command
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .env(WORDS, words.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let said = line.split_once(SAYS).map(|(_, said)| said.to_owned());
                if said.is_some_and(|said| send.send(said).is_err()) {
                    return;
                }
            }
        });
        Self { child, input, lines }
    }

    /// The next line it says.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("the actor says something")
    }

    /// The next line, if it has been said by now.
    pub(crate) fn line_so_far(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// Lets it end, and returns what it said last.
    pub(crate) fn end(mut self) -> Option<String> {
        drop(self.input.take());
        let mut last = None;
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => last = Some(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the actor hangs"),
            }
        }
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the actor failed: {status}");
        last
    }

    /// Ends it with `SIGKILL`, wherever it is.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
