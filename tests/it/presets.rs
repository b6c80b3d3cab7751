//! Presets and approval policies: one switch for files and commands, and who is asked.

use std::path::Path;
use std::sync::Arc;

use ringfence::{
    Approval, ApprovalPolicy, Call, CallContext, Code, CurrentPreset, Error, Escalation, Event,
    Mode, ModeSource, PolicyService, Preset, Presets, Request, Session, Settings, StandingPolicy,
    TempAreas, ToolSet, WriteIntent,
};
use serde_json::{Value, json};

use crate::support::{FenceKind, Person, Stage, Tree, file, offered, runs_commands};

fn settings(stage: &Stage) -> Settings {
    Settings::default().workspace(stage.root()).temps(TempAreas::none())
}

fn on(kind: FenceKind, stage: &Stage) -> Settings {
    settings(stage).exactly(kind.resolution, kind.confinement)
}

fn stage() -> Stage {
    Stage::new(&Tree::inside([file("f", "old")]).outside([file("x", "out")]))
}

/// A session with the shipped presets, and these.
fn session(settings: Settings) -> (Arc<Presets>, Session) {
    let presets = Arc::new(Presets::shipped(&settings).unwrap());
    let options = PolicyService::load(settings).unwrap().session();
    let session = options.presets(Arc::clone(&presets)).open().unwrap();
    (presets, session)
}

fn logged(session: &Session) -> Vec<(String, Value)> {
    session.log().into_iter().map(|Event { name, data }| (name, data)).collect()
}

fn event(name: &str, data: Value) -> (String, Value) {
    (name.to_owned(), data)
}

fn asks_for(mode: Mode, path: &Path) -> Call {
    let (path, text, intent) = (path.to_owned(), "new".to_owned(), WriteIntent::Any);
    let justification = "it is wanted".to_owned();
    let call = Call::new(Request::WriteText { path, text, intent });
    call.tool("write").id("7").escalate(Escalation { to: mode, justification })
}

#[test]
fn one_switch_governs_files_and_commands_from_the_next_call_on() {
    for kind in offered() {
        let stage = stage();
        let (presets, session) = session(on(*kind, &stage));
        let tools = ToolSet::new();
        let is_denied = |name: &str, arguments: Value| {
            let result = tools.call(&session, name, arguments, &CallContext::default());
            let denied = json!("FS_SANDBOX_DENIED");
            result.value["code"] == denied || result.value["sandbox"]["denied"] == json!(true)
        };
        let write = |path: &str| is_denied("write", json!({ "file_path": path, "content": "" }));
        let command = |path: &str| {
            let command = format!("echo x > {path}");
            is_denied("bash", json!({ "command": command, "description": "writes" }))
        };
        let runs = runs_commands();
        assert!(write("a") && (!runs || command("b")));
        presets.set(&session, "workspace-write").unwrap();
        assert!(!write("a") && (!runs || !command("b")));
        assert!(write("../y") && (!runs || command("../z")), "outside of the workspace");
        presets.set(&session, "read-only").unwrap();
        assert!(write("c") && (!runs || command("d")));
    }
}

#[test]
fn a_new_session_records_all_three_and_a_resumed_one_what_is_missing() {
    let stage = stage();
    let (presets, session) = session(settings(&stage));
    let begun = [
        event("permission/preset", json!({ "preset": "read-only" })),
        event("sandbox/mode", json!({ "mode": "read-only" })),
        event("approval/policy", json!({ "policy": "ask" })),
    ];
    assert_eq!(logged(&session), begun);

    let service = PolicyService::load(settings(&stage)).unwrap();
    let resumed = |log| {
        let options = service.session().presets(Arc::clone(&presets)).log(log);
        options.open().unwrap()
    };
    assert_eq!(logged(&resumed(session.log())), begun, "nothing is missing");

    let mode = Event::sandbox_mode(Mode::DangerFullAccess, ModeSource::Host);
    let custom = resumed(vec![mode.clone()]);
    let added = [
        event("permission/preset", json!({ "preset": "custom" })),
        event("approval/policy", json!({ "policy": "ask" })),
    ];
    assert_eq!(logged(&custom)[1..], added);
    let (mode, approvals) = (Mode::DangerFullAccess, ApprovalPolicy::Ask);
    assert_eq!(presets.current(&custom).unwrap(), CurrentPreset::Custom { mode, approvals });
    assert_eq!(presets.current(&custom).unwrap().name(), "custom");
}

#[test]
fn a_switch_records_only_what_changes() {
    let stage = stage();
    let (presets, session) = session(settings(&stage));
    let mut seen = session.log().len();
    let mut new = || {
        let log = logged(&session);
        let new = log[seen..].to_vec();
        seen = log.len();
        new
    };
    presets.set(&session, "read-only").unwrap();
    assert_eq!(new(), []);
    presets.set(&session, "workspace-write").unwrap();
    let switched = [
        event("permission/preset", json!({ "preset": "workspace-write" })),
        event("sandbox/mode", json!({ "mode": "workspace-write" })),
    ];
    assert_eq!(new(), switched, "approvals are the same");

    session.set_mode(Mode::ReadOnly, ModeSource::Host);
    new();
    assert_eq!(presets.current(&session).unwrap().name(), "read-only", "by its pair");
    presets.set(&session, "workspace-write").unwrap();
    assert_eq!(new(), switched, "it was not in force");
    presets.set(&session, "danger-full-access").unwrap();
    assert_eq!(new().len(), 3);
}

#[test]
fn of_two_presets_with_one_pair_the_chosen_one_is_in_force() {
    let stage = stage();
    let pair = |name| Preset::new(name, Mode::WorkspaceWrite, ApprovalPolicy::Ask);
    let table = vec![pair("a"), pair("b")];
    let presets = Arc::new(Presets::new(table, Some("b"), &settings(&stage)).unwrap());
    let service = PolicyService::load(settings(&stage)).unwrap();
    let session = service.session().presets(Arc::clone(&presets)).open().unwrap();
    assert_eq!(presets.current(&session).unwrap().name(), "b");
    assert_eq!(session.policy().unwrap().mode(), Mode::WorkspaceWrite, "not the service's");
    presets.set(&session, "a").unwrap();
    assert_eq!(presets.current(&session).unwrap().name(), "a");
    let plain = service.session().open().unwrap();
    plain.set_mode(Mode::WorkspaceWrite, ModeSource::Host);
    assert_eq!(presets.current(&plain).unwrap().name(), "a", "the first that matches");
}

#[test]
fn a_table_that_cannot_be_meant_is_not_loaded() {
    let stage = stage();
    let from = |table: Value, default: Option<&str>| {
        Presets::from_json(table.as_object(), default, &settings(&stage)).map(drop)
    };
    let named = |name: &str| json!({ name: { "mode": "read-only", "approvals": "ask" } });
    assert!(from(named("careful"), Some("careful")).is_ok());
    assert!(from(named("careful"), None).is_ok(), "its pair is the default one");
    assert!(from(Value::Null, None).is_ok(), "the shipped table");
    for (table, default, told) in [
        (named("custom"), None, "custom"),
        (named(" "), None, "custom"),
        (named("careful"), Some("read-only"), "default_preset"),
        (named("careful"), Some("custom"), "default_preset"),
        (json!({}), None, "default_preset"),
        (json!({ "a": { "mode": "read-only", "approvals": "never" } }), None, "default_preset"),
        (json!({ "a": { "mode": "read-only" } }), None, "approvals"),
        (json!({ "a": { "mode": "all", "approvals": "ask" } }), None, "approvals"),
        (json!({ "a": { "mode": "read-only", "approvals": "ask", "x": 1 } }), None, "approvals"),
        (json!({ "a": "read-only" }), None, "approvals"),
    ] {
        let error = from(table.clone(), default).unwrap_err();
        assert_eq!(error.code(), Code::PolicyInvalid, "{table}");
        assert!(error.to_string().contains(told), "{error} tells {told}");
    }
    let wide = settings(&stage).mode(Mode::DangerFullAccess);
    assert!(Presets::shipped(&wide).is_err(), "no preset asks in danger-full-access");
    assert!(Presets::shipped(&wide.approvals(ApprovalPolicy::Never)).is_ok());
}

#[test]
fn what_is_no_preset_is_not_chosen() {
    let stage = stage();
    let (presets, session) = session(settings(&stage));
    let before = session.log();
    for name in ["custom", "", "Read-Only", "workspace"] {
        let error = presets.set(&session, name).unwrap_err();
        assert_eq!(error.code(), Code::PolicyInvalid, "{name}");
    }
    assert_eq!(session.log(), before);
}

#[test]
fn under_never_a_question_is_rejected_and_shown_to_nobody() {
    for kind in offered() {
        let stage = stage();
        let before = stage.snapshot();
        let person = Person::who_says(Approval::AllowedOnce);
        let service = PolicyService::load(on(*kind, &stage)).unwrap();
        let approver = Arc::<Person>::clone(&person);
        let session = service.session().approver(approver).open().unwrap();
        assert!(session.can_ask());
        session.set_approvals(ApprovalPolicy::Never);
        assert!(!session.can_ask(), "no model is told to ask");
        let error = session.call(asks_for(Mode::WorkspaceWrite, Path::new("n"))).unwrap_err();
        assert_eq!(error.code(), Code::SandboxEscalationRejected);
        assert!(person.asked().is_empty());
        stage.assert_unchanged(&before);
        let (id, reason) = ("approval-1", "it is wanted");
        let asked = json!({ "id": id, "toolName": "write", "callId": "7", "reason": reason });
        let decided = json!({ "id": id, "outcome": "rejected" });
        let pair = [event("approval/asked", asked), event("approval/decided", decided)];
        assert_eq!(logged(&session)[1..], pair, "after the policy itself");

        session.set_approvals(ApprovalPolicy::Ask);
        assert!(session.call(asks_for(Mode::WorkspaceWrite, Path::new("n"))).is_ok());
        assert_eq!(person.asked().len(), 1);
    }
}

#[test]
fn a_question_is_logged_with_its_outcome_also_when_it_fails() {
    #[derive(Debug)]
    struct Panics;
    impl ringfence::Approver for Panics {
        fn ask<'a>(&'a self, _: &'a ringfence::Question) -> ringfence::Answer<'a> {
            panic!("a fault of the approver")
        }
    }
    let stage = stage();
    let approvers: [(Arc<dyn ringfence::Approver>, &str); 4] = [
        (Person::who_says(Approval::AllowedOnce), "allowed-once"),
        (Person::who_says(Approval::Rejected), "rejected"),
        (Person::who_says(Approval::Cancelled), "cancelled"),
        (Arc::new(Panics), "unavailable"),
    ];
    for (approver, outcome) in approvers {
        let service = PolicyService::load(settings(&stage)).unwrap();
        let session = service.session().approver(approver).open().unwrap();
        for number in 1..3 {
            let path = format!("{outcome}{number}");
            let done = session.call(asks_for(Mode::WorkspaceWrite, Path::new(&path)));
            assert_eq!(done.is_ok(), outcome == "allowed-once");
            let id = format!("approval-{number}");
            let asked = json!({
                "id": id, "toolName": "write", "callId": "7", "reason": "it is wanted",
            });
            let decided = json!({ "id": id, "outcome": outcome });
            let pair = [event("approval/asked", asked), event("approval/decided", decided)];
            assert_eq!(logged(&session)[2 * number - 2..], pair);
        }
        let before = session.log();
        let refused: Result<_, Error> = session.call(asks_for(Mode::ReadOnly, Path::new("n")));
        assert_eq!(refused.unwrap_err().code(), Code::SandboxEscalationNotWider);
        assert_eq!(session.log(), before, "nobody was asked");
    }
}

#[test]
fn the_standing_policy_is_told_again_only_when_it_changes() {
    let stage = stage();
    let (presets, session) = session(settings(&stage));
    let mut standing = StandingPolicy::new();
    let mut told = || standing.update(&session);
    assert!(told().is_some_and(|text| text.contains("read-only")));
    assert_eq!(told(), None);
    presets.set(&session, "workspace-write").unwrap();
    let root = Value::from(stage.root().to_str().unwrap()).to_string();
    assert!(told().is_some_and(|text| text.contains("workspace-write") && text.contains(&root)));
    session.set_approvals(ApprovalPolicy::Never);
    assert!(told().is_some_and(|text| text.contains("sandbox_permissions")));
    session.set_approvals(ApprovalPolicy::Never);
    assert_eq!(told(), None);
}

#[test]
fn a_reload_sets_what_no_session_has_set() {
    let stage = stage();
    let service = PolicyService::load(settings(&stage)).unwrap();
    let (plain, own) = (service.session().open().unwrap(), service.session().open().unwrap());
    own.set_approvals(ApprovalPolicy::Ask);
    service.reload(settings(&stage).approvals(ApprovalPolicy::Never)).unwrap();
    assert_eq!(plain.approvals(), ApprovalPolicy::Never);
    assert_eq!(own.approvals(), ApprovalPolicy::Ask);
    service.close();
    assert_eq!(own.approvals(), ApprovalPolicy::Never, "nothing is asked without a policy");
}
