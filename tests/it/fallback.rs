//! The same tests again on a system that lacks what the strongest fences need.
//!
//! A filter of the acting thread answers for the kernel, and what the thread starts inherits it.

mod faults;

use std::process::{Command, Stdio};

use ringfence_platform::{Confinement, Resolution};
use rustix::io::Errno;

use crate::actor::{self, Actor};
use crate::effort;
use crate::support::filter::{self, LANDLOCK};
use crate::support::{FenceKind, offered, say, this_test};

/// The number is the same on every architecture, as of every call since Linux 5.1.
const OPENAT2: i64 = 437;

/// What the system is made to lack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lack {
    pub(crate) openat2: bool,
    pub(crate) landlock: bool,
    /// How it says so.
    pub(crate) errno: Errno,
}

impl Lack {
    /// Whether a fence of this kind is still to be had.
    fn leaves(self, kind: FenceKind) -> bool {
        !(self.openat2 && kind.resolution == Resolution::Openat2
            || self.landlock && kind.confinement == Confinement::Landlock)
    }

    /// Tests that come to the same without it. A command is held by Landlock and never by openat2,
    /// and how the kernel says that it has none makes a difference only to who asks it first, which
    /// has tests of its own. A server goes through the session, which is tested on each fence.
    fn of_no_concern(self) -> &'static [&'static str] {
        match self {
            Self { openat2: false, landlock: true, errno: Errno::NOSYS } => &["fallback::"],
            Self { .. } => &[
                "fallback::",
                "shell::",
                "field::commands::",
                "cli::exec::",
                "tools::bash::",
                "mcp::",
                "acp::",
            ],
        }
    }

    /// Filters the calls of this thread, and of all that it starts, for good.
    pub(crate) fn impose(self) {
        let calls = self.openat2.then_some(OPENAT2).into_iter();
        let calls = calls.chain(LANDLOCK.into_iter().filter(|_| self.landlock));
        filter::refuse(calls, self.errno);
    }
}

/// The strongest level that these fences may claim, as the tests are told to expect it.
fn level(kinds: &[FenceKind]) -> &'static str {
    let openat2 = kinds.iter().filter(|kind| kind.resolution == Resolution::Openat2);
    let confined = |kind: &FenceKind| kind.confinement == Confinement::Landlock;
    match openat2.map(confined).max() {
        Some(true) => "confined",
        Some(false) => "kernel",
        None => "checked",
    }
}

fn shown(kinds: &[FenceKind]) -> String {
    kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Runs all tests but these in a child that lacks something.
fn without(test: &'static str, lack: Lack) {
    if actor::part().is_some() {
        return actor::tell(shown(offered()));
    }
    let left: Vec<_> = offered().iter().copied().filter(|kind| lack.leaves(*kind)).collect();
    let label = format!("all tests without {}", test.rsplit("::").next().unwrap());
    // The thread ends with its filter.
    std::thread::spawn(move || {
        lack.impose();
        let program = || {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.env("RINGFENCE_TEST_EXPECT", level(&left));
            command
        };
        let found = Actor::start_by(program(), test, "look", &[]).end();
        assert_eq!(found, Some(shown(&left)), "the filter leaves exactly these fences");

        let output = program()
            .args(lack.of_no_concern().iter().flat_map(|tests| ["--skip", tests]))
            .env(effort::BRIEF, "1")
            .env_remove("RINGFENCE_TEST_RACES")
            .env_remove("RINGFENCE_TEST_PROPERTIES")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        let err = String::from_utf8_lossy(&output.stderr);
        let summary = out.lines().find(|line| line.starts_with("test result:"));
        say(format_args!("{label}: {}: {}", shown(&left), summary.unwrap_or("no result")));
        for line in err.lines().filter_map(|line| line.strip_prefix("ringfence: left out")) {
            say(format_args!("{label}: left out{line}"));
        }
        let failures = out.split_once("\nfailures:\n").map_or(&*out, |(_, failures)| failures);
        assert!(output.status.success(), "{label}: {}\n{failures}", output.status);
    })
    .join()
    .unwrap();
}

#[test]
fn openat2_that_the_kernel_does_not_know() {
    without(this_test!(), Lack { openat2: true, landlock: false, errno: Errno::NOSYS });
}

#[test]
fn openat2_that_a_filter_forbids() {
    without(this_test!(), Lack { openat2: true, landlock: false, errno: Errno::PERM });
}

#[test]
fn landlock_that_the_kernel_does_not_know() {
    without(this_test!(), Lack { openat2: false, landlock: true, errno: Errno::NOSYS });
}

#[test]
fn landlock_that_a_filter_forbids() {
    without(this_test!(), Lack { openat2: false, landlock: true, errno: Errno::PERM });
}

#[test]
fn openat2_and_landlock_that_the_kernel_does_not_know() {
    without(this_test!(), Lack { openat2: true, landlock: true, errno: Errno::NOSYS });
}

#[test]
fn openat2_and_landlock_that_a_filter_forbids() {
    without(this_test!(), Lack { openat2: true, landlock: true, errno: Errno::PERM });
}
