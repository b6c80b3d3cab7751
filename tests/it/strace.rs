//! A part of a test under `strace(1)`, which counts system calls and can answer for the kernel.

use std::process::{Command, Stdio};

use crate::actor::Actor;
use crate::support::{Base, say};

/// Asked for by whoever pins what the host gives: then nothing is left out.
const EXPECT: &str = "RINGFENCE_TEST_EXPECT";

/// One run of a part of a test.
#[derive(Debug)]
pub(crate) struct Traced {
    /// What the part said last.
    pub(crate) said: String,
    /// The system calls of all threads, one a line, with the thread's number before.
    pub(crate) calls: Vec<String>,
}

impl Traced {
    /// How often `call` was made.
    pub(crate) fn count(&self, call: &str) -> usize {
        self.calls.iter().filter(|line| name_of(line) == Some(call)).count()
    }
}

/// Whether there is a `strace` that works. If not, says that `what` is left out, which fails where
/// the host is pinned.
pub(crate) fn is_there(what: &str) -> bool {
    let works = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        assert!(
            std::env::var_os(EXPECT).is_none(),
            "{what} needs strace, which does not work here"
        );
        say(format_args!("left out: {what}: strace does not work here"));
    }
    works
}

/// Runs `part` of `test` under strace with `options`.
pub(crate) fn run(options: &[&str], test: &str, part: &str, words: &[&str]) -> Traced {
    let base = Base::new();
    let log = base.path().join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-o"]).arg(&log).args(options);
    command.arg(std::env::current_exe().unwrap());
    let said = Actor::start_by(command, test, part, words).end();
    let calls = std::fs::read_to_string(log).unwrap().lines().map(ToOwned::to_owned).collect();
    Traced { said: said.unwrap_or_else(|| panic!("{part} of {test} said nothing")), calls }
}

/// The thread and the call of a line. One that was interrupted stands where it began.
pub(crate) fn call_of(line: &str) -> Option<(&str, &str)> {
    let (thread, rest) = line.split_once(' ')?;
    Some((thread, rest.trim_start())).filter(|(_, call)| !call.starts_with(['<', '-', '+']))
}

/// The name of the call of a line.
pub(crate) fn name_of(line: &str) -> Option<&str> {
    call_of(line).and_then(|(_, call)| call.split_once('(')).map(|(name, _)| name)
}
