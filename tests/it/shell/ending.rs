//! How commands end, and all that they started with them.

use std::time::{Duration, Instant};

use ringfence::{Cancel, Code, Ending, Mode, Run, Runner};

use super::{PATIENCE, is_slept_for, run, session, stage, stdout, within};
use crate::support::runs_commands;

/// Beyond the limit and the grace.
const MARGIN: Duration = Duration::from_millis(500);

/// Leaves a process that has left its parents, its session and its environment, and says who it is.
const LEAVES: &str = "env -i setsid bash -c '(sleep 300 & echo $!) &' | head -1";

#[test]
fn its_exit_code_and_its_signal_are_told_as_they_are() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::WorkspaceWrite);
    for (command, ending) in [
        ("true", Ending::Exited(0)),
        ("exit 7", Ending::Exited(7)),
        ("nothing-of-that-name", Ending::Exited(127)),
        ("./f", Ending::Exited(126)),
        ("kill -TERM $$", Ending::Signalled(15)),
        ("sleep 9 & kill $!; wait $!; test $? = 143", Ending::Exited(0)),
    ] {
        let ran = run(&session, command);
        let by_bubblewrap = ran.sandbox.held.is_some_and(|held| held.runner == Runner::Bwrap);
        let mut told = ending;
        if let (Ending::Signalled(signal), true) = (ending, by_bubblewrap) {
            // bubblewrap says it as a shell does.
            told = Ending::Exited(128 + signal);
        }
        assert_eq!(ran.ending, told, "{command}");
    }
}

#[test]
fn a_limit_ends_all_of_it_in_time() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::WorkspaceWrite);
    for command in [
        "sleep 300",
        "trap '' TERM; sleep 300 & wait; sleep 300",
        "(sleep 300; touch late) & wait",
        "yes",
        "kill -STOP $$",
    ] {
        let limit = Duration::from_millis(150);
        let began = Instant::now();
        let ran = session.run(Run::new(command).timeout(limit)).unwrap();
        let took = began.elapsed();
        assert_eq!((ran.ending, ran.timeout), (Ending::TimedOut, Some(limit)), "{command}");
        assert!(took < limit + Duration::from_millis(200) + MARGIN, "{command}: {took:?}");
    }
    assert!(!stage.root().join("late").exists());
}

#[test]
fn what_it_left_running_ends_with_it() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    for (number, mode) in [Mode::ReadOnly, Mode::WorkspaceWrite].into_iter().enumerate() {
        let session = session(&stage, mode);
        let time = format!("303.{}{number}", std::process::id());
        let began = Instant::now();
        let ran = run(&session, &LEAVES.replace("300", &time));
        assert!(began.elapsed() < PATIENCE, "nobody waits for what it left");
        assert!(stdout(&ran).trim().parse::<u32>().is_ok(), "{ran:?}");
        within(Duration::from_secs(1), || !is_slept_for(&time), "it still runs");
    }
}

#[test]
fn a_grandchild_that_holds_the_pipes_holds_nobody_up() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::DangerFullAccess);
    for command in ["(sleep 300 &); echo hi", "nohup sleep 300 & echo hi"] {
        let began = Instant::now();
        let ran = run(&session, command);
        assert_eq!((stdout(&ran), ran.ending), ("hi\n", Ending::Exited(0)), "{command}");
        assert!(began.elapsed() < Duration::from_secs(5), "{command}");
    }
}

#[test]
fn who_cancels_it_ends_all_of_it() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::WorkspaceWrite);
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let time = format!("302.{}", std::process::id());
        let command = Run::new(format!("sleep {time}; true")).cancel(cancel.clone());
        let ran = scope.spawn(|| session.run(command).unwrap());
        within(PATIENCE, || is_slept_for(&time), "it does not sleep");
        cancel.cancel();
        assert_eq!(ran.join().unwrap().ending, Ending::Aborted);
        within(Duration::from_secs(1), || !is_slept_for(&time), "it still runs");
    });
    let error = session.run(Run::new("touch n").cancel(cancel)).unwrap_err();
    assert_eq!(error.code(), Code::FsAborted);
    assert!(!stage.root().join("n").exists());
}
