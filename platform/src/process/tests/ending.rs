//! The end of a command is the end of all that it started.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::super::*;
use super::support::{
    On, bash, child_of_test, on_each_runner, outcome, part, sleeping_for, until_ready,
    with_argument, within, within_a_second,
};

on_each_runner! {
    what_has_left_its_parents_and_its_session_ends_with_the_command,
    what_runs_in_the_background_ends_with_the_command,
    a_command_may_end_its_own_processes,
    a_command_that_is_asked_to_end_may_clean_up,
    a_command_that_is_asked_to_end_ends_by_that_signal,
    a_command_that_is_dropped_is_gone,
    another_thread_can_end_a_command,
    everything_ends_with_this_process_however_it_ends,
}

/// Starts a process that has left its parents, its session and its environment, says so by a line
/// and goes on.
const STRAY: &str = "env -i setsid bash -c '(bash -c \"exec sleep $1\" &)' bash \"$1\" \
    >/dev/null 2>&1 </dev/null; echo ready;";

/// A time that nobody else sleeps for.
fn unlike_any(on: &On, test: u32) -> String {
    format!("300.{}{test}{}", std::process::id(), on.runner as u8)
}

fn stray(unlike: &str, then: &str) -> Command {
    bash(&format!("{STRAY} {then}"), &[Path::new(unlike)])
}

fn seen(unlike: &str) -> bool {
    !with_argument(unlike).is_empty()
}

fn what_has_left_its_parents_and_its_session_ends_with_the_command(on: On) {
    let unlike = unlike_any(&on, 1);
    let mut child = on.spawn(stray(&unlike, "exec sleep 300"), within(&[]));
    until_ready(&mut child);
    within_a_second("it has begun", || seen(&unlike));
    child.kill();
    assert_eq!(outcome(child).ended, Ended::Signalled(9));
    within_a_second("it is gone", || !seen(&unlike));
}

fn what_runs_in_the_background_ends_with_the_command(on: On) {
    let unlike = unlike_any(&on, 2);
    let mut command = stray(&unlike, "nohup sleep \"$1\" & echo hi");
    command.arguments.push("unused".into());
    let outcome = outcome(on.spawn(command, within(&[])));
    assert_eq!((outcome.out.as_str(), outcome.ended), ("ready\nhi\n", Ended::Exited(0)));
    within_a_second("it is gone", || !seen(&unlike));
}

fn a_command_may_end_its_own_processes(on: On) {
    let script = "sleep 300 & kill $!; wait $!; echo $?";
    assert_eq!(on.output(bash(script, &[]), within(&[])), "143\n");
}

fn a_command_that_is_asked_to_end_may_clean_up(on: On) {
    let script = "trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let mut child = on.spawn(bash(script, &[]), within(&[]));
    until_ready(&mut child);
    child.terminate();
    let outcome = outcome(child);
    assert!(outcome.out.ends_with("cleaned\n"), "{outcome:?}");
    assert_eq!(outcome.ended, Ended::Exited(3));
}

fn a_command_that_is_asked_to_end_ends_by_that_signal(on: On) {
    let mut child = on.spawn(bash("echo ready; exec sleep 300", &[]), within(&[]));
    until_ready(&mut child);
    child.killer().terminate();
    assert_eq!(outcome(child).ended, Ended::Signalled(15));
}

fn a_command_that_is_dropped_is_gone(on: On) {
    let unlike = unlike_any(&on, 3);
    let mut child = on.spawn(stray(&unlike, "exec sleep 300"), within(&[]));
    until_ready(&mut child);
    let id = child.id();
    drop(child);
    assert!(!Path::new(&format!("/proc/{id}")).exists());
    within_a_second("it is gone", || !seen(&unlike));
}

fn another_thread_can_end_a_command(on: On) {
    let mut child = on.spawn(bash("echo ready; exec sleep 300", &[]), within(&[]));
    until_ready(&mut child);
    let killer = child.killer();
    std::thread::spawn(move || killer.kill()).join().unwrap();
    let until = Some(Instant::now() + Duration::from_secs(1));
    assert!(matches!(child.next(until).unwrap(), Happened::Ended(Ended::Signalled(9))));
}

fn everything_ends_with_this_process_however_it_ends(on: On) {
    if let Some(unlike) = part() {
        let mut child = on.spawn(stray(&unlike, "exec sleep \"$1\""), within(&[]));
        until_ready(&mut child);
        loop {
            // Until it is killed.
            drop(child.next(None).unwrap());
        }
    }
    if on.runners.survey()[0].as_ref().unwrap().gaps.contains(&ShellGap::Orphans) {
        return eprintln!("ringfence: left out: {} does not hold orphans here", on.runner);
    }
    let unlike = unlike_any(&on, 4);
    let test = format!("ending::{}::everything_ends_with_this_process_however_it_ends", on.runner);
    let mut embedding = child_of_test(std::env::current_exe().unwrap(), &test, &unlike)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while sleeping_for(&unlike).len() < 2 {
        assert!(embedding.try_wait().unwrap().is_none(), "it has not come to that");
        std::thread::yield_now();
    }
    embedding.kill().unwrap();
    within_a_second("all are gone", || !seen(&unlike));
    embedding.wait().unwrap();
    let mut rest = Vec::new();
    embedding.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
}
