//! Commands in the background.

use std::time::Duration;

use ringfence::{Ending, JobState, Mode, Ran, Run, Session};

use super::{PATIENCE, is_slept_for, session, stage, stdout, within};
use crate::support::runs_commands;

fn written(session: &Session, id: &str) -> String {
    match session.job(id).unwrap().state() {
        JobState::Running { stdout, .. } => String::from_utf8(stdout.tail).unwrap(),
        JobState::Ended(ran) => stdout(&ran).to_owned(),
        _ => panic!("another state"),
    }
}

fn ended(session: &Session, id: &str) -> Ran {
    let mut end = None;
    let mut is_over = || match session.job(id).unwrap().state() {
        JobState::Ended(ran) => {
            end = Some(ran);
            true
        }
        JobState::Running { .. } | _ => false,
    };
    within(PATIENCE, &mut is_over, "it does not end");
    end.unwrap()
}

#[test]
fn a_job_is_looked_at_while_it_runs_and_after_it_has_ended() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::WorkspaceWrite);
    let waits = "echo begun; until test -e go; do :; done; echo done; exit 3";
    let job = session.start(Run::new(waits).timeout(Duration::from_millis(1))).unwrap();
    within(PATIENCE, || written(&session, job.id()) == "begun\n", "it writes nothing");
    assert!(matches!(job.state(), JobState::Running { .. }));
    std::fs::write(stage.root().join("go"), "").unwrap();
    let ran = ended(&session, job.id());
    assert_eq!((ran.ending, stdout(&ran)), (Ending::Exited(3), "begun\ndone\n"));
    assert_eq!(ran.timeout, None);
    assert!(session.job("another").is_none());
}

#[test]
fn a_job_that_is_killed_is_gone_when_that_is_said() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::WorkspaceWrite);
    let time = format!("301.{}", std::process::id());
    let job = session.start(Run::new(format!("trap '' TERM; sleep {time}; true"))).unwrap();
    within(PATIENCE, || is_slept_for(&time), "it does not sleep");
    job.kill();
    let JobState::Ended(ran) = job.state() else { panic!("it is said to run") };
    assert_eq!(ran.ending, Ending::Aborted);
    within(Duration::from_secs(1), || !is_slept_for(&time), "it still runs");
}

#[test]
fn a_job_ends_with_its_session() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let modes = [Mode::ReadOnly, Mode::WorkspaceWrite, Mode::DangerFullAccess];
    for (number, mode) in modes.into_iter().enumerate() {
        let session = session(&stage, mode);
        // In a namespace it has another number than out here, so it is known by what it does.
        let time = format!("300.{}{number}", std::process::id());
        let command = format!("setsid -w bash -c 'echo begun; exec sleep {time}'");
        let job = session.start(Run::new(command)).unwrap();
        within(PATIENCE, || is_slept_for(&time), "it does not sleep");
        drop((session, job));
        within(Duration::from_secs(1), || !is_slept_for(&time), "it still runs");
    }
}
