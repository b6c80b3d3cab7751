//! Running a test again in a process of its own, under other circumstances.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Base;
use super::base::BASE_DIR;
use super::host::{LeftOut, is_root, say};

/// What the process that runs now was started for, if it is a child of a test.
const ROLE: &str = "RINGFENCE_TEST_ROLE";

/// A user and group without any rights: `nobody` on most systems.
const NOBODY: u32 = 65534;

/// The name of the test in which this stands, as the harness knows it.
macro_rules! this_test {
    () => {{
        fn here() {}
        $crate::support::test_name(std::any::type_name_of_val(&here))
    }};
}
pub(crate) use this_test;

/// Makes `module::test` of `crate::module::test::here`.
pub(crate) fn test_name(here: &'static str) -> &'static str {
    let name = here.strip_suffix("::here").unwrap_or(here);
    name.split_once("::").map_or(name, |(_, rest)| rest)
}

/// The kinds of test that this process cannot run, whole.
pub(crate) fn left_out() -> Vec<LeftOut> {
    let all = |what: &str, why: String| LeftOut::new(what, why, 1);
    let mut left_out = Vec::new();
    if unshare().is_none() {
        left_out.push(all("all tests with mounts of their own", NO_OWN_MOUNTS.to_owned()));
    }
    if !is_root() {
        left_out.push(all("all tests as root", "not run as root".to_owned()));
    } else if let Some(closed) = closed_to_others(Base::new().path()) {
        let why = format!("{closed} is closed to others");
        left_out.push(all("all tests as an ordinary user", why));
    }
    left_out
}

/// Runs `body` as a user without rights: here if this is one, else in a child that became one.
pub(crate) fn as_user(test: &str, body: impl FnOnce()) {
    if !is_root() {
        if role().is_none() {
            say(format_args!("{test} runs as the ordinary user that the tests run as"));
        }
        return body();
    }
    let base = Base::new();
    std::os::unix::fs::chown(base.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    if let Some(closed) = closed_to_others(base.path()) {
        say(format_args!("left out: {test} as an ordinary user: {closed} is closed to others"));
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.uid(NOBODY).gid(NOBODY).env(BASE_DIR, base.path());
    in_child(test, "user", command, body);
}

/// Runs `body` in a child whose mounts nobody else sees.
///
/// Where neither privilege nor user namespaces allow it, says so and does nothing.
pub(crate) fn with_own_mounts(test: &str, body: impl FnOnce()) {
    if role().as_deref() == Some("mounts") {
        return body();
    }
    let Some(mut command) = unshare() else {
        say(format_args!("left out: {test}: {NO_OWN_MOUNTS}"));
        return;
    };
    command.arg(std::env::current_exe().unwrap());
    in_child(test, "mounts", command, body);
}

/// Why a test with mounts of its own may have to be left out.
const NO_OWN_MOUNTS: &str = "this user may not have mounts of its own";

/// Runs `body` in a child of its own, whose limits and descriptors it may treat as it likes.
pub(crate) fn in_own_process(test: &str, body: impl FnOnce()) {
    in_child(test, "alone", Command::new(std::env::current_exe().unwrap()), body);
}

fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

fn in_child(test: &str, role_of_child: &str, mut command: Command, body: impl FnOnce()) {
    if role().as_deref() == Some(role_of_child) {
        return body();
    }
    let output = command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, role_of_child)
        .output()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    // A name that fits no test would pass without running anything.
    let passed = output.status.success() && out.contains("1 passed");
    assert!(passed, "{test} as {role_of_child}: {}\n{out}{err}", output.status);
    for line in err.lines().filter_map(|line| line.strip_prefix("ringfence: ")) {
        say(format_args!("{line} (as {role_of_child})"));
    }
}

/// `unshare` as far as the program to run, if it works for this user.
fn unshare() -> Option<Command> {
    let command = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]);
        if !is_root() {
            command.arg("--map-root-user");
        }
        command.arg("--");
        command
    };
    let works = command()
        .arg("true")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    works.then(command)
}

/// The first directory on the way to `path` or to this program that others cannot pass, or the
/// program itself.
fn closed_to_others(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let program = std::env::current_exe().unwrap();
    let on_the_way = path.ancestors().skip(1).chain(program.ancestors());
    on_the_way
        .filter(|dir| {
            dir.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o001 == 0)
        })
        .last()
        .map(|dir| dir.display().to_string())
}
