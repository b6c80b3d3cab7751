//! What is told of what is done: one decision and one outcome, and never contents.

use std::sync::Arc;

use ringfence::{
    Approval, Call, Escalation, Event, Mode, ModeSource, Parents, PolicyService, Precondition,
    Request, Session, Settings, TempAreas, WriteIntent,
};
use serde_json::json;

use crate::support::{
    FenceKind, Person, Stage, Tree, each_session_on, file, link, offered, told_by,
};

fn tree() -> Tree {
    Tree::inside([file("f", "old"), link("outfile", "$BASE/out/secret")])
        .outside([file("out/secret", "out")])
}

fn write(path: &str, contents: &str) -> Request {
    let (path, contents) = (path.into(), contents.into());
    Request::Write { path, contents, when: Precondition::None, parents: Parents::Create }
}

#[track_caller]
fn has(line: &str, words: &[&str]) {
    for word in words {
        assert!(line.contains(word), "{word}: {line}");
    }
    assert!(line.contains("ringfence::audit"), "{line}");
}

#[test]
fn each_change_is_told_as_one_decision_and_one_outcome() {
    each_session_on(&tree(), |_, session| {
        let told = |request| told_by(|| drop(session.perform(request)));
        let lines = told(write("n", "the contents"));
        assert_eq!(lines.len(), 2, "{lines:?}");
        let session_name = format!("session=\"{}\"", session.name());
        let decided = ["policy/decided", "decision=\"allow\"", "roots=", &session_name];
        has(&lines[0], &[&decided[..], &["operation=write", "workspace-write"]].concat());
        let done = ["change/done", "effect=created", "bytes=12", "elapsed_us=", "level="];
        has(&lines[1], &done);
        assert!(!lines.concat().contains("the contents"));

        let lines = told(write("../n\n", "x"));
        assert_eq!(lines.len(), 2, "{lines:?}");
        let denied =
            ["decision=\"deny\"", "containment", "FS_SANDBOX_DENIED", "danger-full-access"];
        has(&lines[0], &denied);
        has(&lines[1], &["change/failed", "FS_SANDBOX_DENIED", "tree_changed=false"]);

        let lines = told(write("outfile", "x"));
        has(&lines[0], &["decision=\"allow\""]);
        has(&lines[1], &["change/failed", "FS_SANDBOX_DENIED"]);
        assert_eq!(lines.len(), 2, "{lines:?}");

        assert!(told(Request::Read { path: "f".into() }).is_empty());
    });
}

#[test]
fn a_change_of_what_was_not_seen_is_told_as_any_other() {
    each_session_on(&tree(), |_, session| {
        let (path, text, intent) = ("f".into(), "the contents".into(), WriteIntent::Any);
        let call = Call::new(Request::WriteText { path, text, intent }).tool("write").id("call-7");
        let lines = told_by(|| drop(session.call(call.observed())));
        assert_eq!(lines.len(), 2, "{lines:?}");
        has(&lines[0], &["policy/decided", "tool=\"write\"", "call=\"call-7\""]);
        has(&lines[1], &["change/failed", "FS_NOT_OBSERVED"]);
        assert!(!lines.concat().contains("the contents"));
    });
}

fn asking(kind: FenceKind, stage: &Stage, person: &Arc<Person>) -> Session {
    Session::builder()
        .workspace(stage.root())
        .temps(TempAreas::none())
        .exactly(kind.resolution, kind.confinement)
        .approver(Arc::<Person>::clone(person))
        .build()
        .unwrap()
}

#[test]
fn each_question_is_told_and_what_came_of_it() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let told = |answer, to, path: &str| {
            let person = Person::who_says(answer);
            let session = asking(*kind, &stage, &person);
            let justification = format!("because {}", "x".repeat(300));
            let (path, text, intent) = (path.into(), "new".into(), WriteIntent::Any);
            let call = Call::new(Request::WriteText { path, text, intent });
            let call = call.escalate(Escalation { to, justification });
            let lines = told_by(|| drop(session.call(call)));
            assert_eq!(lines.len(), 4, "{lines:?}");
            has(&lines[0], &["escalation/asked", "from=read-only", "because"]);
            assert!(!lines[0].contains(&"x".repeat(200)), "{}", lines[0]);
            lines
        };
        let lines = told(Approval::AllowedOnce, Mode::WorkspaceWrite, "n");
        has(&lines[1], &["escalation/decided", "outcome=\"allowed-once\"", "asked=true"]);
        has(&lines[2], &["policy/decided", "decision=\"allow\"", "mode=workspace-write"]);
        has(&lines[3], &["change/done"]);

        let lines = told(Approval::Rejected, Mode::WorkspaceWrite, "m");
        has(&lines[1], &["SANDBOX_ESCALATION_REJECTED", "asked=true"]);
        has(&lines[2], &["policy/decided", "decision=\"deny\""]);
        has(&lines[3], &["change/failed", "SANDBOX_ESCALATION_REJECTED"]);

        let lines = told(Approval::AllowedOnce, Mode::WorkspaceWrite, "outfile");
        has(&lines[1], &["FS_SANDBOX_DENIED", "asked=false"]);
    }
}

#[test]
fn what_befalls_the_policy_is_told_once() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let settings = || {
            Settings::default()
                .workspace(stage.root())
                .temps(TempAreas::none())
                .exactly(kind.resolution, kind.confinement)
        };
        let service = PolicyService::load(settings()).unwrap();
        let lines = told_by(|| service.reload(settings().mode(Mode::WorkspaceWrite)).unwrap());
        let told: Vec<_> = lines.iter().filter(|line| line.contains("ringfence::audit")).collect();
        assert_eq!(told.len(), 1, "{lines:?}");
        has(told[0], &["policy/reloaded", "old_mode=\"read-only\"", "mode=workspace-write"]);

        let junk = Event { name: "sandbox/mode".into(), data: json!({ "mode": 7 }) };
        let session = service.session().open().unwrap();
        let lines = told_by(|| {
            session.record(junk.clone());
            drop(session.perform(Request::Read { path: "f".into() }));
        });
        assert_eq!(lines.len(), 1, "{lines:?}");
        has(&lines[0], &["policy/invalid-event", "7"]);
        assert!(told_by(|| session.set_mode(Mode::WorkspaceWrite, ModeSource::Host)).is_empty());

        service.close();
        let lines = told_by(|| drop(session.perform(write("f", "x"))));
        assert_eq!(lines.len(), 3, "{lines:?}");
        has(&lines[0], &["policy/decided", "decision=\"deny\"", "SANDBOX_UNAVAILABLE"]);
        has(&lines[1], &["sandbox/unavailable", "no policy"]);
        has(&lines[2], &["change/failed", "SANDBOX_UNAVAILABLE"]);
    }
}
