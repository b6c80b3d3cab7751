//! What the tests stand on: commands, and what comes of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, fstat};

use super::super::*;
use crate::path::{RelPath, RootedPath};
use crate::roots::Roots;

/// Longer than anything here takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// What the process that runs now was started for, if it is a child of a test.
pub(super) const ROLE: &str = "RINGFENCE_TEST_ROLE";

/// A runner that this host has.
#[derive(Debug)]
pub(super) struct On {
    pub(super) runner: Runner,
    pub(super) runners: Runners,
}

/// Declares tests of the same promises on each runner. What the host lacks is said and left out.
macro_rules! on_each_runner {
    ($($name:ident),+ $(,)?) => {
        mod landlock {
            use $crate::process::{Runner, tests::support::on};
            $(#[test] fn $name() { on(Runner::Landlock, super::$name); })+
        }
        mod bwrap {
            use $crate::process::{Runner, tests::support::on};
            $(#[test] fn $name() { on(Runner::Bwrap, super::$name); })+
        }
    };
}
pub(super) use on_each_runner;

/// Runs `body` on this runner, if the host has it.
pub(super) fn on(runner: Runner, body: impl FnOnce(On)) {
    let runners = Runners::only(runner);
    match runners.survey().pop().unwrap() {
        Ok(_) => body(On { runner, runners }),
        Err(why) => eprintln!("ringfence: left out: {why}"),
    }
}

/// Directories to act in: what is granted, and what is not.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) base: tempfile::TempDir,
    pub(super) inside: PathBuf,
    pub(super) outside: PathBuf,
}

pub(super) fn place() -> Place {
    let base = tempfile::tempdir().unwrap();
    let [inside, outside] = ["in", "out"].map(|name| base.path().join(name));
    for dir in [&inside, &outside] {
        std::fs::create_dir(dir).unwrap();
    }
    Place { base, inside, outside }
}

/// A script, with these as its arguments.
pub(super) fn bash(script: &str, words: &[&Path]) -> Command {
    let mut command = Command::new("bash", Workdir::open("/").unwrap());
    command.arguments = vec!["-c".into(), script.into(), "bash".into()];
    command.arguments.extend(words.iter().map(OsString::from));
    command.env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    command
}

pub(super) fn within(roots: &[&Path]) -> Restrictions {
    let roots = (!roots.is_empty()).then(|| Roots::open(roots).unwrap());
    Restrictions { roots, ..Restrictions::default() }
}

/// The same with what is protected beneath it.
pub(super) fn protecting(root: &Path, protected: &[&str]) -> Restrictions {
    let roots = Roots::open([root]).unwrap();
    let first = roots.iter().next().unwrap().id();
    let beneath = |path: &str| match path {
        "" => RelPath::root(),
        path => RelPath::new(path).unwrap(),
    };
    let places = protected.iter().map(|path| RootedPath::new(first, beneath(path)));
    let roots = Some(roots.protecting(places.collect::<Vec<_>>()));
    Restrictions { roots, ..Restrictions::default() }
}

impl On {
    pub(super) fn plan(&self, command: Command, restrictions: Restrictions) -> Plan {
        self.runners.confine(command, restrictions, ShellEnforcement::Partial).unwrap()
    }

    pub(super) fn spawn(&self, command: Command, restrictions: Restrictions) -> Child {
        self.plan(command, restrictions).spawn().unwrap()
    }

    /// What it wrote to each stream, and how it ended.
    pub(super) fn run(&self, command: Command, restrictions: Restrictions) -> Outcome {
        outcome(self.spawn(command, restrictions))
    }

    /// What a script wrote that has to succeed.
    pub(super) fn output(&self, command: Command, restrictions: Restrictions) -> String {
        let Outcome { out, err, ended } = self.run(command, restrictions);
        assert_eq!(ended, Ended::Exited(0), "{out}{err}");
        out
    }
}

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) out: String,
    pub(super) err: String,
    pub(super) ended: Ended,
}

pub(super) fn outcome(mut child: Child) -> Outcome {
    outcome_of(&mut child)
}

/// The same, of a command that is asked for more.
pub(super) fn outcome_of(child: &mut Child) -> Outcome {
    let (mut out, mut err, mut how) = (Vec::new(), Vec::new(), None);
    let until = Some(Instant::now() + PATIENCE);
    loop {
        match child.next(until).unwrap() {
            Happened::Wrote(Stream::Stdout, bytes) => out.extend(bytes),
            Happened::Wrote(Stream::Stderr, bytes) => err.extend(bytes),
            Happened::Ended(ended) => {
                how = Some(ended);
                child.kill();
            }
            Happened::Silent => break,
            Happened::Late => panic!("it does not end: {}", String::from_utf8_lossy(&out)),
        }
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { out: text(out), err: text(err), ended: how.unwrap() }
}

/// What a command has written when it says that it is ready, by a line.
pub(super) fn until_ready(child: &mut Child) -> String {
    let mut out = String::new();
    while !out.ends_with('\n') {
        let happened = child.next(Some(Instant::now() + PATIENCE)).unwrap();
        let Happened::Wrote(_, bytes) = happened else { panic!("{happened:?} after {out}") };
        out.push_str(&String::from_utf8_lossy(&bytes));
    }
    out
}

/// Everything beneath a directory: kinds, modes, times and contents.
pub(super) fn tree(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut tree = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(path) = left.pop() {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::NOFOLLOW;
        let file = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap();
        let stat = fstat(&file).unwrap();
        let file_type = FileType::from_raw_mode(stat.st_mode);
        let mut what = Vec::new();
        if file_type == FileType::Directory {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if file_type == FileType::RegularFile {
            what = std::fs::read(&path).unwrap();
        }
        let times = (stat.st_mtime, stat.st_mtime_nsec, stat.st_nlink);
        tree.insert(path, format!("{:o} {times:?} {what:?}", stat.st_mode));
    }
    tree
}

/// Whether a process runs. One that has ended and was not looked at does not.
pub(super) fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.starts_with(" Z") && !rest.starts_with(" X"))
}

/// All processes with this among their arguments, bubblewrap's own too.
pub(super) fn with_argument(argument: &str) -> Vec<u32> {
    called(|line| line.contains(&argument.as_bytes()))
}

/// The processes that sleep for this time.
pub(super) fn sleeping_for(time: &str) -> Vec<u32> {
    called(|line| line[..] == [b"sleep", time.as_bytes(), b""])
}

/// The processes that run with such a command line.
fn called(is_such: impl Fn(&[&[u8]]) -> bool) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok())
    });
    let has_it = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        is_such(&line.split(|byte| *byte == 0).collect::<Vec<_>>())
    };
    numbers.filter(has_it).filter(|pid| runs(*pid)).collect()
}

/// Waits until it is so, which it has to be within a second.
pub(super) fn within_a_second(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(1), "not within a second: {what}");
        std::thread::yield_now();
    }
}

/// What this process was started for, if a test has started it.
pub(super) fn part() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// A child that runs one of these tests, for this.
pub(super) fn child_of_test(program: PathBuf, test: &str, part: &str) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    as_child_of_test(&mut command, test).env(ROLE, part);
    command
}

fn as_child_of_test<'c>(
    command: &'c mut std::process::Command,
    test: &str,
) -> &'c mut std::process::Command {
    let test = format!("process::tests::{test}");
    command.args(["--exact", &test, "--nocapture", "--test-threads=1"])
}

/// Runs one of these tests again, by this program, which has to succeed.
pub(super) fn again(mut command: std::process::Command, test: &str) {
    let output = as_child_of_test(&mut command, test).env(ROLE, "again").output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    // A name that fits no test would pass without running anything.
    assert!(output.status.success() && out.contains("1 passed"), "{test}: {out}{err}");
}
