//! What a command begins with, and what it does not get.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_setfd};

use super::super::*;
use super::support::{
    On, PATIENCE, again, bash, child_of_test, on_each_runner, part, place, within,
};

on_each_runner! {
    there_is_nothing_to_read_and_nothing_else_to_inherit,
    signals_are_as_they_are_by_default,
    there_is_no_controlling_terminal,
    the_environment_is_what_was_given,
    a_directory_that_was_renamed_is_where_it_begins,
    a_program_that_is_missing_is_no_fault_of_the_runner,
    a_program_may_have_any_name,
    a_long_command_is_taken,
    a_command_is_run_by_a_program_that_is_gone,
    the_streams_of_this_process_can_be_a_commands_own,
}

fn there_is_nothing_to_read_and_nothing_else_to_inherit(on: On) {
    let leaked = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty()).unwrap();
    fcntl_setfd(&leaked, FdFlags::empty()).unwrap();
    assert!(leaked.as_raw_fd() > 2);
    // The last is what the listing itself holds open.
    assert_eq!(on.output(bash("cat; cd /proc/$$/fd; echo *", &[]), within(&[])), "0 1 2 3\n");
}

fn signals_are_as_they_are_by_default(on: On) {
    // Those beyond are the C library's own.
    let script = "grep -E 'Sig(Ign|Blk)' /proc/self/status | while read -r name mask; do \
        echo $name $((0x$mask & 0x7fffffff)); done";
    assert_eq!(on.output(bash(script, &[]), within(&[])), "SigBlk: 0\nSigIgn: 0\n");
}

fn there_is_no_controlling_terminal(on: On) {
    let script = "! : </dev/tty && cut -d ' ' -f 7 /proc/self/stat";
    assert_eq!(on.output(bash(script, &[]), within(&[])), "0\n");
}

fn the_environment_is_what_was_given(on: On) {
    let mut command = Command::new("/usr/bin/env", Workdir::open("/").unwrap());
    command.arguments = vec!["-0".into()];
    let odd = [
        ("PATH", "/nowhere"),
        ("a.b-c", "1"),
        ("BASH_FUNC_f%%", "() { :; }"),
        ("X", "a\nb"),
        ("LD_SOME", " two  words "),
        ("OLDPWD", "/before"),
    ];
    command.env = odd.map(|(name, value)| (name.into(), value.into())).to_vec();
    let out = on.output(command, within(&[]));
    let mut pairs: Vec<_> = out.split_terminator('\0').collect();
    // What ends a command may be told by a name of its own.
    pairs.retain(|pair| !pair.starts_with("RINGFENCE_RUN="));
    pairs.sort_unstable();
    let mut given = odd.map(|(name, value)| format!("{name}={value}"));
    given.sort_unstable();
    assert_eq!(pairs, given);
}

fn a_directory_that_was_renamed_is_where_it_begins(on: On) {
    let place = place();
    let mut command = bash("pwd -P; : >file", &[]);
    command.workdir = Workdir::open(&place.inside).unwrap();
    let restrictions = within(&[&place.inside]);
    let moved = place.base.path().join("moved");
    std::fs::rename(&place.inside, &moved).unwrap();
    assert_eq!(on.output(command, restrictions).trim_end(), moved.to_str().unwrap());
    assert!(moved.join("file").exists());
}

fn a_program_that_is_missing_is_no_fault_of_the_runner(on: On) {
    let missing = Command::new("no-such-program", Workdir::open("/").unwrap());
    let error = on.plan(missing, within(&[])).spawn().unwrap_err();
    assert!(matches!(error, SpawnError::Program(_)), "{error:?}");
    let command = bash("exec /no/such/program", &[]);
    assert_eq!(on.run(command, within(&[])).ended, Ended::Exited(127));
}

fn a_program_may_have_any_name(on: On) {
    let place = place();
    let program = place.inside.join("a=b -c");
    copy("/bin/echo".as_ref(), &program);
    let mut command = Command::new(program, Workdir::open("/").unwrap());
    command.arguments = vec!["said".into()];
    assert_eq!(on.output(command, within(&[])), "said\n");
}

fn a_long_command_is_taken(on: On) {
    let script = format!("echo done # {}", "x".repeat(120 * 1024));
    assert_eq!(on.output(bash(&script, &[]), within(&[])), "done\n");
}

fn a_command_is_run_by_a_program_that_is_gone(on: On) {
    let test = format!("beginning::{}::a_command_is_run_by_a_program_that_is_gone", on.runner);
    if part().is_some() {
        let own = std::env::current_exe().unwrap();
        std::fs::remove_file(&own).unwrap();
        return assert_eq!(on.output(bash("echo ran", &[]), within(&[])), "ran\n");
    }
    let place = place();
    let own = place.base.path().join("copy");
    copy(&std::env::current_exe().unwrap(), &own);
    again(std::process::Command::new(&own), &test);
    assert!(!own.exists());
}

fn the_streams_of_this_process_can_be_a_commands_own(on: On) {
    if part().is_some() {
        let script = "read -r line && echo \"out $line\" && echo \"err $line\" >&2";
        let mut command = bash(script, &[]);
        command.streams = Streams::Inherited;
        let mut child = on.spawn(command, within(&[]));
        let happened = child.next(Some(Instant::now() + PATIENCE)).unwrap();
        return assert!(matches!(happened, Happened::Ended(Ended::Exited(0))), "{happened:?}");
    }
    let test =
        format!("beginning::{}::the_streams_of_this_process_can_be_a_commands_own", on.runner);
    let mut child = child_of_test(std::env::current_exe().unwrap(), &test, "inherits")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"text\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("out text\n") && err.contains("err text\n"), "{out}{err}");
}

/// Copies a program. Not by this process: while another thread starts something, that would hold
/// the new file open for writing, and it could not be executed.
fn copy(from: &Path, to: &Path) {
    assert!(std::process::Command::new("cp").args([from, to]).status().unwrap().success());
}
