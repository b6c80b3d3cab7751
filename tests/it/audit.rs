//! What is told of what is done: one decision and one outcome, and never contents.

use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ringfence::{
    Approval, Call, Cancel, Confinement, Durability, Edit, Enforcement, Error, Escalation, Event,
    Matches, Mode, ModeSource, Parents, PolicyService, Precondition, Request, Resolution, Session,
    Settings, TempAreas, WriteIntent,
};
use serde_json::json;

use crate::fork::forked;
use crate::support::{
    FenceKind, Person, Stage, Tree, builder_in, each_session_on, file, in_own_process, link,
    offered, this_test, told_by, told_in_full_by,
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

        assert!(told(Request::Read { path: "f".into() }).is_empty());
    });
}

#[test]
fn what_the_fence_denies_after_the_policy_has_allowed_it_is_told_with_the_outcome() {
    each_session_on(&tree(), |stage, session| {
        let mut by = None;
        let lines = told_by(|| match session.perform(write("outfile", "x")) {
            Err(Error::Denied(denial)) => by = Some(denial.by),
            other => panic!("{other:?}"),
        });
        assert_eq!(lines.len(), 2, "{lines:?}");
        has(&lines[0], &["decision=\"allow\""]);
        let by = format!(" by={} ", by.unwrap());
        let root = format!("roots=[{:?}]", stage.root());
        has(&lines[1], &["change/failed", "FS_SANDBOX_DENIED", "reason=\"containment\""]);
        has(&lines[1], &[&by, &root, "narrowest=\"danger-full-access\""]);

        session.set_mode(Mode::ReadOnly, ModeSource::Host);
        let lines = told_by(|| drop(session.perform(write("f", "x"))));
        for (line, event) in lines.iter().zip(["policy/decided", "change/failed"]) {
            let denied = ["reason=\"mode\"", "by=mode", "narrowest=\"workspace-write\""];
            has(line, &[&[event, "roots=[]"][..], &denied].concat());
        }
        assert_eq!(lines.len(), 2, "{lines:?}");
    });
}

#[test]
fn an_edit_tells_how_many_bytes_were_written_and_a_rename_both_its_ends() {
    each_session_on(&tree(), |_, session| {
        let edit = Edit { old: "l".into(), new: "\u{20ac}".into(), matches: Matches::One };
        let edit = Request::Edit { path: "f".into(), edit, seen: None };
        let lines = told_by(|| drop(session.perform(edit).unwrap()));
        has(&lines[1], &["change/done", "effect=replaced", "bytes=5"]);

        let rename =
            Request::Rename { from: "f".into(), to: "t\n".into(), when: Precondition::None };
        let lines = told_by(|| drop(session.perform(rename).unwrap()));
        has(&lines[0], &["path=\"f\"", "to=\"t\\n\""]);
        assert!(!lines[1].contains("bytes="), "{}", lines[1]);
    });
}

#[test]
fn a_change_that_is_cancelled_before_it_begins_is_told_as_any_other() {
    each_session_on(&tree(), |_, session| {
        let told = |request| {
            let cancel = Cancel::new();
            cancel.cancel();
            told_by(|| assert!(session.call(Call::new(request).cancel(cancel)).is_err()))
        };
        let lines = told(write("n", "x"));
        assert_eq!(lines.len(), 2, "{lines:?}");
        has(&lines[0], &["policy/decided", "decision=\"deny\"", "FS_ABORTED", "path=\"n\""]);
        has(&lines[1], &["change/failed", "FS_ABORTED", "tree_changed=false"]);
        assert!(told(Request::Read { path: "f".into() }).is_empty());
    });
}

/// Returns once the thread of this process sleeps.
fn wait_until_it_sleeps(thread: rustix::thread::Pid) {
    let stat = format!("/proc/self/task/{}/stat", thread.as_raw_nonzero());
    let began = Instant::now();
    while !std::fs::read_to_string(&stat).unwrap().contains(") S ") {
        assert!(began.elapsed() < Duration::from_secs(30), "it does not wait");
        std::thread::yield_now();
    }
}

#[test]
fn a_change_that_is_cancelled_while_it_waits_for_its_turn_is_told_as_any_other() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let session = Arc::new(OnceLock::<Session>::new());
        let (sender, told) = channel();
        let same = Arc::clone(&session);
        // A person is asked while the first change has its turn.
        let person = Person::who_first(
            move || {
                let session = same.get().unwrap();
                let (cancel, (started, thread)) = (Cancel::new(), channel());
                let call = Call::new(write("m", "x")).tool("write").cancel(cancel.clone());
                let lines = std::thread::scope(|scope| {
                    let second = scope.spawn(move || {
                        started.send(rustix::thread::gettid()).unwrap();
                        told_by(|| assert!(session.call(call).is_err()))
                    });
                    wait_until_it_sleeps(thread.recv().unwrap());
                    cancel.cancel();
                    second.join().unwrap()
                });
                sender.send(lines).unwrap();
            },
            Approval::AllowedOnce,
        );
        session.set(asking(*kind, &stage, &person)).unwrap();
        let (path, text, intent) = ("n".into(), "new".into(), WriteIntent::Any);
        let call = Call::new(Request::WriteText { path, text, intent }).tool("write");
        let justification = "it is wanted".to_owned();
        let call = call.escalate(Escalation { to: Mode::WorkspaceWrite, justification });
        drop(session.get().unwrap().call(call).unwrap());

        let lines = told.recv().unwrap();
        assert_eq!(lines.len(), 2, "{lines:?}");
        has(&lines[0], &["policy/decided", "decision=\"deny\"", "FS_ABORTED", "path=\"m\""]);
        has(&lines[1], &["change/failed", "FS_ABORTED"]);
    }
}

#[test]
fn a_change_in_a_forked_child_is_told_as_any_other() {
    in_own_process(this_test!(), || {
        each_session_on(&tree(), |_, session| {
            let told = || told_by(|| drop(session.perform(write("n", "x")))).join("\n");
            let told = forked(told).expect("the child does not hang");
            let lines: Vec<_> = told.lines().collect();
            assert_eq!(lines.len(), 3, "{lines:?}");
            has(lines[0], &["policy/decided", "decision=\"deny\"", "SANDBOX_UNAVAILABLE"]);
            has(lines[1], &["sandbox/unavailable", "forked"]);
            has(lines[2], &["change/failed", "SANDBOX_UNAVAILABLE"]);
        });
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
    let builder = builder_in(stage.root(), Mode::ReadOnly, kind);
    builder.approver(Arc::<Person>::clone(person)).build().unwrap()
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
            let cut = format!("because {}", "x".repeat(200 - "because ".len()));
            has(&lines[0], &[&format!("justification=\"{cut}\"")]);
            lines
        };
        let lines = told(Approval::AllowedOnce, Mode::WorkspaceWrite, "n");
        has(&lines[1], &["escalation/decided", "outcome=\"allowed-once\"", "asked=true"]);
        has(&lines[2], &["policy/decided", "decision=\"allow\"", "mode=workspace-write"]);
        has(&lines[3], &["change/done"]);

        let lines = told(Approval::Rejected, Mode::WorkspaceWrite, "m");
        has(&lines[1], &["outcome=\"rejected\"", "SANDBOX_ESCALATION_REJECTED", "asked=true"]);
        has(&lines[2], &["policy/decided", "decision=\"deny\""]);
        has(&lines[3], &["change/failed", "SANDBOX_ESCALATION_REJECTED"]);

        let lines = told(Approval::AllowedOnce, Mode::WorkspaceWrite, "outfile");
        has(&lines[1], &["outcome=\"refused\"", "FS_SANDBOX_DENIED", "asked=false"]);

        let lines = told(Approval::Cancelled, Mode::WorkspaceWrite, "m");
        has(&lines[1], &["outcome=\"cancelled\"", "SANDBOX_ESCALATION_CANCELLED", "asked=true"]);

        let lines = told(Approval::Unavailable, Mode::WorkspaceWrite, "m");
        has(&lines[1], &["outcome=\"unavailable\"", "asked=true"]);
    }
}

fn settings(kind: FenceKind, stage: &Stage) -> Settings {
    Settings::default()
        .workspace(stage.root())
        .temps(TempAreas::none())
        .exactly(kind.resolution, kind.confinement)
}

/// What the host can never hold.
fn untenable(stage: &Stage) -> Settings {
    let nobody = FenceKind { resolution: Resolution::Walk, confinement: Confinement::Nothing };
    settings(nobody, stage).require(Enforcement::Confined)
}

fn read() -> Request {
    Request::Read { path: "f".into() }
}

#[test]
fn other_settings_are_told_beside_those_that_they_replace() {
    for kind in offered() {
        let (first, second) = (Stage::new(&tree()), Stage::new(&tree()));
        let service = PolicyService::load(settings(*kind, &first)).unwrap();
        let other = settings(*kind, &second).mode(Mode::WorkspaceWrite);
        let level = service.session().open().unwrap().assurance().unwrap();
        assert!(level.is_none(), "read-only has no fence");
        let other = other.durability(Durability::None).require(Enforcement::Checked);
        let other = other.protected_subpaths([".git/hooks", "./a"]);
        let lines = told_by(|| service.reload(other).unwrap());
        let told: Vec<_> = lines.iter().filter(|line| line.contains("policy/")).collect();
        assert_eq!(told.len(), 1, "{lines:?}");
        let paths = |word: &str, stage: &Stage| {
            let root = stage.root();
            [format!(" {word}workspace={root:?} "), format!(" {word}roots=[{root:?}] ")]
        };
        let [old_workspace, old_roots] = paths("old_", &first);
        has(told[0], &["policy/reloaded", &old_workspace, &old_roots, " old_mode=\"read-only\""]);
        has(told[0], &[" old_level=checked", " old_durability=file", " approvals=ask"]);
        let [workspace, roots] = paths("", &second);
        has(told[0], &[&workspace, &roots, " mode=workspace-write", " level=checked"]);
        has(told[0], &[" durability=none", " old_protected=[]"]);
        has(told[0], &[r#" protected=[".git/hooks", "a"]"#]);

        let lines = told_by(|| service.close());
        assert_eq!(lines.len(), 1, "{lines:?}");
        let [old_workspace, old_roots] = paths("old_", &second);
        has(&lines[0], &["policy/closed", "old_mode=\"workspace-write\"", &old_workspace]);
        has(&lines[0], &[old_roots.trim_end(), "old_level=checked", "old_durability=none"]);
        has(&lines[0], &[r#"old_protected=[".git/hooks", "a"]"#]);
        assert!(told_by(|| service.close()).is_empty(), "it is closed already");
    }
}

#[test]
fn what_is_no_mode_is_told_once_for_each_event_that_has_it_and_once_for_a_log() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let service = PolicyService::load(settings(*kind, &stage)).unwrap();
        let event = |name: &str, data| Event { name: name.into(), data };
        let junk = || event("sandbox/mode", json!({ "mode": 7 }));
        let session = service.session().open().unwrap();
        for _ in 0..2 {
            let lines = told_by(|| {
                session.record(junk());
                drop(session.perform(read()));
            });
            assert_eq!(lines.len(), 1, "{lines:?}");
            has(&lines[0], &["policy/invalid-event", "found=\"7\"", session.name()]);
        }
        let other = event("fs/observed", json!({ "mode": 7 }));
        assert!(told_by(|| session.record(other.clone())).is_empty());
        let approvals = event("approval/policy", json!({ "policy": "always" }));
        let lines = told_by(|| session.record(approvals));
        assert_eq!(lines.len(), 1, "{lines:?}");
        has(&lines[0], &["policy/invalid-event", "always"]);

        let resume = |log| told_by(|| drop(service.session().log(log).open().unwrap()));
        let lines = resume(vec![junk(), junk(), other]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        has(&lines[0], &["policy/invalid-event", "found=\"7\""]);
        let valid = Event::sandbox_mode(Mode::ReadOnly, ModeSource::Host);
        assert!(resume(vec![junk(), valid]).is_empty());

        assert!(told_by(|| session.set_mode(Mode::WorkspaceWrite, ModeSource::Host)).is_empty());
    }
}

#[test]
fn what_cannot_be_done_for_want_of_a_policy_or_a_boundary_is_told_with_its_cause() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let told_once = |act: &dyn Fn() -> bool, cause: &str| {
            let lines = told_by(|| assert!(act(), "it is done all the same"));
            assert_eq!(lines.len(), 1, "{lines:?}");
            has(&lines[0], &["sandbox/unavailable", cause]);
        };
        let confined = "confined enforcement or better cannot be held";
        told_once(&|| PolicyService::load(untenable(&stage)).is_err(), confined);
        let service = PolicyService::load(settings(*kind, &stage)).unwrap();
        told_once(&|| service.reload(untenable(&stage)).is_err(), confined);

        let session = service.session().open().unwrap();
        session.set_mode(Mode::WorkspaceWrite, ModeSource::Host);
        let moved = stage.root().with_extension("moved");
        std::fs::rename(stage.root(), &moved).unwrap();
        let lines = told_by(|| assert!(session.perform(write("f", "x")).is_err()));
        std::fs::rename(&moved, stage.root()).unwrap();
        assert_eq!(lines.len(), 3, "{lines:?}");
        has(&lines[1], &["sandbox/unavailable", "was moved or replaced"]);

        service.close();
        told_once(&|| service.session().open().is_err(), "no policy");
        told_once(&|| service.session().cwd(stage.root()).open().is_err(), "no policy");
        told_once(&|| session.perform(read()).is_err(), "no policy");
        let lines = told_by(|| drop(session.perform(write("f", "x"))));
        assert_eq!(lines.len(), 3, "{lines:?}");
        has(&lines[0], &["policy/decided", "decision=\"deny\"", "SANDBOX_UNAVAILABLE"]);
        has(&lines[1], &["sandbox/unavailable", "no policy"]);
        has(&lines[2], &["change/failed", "SANDBOX_UNAVAILABLE"]);
    }
}

#[test]
fn what_is_observed_is_told_to_the_host_and_not_in_the_audit() {
    each_session_on(&tree(), |_, session| {
        let observed = |path: &str, guard: fn(Call) -> Call| {
            let call = guard(Call::new(Request::ReadText { path: path.into() }));
            let lines = told_in_full_by(|| drop(session.call(call)));
            let lines = lines.into_iter().filter(|line| line.contains("fs/observed"));
            lines.collect::<Vec<_>>()
        };
        for (path, state) in [("f", "present"), ("n", "absent")] {
            let lines = observed(path, Call::observed);
            assert_eq!(lines.len(), 1, "{lines:?}");
            let words = ["DEBUG", "ringfence::events", session.name(), &format!("\"{state}\"")];
            assert!(words.iter().all(|word| lines[0].contains(word)), "{lines:?}");
            assert!(!lines[0].contains("old"), "{lines:?}");
            assert!(observed(path, |call| call).is_empty());
        }
    });
}
