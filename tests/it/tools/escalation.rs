//! One call of a tool in a wider mode: what a model is told, who is asked, and what that allows.

use std::cell::RefCell;
use std::collections::BTreeSet;

use ringfence::{Approval, CallContext, Mode, Subject, ToolResult};
use serde_json::{Value, json};

use super::{Agent, code};
use crate::support::{FenceKind, Person, Stage, Tree, dir, file, link, offered};

fn stage() -> Stage {
    let inside = [file("f", "a a"), file("nul", "\0"), dir("d"), link("out", "$BASE/out")];
    let outside = [file("out/x", "out"), link("alias", "$ROOT")];
    Stage::new(&Tree::inside(inside).outside(outside))
}

fn write(path: &str, content: &str) -> Value {
    json!({ "file_path": path, "content": content })
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

fn asking(mut arguments: Value, to: Mode) -> Value {
    arguments["sandbox_permissions"] = to.as_str().into();
    arguments["justification"] = "the user wants it".into();
    arguments
}

/// An agent that may change nothing, and a person who answers so.
fn each_asking(answer: Approval, test: impl Fn(&Stage, &Agent, &Person, FenceKind)) {
    for kind in offered() {
        let stage = stage();
        let person = Person::who_says(answer);
        let agent = Agent::with(&person, &stage, Mode::ReadOnly, *kind);
        test(&stage, &agent, &person, *kind);
    }
}

const MARKER: &str = "[sandbox: file access denied under read-only mode]";

fn hint(mode: &str) -> String {
    format!(
        "this exact operation may be retried once, in this turn, with `sandbox_permissions` set to \
         {mode:?} and a `justification`; the user will be asked"
    )
}

#[test]
fn a_denial_tells_the_mode_and_how_a_wider_one_may_be_asked_for() {
    each_asking(Approval::AllowedOnce, |stage, agent, person, kind| {
        let before = stage.snapshot();
        let lines = |result: ToolResult| {
            assert_eq!(code(&result), "FS_SANDBOX_DENIED");
            assert_eq!(result.value, json!({ "code": "FS_SANDBOX_DENIED" }));
            result.text.lines().map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        let denied = lines(agent.call("write", write("n", "x")));
        let place = stage.root().join("n");
        assert_eq!(denied[0], MARKER);
        assert!(denied[1].contains(&format!("cannot write {place:?}")), "{denied:?}");
        assert_eq!(denied[2], hint("workspace-write"));
        assert_eq!(denied.len(), 3, "{denied:?}");

        agent.done("read", json!({ "file_path": "f" }));
        let denied = lines(agent.call("edit", edit("f", "a a", "b")));
        assert_eq!(denied[0], MARKER);
        assert!(denied[1].contains("cannot edit"), "{denied:?}");

        let denied = lines(agent.call("write", write("../beside", "x")));
        assert_eq!(denied.last(), Some(&hint("danger-full-access")));

        // By where a link leads, and not by how the place is spelled.
        let denied = lines(agent.call("write", write("out/n", "x")));
        assert_eq!(denied.last(), Some(&hint("danger-full-access")));
        let alias = stage.base().join("alias").join("n");
        let denied = lines(agent.call("write", write(alias.to_str().unwrap(), "x")));
        assert_eq!(denied.last(), Some(&hint("workspace-write")));

        let wider =
            Agent::with(&Person::who_says(Approval::Rejected), stage, Mode::WorkspaceWrite, kind);
        let denied = lines(wider.call("write", write("out/n", "x")));
        assert_eq!(denied[0], MARKER.replace("read-only", "workspace-write"));
        assert_eq!(denied.last(), Some(&hint("danger-full-access")));

        // Where nobody can be asked, or nothing is offered, nothing is hinted at.
        let alone = Agent::on(stage, Mode::ReadOnly, kind);
        let silent = |denied: Vec<String>| {
            assert_eq!(denied[0], MARKER);
            assert!(!denied.concat().contains("sandbox_permissions"), "{denied:?}");
        };
        silent(lines(alone.call("write", write("n", "x"))));
        let tools = agent.tools.clone().unconfined();
        let context = CallContext::default();
        silent(lines(tools.call(&agent.session, "write", write("n", "x"), &context)));
        assert!(person.asked().is_empty());
        stage.assert_unchanged(&before);
    });
}

#[test]
fn consent_is_for_one_call_and_the_next_is_denied_again() {
    each_asking(Approval::AllowedOnce, |stage, agent, person, _| {
        agent.done("read", json!({ "file_path": "f" }));
        let context = CallContext { call_id: Some("call-1".into()), ..CallContext::default() };
        let arguments = asking(edit("f", "a a", "b"), Mode::WorkspaceWrite);
        let edited = agent.tools.call(&agent.session, "edit", arguments, &context);
        assert_eq!(edited.value["operation"], "update", "{}", edited.text);
        assert_eq!(std::fs::read_to_string(stage.root().join("f")).unwrap(), "b");

        let asked = person.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!((asked[0].from, asked[0].to), (Mode::ReadOnly, Mode::WorkspaceWrite));
        assert_eq!(asked[0].tool.as_deref(), Some("edit"));
        assert_eq!(asked[0].call.as_deref(), Some("call-1"));
        assert_eq!(asked[0].justification, "the user wants it");
        let Subject::Operation { path, .. } = &asked[0].subject else { panic!("a file") };
        assert_eq!(*path, stage.root().join("f"));

        let before = stage.snapshot();
        assert_eq!(agent.code("edit", edit("f", "b", "c")), "FS_SANDBOX_DENIED");
        assert_eq!(agent.code("write", write("n", "x")), "FS_SANDBOX_DENIED");
        assert_eq!(person.asked().len(), 1);
        stage.assert_unchanged(&before);
    });
}

#[test]
fn just_the_file_that_was_shown_is_written() {
    each_asking(Approval::AllowedOnce, |stage, agent, person, _| {
        let beside = asking(write("../beside", "new"), Mode::DangerFullAccess);
        assert_eq!(agent.done("write", beside)["operation"], "create");
        let beside = stage.base().join("beside");
        assert_eq!(std::fs::read_to_string(&beside).unwrap(), "new");
        std::fs::remove_file(&beside).unwrap();

        agent.done("read", json!({ "file_path": "out/x" }));
        let before = stage.snapshot();
        agent.done("write", asking(write("out/x", "new"), Mode::DangerFullAccess));
        let Subject::Operation { place, .. } = &person.asked()[1].subject else { panic!("a file") };
        let outside = stage.base().join("out/x");
        assert_eq!(*place, outside.canonicalize().unwrap());
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "new");
        let changed = before.differences(&stage.snapshot());
        assert!(changed.iter().all(|line| line.contains("out")), "{changed:#?}");
    });
}

#[test]
fn any_answer_but_consent_changes_nothing_and_has_its_own_code_and_words() {
    let words = RefCell::new(BTreeSet::new());
    for (answer, expected) in [
        (Approval::Rejected, "SANDBOX_ESCALATION_REJECTED"),
        (Approval::Cancelled, "SANDBOX_ESCALATION_CANCELLED"),
        (Approval::Unavailable, "SANDBOX_ESCALATION_UNAVAILABLE"),
    ] {
        each_asking(answer, |stage, agent, person, _| {
            let before = stage.snapshot();
            let result = agent.call("write", asking(write("n", "x"), Mode::WorkspaceWrite));
            assert_eq!(result.value, json!({ "code": expected }));
            assert!(result.text.contains("nothing was done"), "{}", result.text);
            assert!(result.text.starts_with("cannot write \"n\""), "{}", result.text);
            assert_eq!(person.asked().len(), 1);
            stage.assert_unchanged(&before);
            words.borrow_mut().insert(result.text);
        });
    }
    assert_eq!(words.borrow().len(), 3, "the same on every fence, and each of its own");
}

#[test]
fn what_is_asked_for_wrongly_reaches_nobody() {
    each_asking(Approval::AllowedOnce, |stage, agent, person, kind| {
        let before = stage.snapshot();
        let with = |key: &str, value: Value| {
            let mut arguments = write("n", "x");
            arguments[key] = value;
            arguments
        };
        let blank = |text: &str| {
            let mut arguments = asking(write("n", "x"), Mode::WorkspaceWrite);
            arguments["justification"] = text.into();
            arguments
        };
        let invalid = "SANDBOX_ESCALATION_INVALID";
        let reason = |reason: &str| json!({ "code": invalid, "reason": reason });
        let wanted = json!("workspace-write");
        let args = json!({ "code": "INVALID_ARGS" });
        for (arguments, value) in [
            (with("sandbox_permissions", wanted), reason("missing_justification")),
            (with("justification", json!("why")), reason("unpaired_justification")),
            (blank(""), reason("blank_justification")),
            (blank(" \n\t"), reason("blank_justification")),
            (with("sandbox_permissions", json!("read-only")), args.clone()),
            (with("sandbox_permissions", json!("Workspace-Write")), args.clone()),
            (with("sandbox_permissions", json!(true)), args.clone()),
            (with("justification", json!(7)), args),
        ] {
            let result = agent.call("write", arguments.clone());
            assert_eq!(result.value, value, "{arguments}: {}", result.text);
            stage.assert_unchanged(&before);
        }

        let not_wider = Agent::with(
            &Person::who_says(Approval::AllowedOnce),
            stage,
            Mode::DangerFullAccess,
            kind,
        );
        let result = not_wider.call("write", asking(write("n", "x"), Mode::DangerFullAccess));
        assert_eq!(code(&result), "SANDBOX_ESCALATION_NOT_WIDER");
        let alone = Agent::on(stage, Mode::ReadOnly, kind);
        let result = alone.call("write", asking(write("n", "x"), Mode::WorkspaceWrite));
        assert_eq!(code(&result), "SANDBOX_ESCALATION_NO_APPROVER");
        let unconfined = agent.tools.clone().unconfined();
        let context = CallContext::default();
        for arguments in [
            asking(write("n", "x"), Mode::WorkspaceWrite),
            with("justification", json!("why")),
            with("sandbox_permissions", json!("workspace-write")),
        ] {
            let result = unconfined.call(&agent.session, "write", arguments, &context);
            assert_eq!(code(&result), "SANDBOX_ESCALATION_UNSUPPORTED");
        }
        assert!(person.asked().is_empty());
        stage.assert_unchanged(&before);
    });
}

#[test]
fn nobody_is_asked_for_what_would_fail_anyway() {
    each_asking(Approval::AllowedOnce, |stage, agent, person, _| {
        let (narrow, full) = (Mode::WorkspaceWrite, Mode::DangerFullAccess);
        let unread = stage.snapshot();
        assert_eq!(agent.code("write", asking(write("f", "x"), narrow)), "FS_NOT_OBSERVED");
        assert_eq!(agent.code("edit", asking(edit("f", "a a", "b"), narrow)), "FS_NOT_OBSERVED");
        stage.assert_unchanged(&unread);

        agent.done("read", json!({ "file_path": "f" }));
        assert_eq!(agent.code("read", json!({ "file_path": "gone" })), "FS_NOT_FOUND");
        for (name, arguments, expected) in [
            ("edit", asking(edit("f", "a", "b"), narrow), "FS_AMBIGUOUS_EDIT"),
            ("edit", asking(edit("f", "z", "b"), narrow), "FS_EDIT_NOT_FOUND"),
            ("edit", asking(edit("gone", "a", "b"), narrow), "FS_NOT_FOUND"),
            ("write", asking(write("d", "x"), narrow), "FS_NOT_REGULAR_FILE"),
            ("write", asking(write("f/child", "x"), full), "FS_NOT_FOUND"),
        ] {
            assert_eq!(agent.code(name, arguments.clone()), expected, "{arguments}");
        }
        let denied = agent.call("write", asking(write("../beside", "x"), narrow));
        assert!(denied.text.starts_with(&MARKER.replace("read-only", "workspace-write")));

        std::fs::write(stage.root().join("f"), "another").unwrap();
        let before = stage.snapshot();
        assert_eq!(agent.code("write", asking(write("f", "x"), narrow)), "FS_STALE_VERSION");
        assert_eq!(agent.code("edit", asking(edit("f", "an", "b"), narrow)), "FS_STALE_VERSION");
        assert!(person.asked().is_empty(), "{:?}", person.asked());
        stage.assert_unchanged(&before);
    });
}
