//! What is told of commands: denials, questions, the audit.

use std::sync::Arc;

use ringfence::{
    Approval, Code, Ending, Escalation, Evidence, Mode, Run, Session, ShellGap, Subject,
};

use super::{run, service, session, settings, stage, stderr};
use crate::support::{Person, Stage, runs_commands, told_by};

fn asking(stage: &Stage, mode: Mode, person: &Arc<Person>) -> Session {
    let options = service(settings(stage, mode)).session();
    options.approver(Arc::<Person>::clone(person)).open().unwrap()
}

fn wider(command: &str, to: Mode) -> Run {
    let justification = "the user wants it".to_owned();
    Run::new(command).escalate(Escalation { to, justification })
}

#[test]
fn a_denied_path_is_told_with_its_evidence_and_another_failure_is_none() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::WorkspaceWrite);
    let outside = stage.base().join("out/n");
    let ran = run(&session, &format!("echo x > {}", outside.display()));
    let denied = ran.sandbox.denied.as_ref().unwrap_or_else(|| panic!("{}", stderr(&ran)));
    assert_eq!(denied.path.as_deref(), Some(&*outside));
    assert_eq!(denied.evidence, Evidence::PolicyReplay);
    assert_eq!(denied.narrowest, Some(Mode::DangerFullAccess));
    assert_eq!(ran.ending, Ending::Exited(1));

    for command in [
        "echo 'git@example.org: Permission denied (publickey).' >&2; exit 255",
        "echo 'expected: Read-only file system' >&2; exit 1",
        "printf 'sandbox: permission denied' >&2; exit 1",
        "grep -r nothing-of-that .; exit 1",
        "cat /proc/1/mem-that-is-not-there",
        "nothing-of-that-name",
        "./f",
    ] {
        let ran = run(&session, command);
        assert!(matches!(ran.ending, Ending::Exited(code) if code != 0), "{command}");
        assert_eq!(ran.sandbox.denied, None, "{command}: {}", stderr(&ran));
    }
    let ran = run(&session, "echo 'Permission denied' >&2; exit 1");
    assert!(ran.sandbox.may_be_denied && ran.sandbox.denied.is_none());
}

#[test]
fn under_read_only_the_workspace_is_denied_and_the_narrowest_mode_named() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::ReadOnly);
    for command in ["echo x > n", "touch n", "mkdir n", "rm f", "mv f n", "ln -s f n"] {
        let ran = run(&session, command);
        let denied = ran.sandbox.denied.as_ref();
        let denied = denied.unwrap_or_else(|| panic!("{command}: {}", stderr(&ran)));
        assert_eq!(denied.narrowest, Some(Mode::WorkspaceWrite), "{command}");
        assert!(denied.path.as_ref().unwrap().starts_with(stage.root()), "{denied:?}");
    }
}

#[test]
fn a_person_is_asked_once_for_one_command() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let person = Person::who_says(Approval::AllowedOnce);
    let session = asking(&stage, Mode::ReadOnly, &person);
    let ran = session.run(wider("echo x > n", Mode::WorkspaceWrite).id("call-1")).unwrap();
    assert_eq!((ran.ending, ran.sandbox.mode), (Ending::Exited(0), Mode::WorkspaceWrite));
    assert!(stage.root().join("n").exists());
    let asked = person.asked();
    let (command, workdir) = ("echo x > n".to_owned(), stage.root().to_owned());
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].subject, Subject::Command { command, workdir });
    assert_eq!(asked[0].call.as_deref(), Some("call-1"));

    assert_eq!(run(&session, "echo x > m").sandbox.mode, Mode::ReadOnly);
    assert!(!stage.root().join("m").exists());
}

#[test]
fn a_command_begins_where_a_person_was_shown_or_not_at_all() {
    for is_replaced in [false, true] {
        let stage = stage();
        let (sub, away) = (stage.root().join("sub"), stage.base().join("away"));
        std::fs::create_dir(&sub).unwrap();
        let swap = {
            let (sub, away) = (sub.clone(), away.clone());
            move || {
                std::fs::rename(&sub, &away).unwrap();
                if is_replaced {
                    std::os::unix::fs::symlink(&away, &sub).unwrap();
                }
            }
        };
        let person = Person::who_first(swap, Approval::AllowedOnce);
        let session = asking(&stage, Mode::ReadOnly, &person);
        let command = wider("echo x > n", Mode::DangerFullAccess).workdir("sub");
        assert_eq!(session.run(command).unwrap_err().code(), Code::FsStaleVersion);
        assert!(!away.join("n").exists());
    }
}

#[test]
fn without_consent_nothing_runs() {
    if !runs_commands() {
        return;
    }
    for (answer, code) in [
        (Approval::Rejected, Code::SandboxEscalationRejected),
        (Approval::Cancelled, Code::SandboxEscalationCancelled),
        (Approval::Unavailable, Code::SandboxEscalationUnavailable),
    ] {
        let stage = stage();
        let session = asking(&stage, Mode::ReadOnly, &Person::who_says(answer));
        let before = stage.snapshot();
        let error = session.run(wider("echo x > n", Mode::DangerFullAccess)).unwrap_err();
        assert_eq!(error.code(), code);
        stage.assert_unchanged(&before);
    }
    let stage = stage();
    let person = Person::who_says(Approval::AllowedOnce);
    let session = asking(&stage, Mode::WorkspaceWrite, &person);
    let refused = |run: Run| session.run(run).unwrap_err().code();
    let no_wider = wider("true", Mode::WorkspaceWrite);
    assert_eq!(refused(no_wider), Code::SandboxEscalationNotWider);
    let nowhere = wider("true", Mode::DangerFullAccess).workdir("missing");
    assert_eq!(refused(nowhere), Code::FsNotFound);
    let nobodys = wider("true", Mode::DangerFullAccess).agentless();
    assert_eq!(refused(nobodys), Code::SandboxEscalationNoAgent);
    assert!(person.asked().is_empty());
}

#[test]
fn a_command_is_told_as_a_decision_a_start_and_an_end_without_what_it_wrote() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::WorkspaceWrite);
    let outside = stage.base().join("out/n");
    let command = format!("printf 'the %s' contents; echo x > {}", outside.display());
    let mut gaps = Vec::new();
    let lines = told_by(|| {
        let ran = session.run(Run::new(&command).tool("bash").id("call-9")).unwrap();
        gaps = ran.sandbox.held.unwrap().gaps;
    });
    assert_eq!(lines.len(), 3, "{lines:?}");
    let has = |line: &str, words: &[&str]| {
        for word in words {
            assert!(line.contains(word), "{word}: {line}");
        }
    };
    has(&lines[0], &["policy/decided", "decision=\"allow\"", "operation=run", "tool=\"bash\""]);
    has(&lines[1], &["command/started", "runner=", "enforcement=", "call=\"call-9\""]);
    has(&lines[2], &["command/ended", "exit=1", "denied=true", "evidence=policy_replay"]);
    has(&lines[2], &[&format!("denied_path={outside:?}")]);
    assert!(!lines[2].contains("the contents"));
    if gaps.contains(&ShellGap::Metadata) {
        has(&lines[2], &["enforcement=\"partial\"", "metadata"]);
    }

    let lines = told_by(|| drop(session.run(Run::new("true").workdir("missing"))));
    has(&lines[0], &["policy/decided", "decision=\"deny\"", "FS_NOT_FOUND"]);
    has(&lines[1], &["command/ended", "FS_NOT_FOUND"]);
}
