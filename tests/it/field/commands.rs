//! What went wrong with commands.

mod absent;
mod asked;
mod judged;
mod layers;
mod litter;
mod places;
mod repositories;
mod running;
mod size;

use std::sync::Arc;

use ringfence::{Escalation, Mode, Run, Runner, Session, SessionOptions, Settings, TempAreas};
use serde_json::json;

use crate::shell::service;
use crate::support::{Person, Stage, Tree, dir, file};

fn stage() -> Stage {
    let inside = [file("f", "old"), dir("d"), file("d/g", "g")];
    Stage::new(&Tree::inside(inside).outside([file("out/x", "outside")]))
}

fn settings(stage: &Stage, runner: Runner) -> Settings {
    let settings = Settings::default().workspace(stage.root()).temps(TempAreas::none());
    settings.mode(Mode::WorkspaceWrite).runner(runner)
}

/// A session that may change the workspace, by commands that this runner holds.
fn session(stage: &Stage, runner: Runner) -> Session {
    service(settings(stage, runner)).session().open().unwrap()
}

/// The same with somebody who can be asked.
fn asking(settings: Settings, person: &Arc<Person>) -> SessionOptions {
    service(settings).session().approver(Arc::<Person>::clone(person))
}

fn wider(command: &str, to: Mode) -> Run {
    let justification = "the user wants it".to_owned();
    Run::new(command).escalate(Escalation { to, justification })
}

/// What an agent would be told of a command.
fn by_tool(session: &Session, command: &str) -> ringfence::ToolResult {
    let arguments = json!({ "command": command, "description": "a test" });
    ringfence::ToolSet::new().call(session, "bash", arguments, &ringfence::CallContext::default())
}

/// Sees that an agent is told that a command was not run, and nothing that sounds like a denial.
#[track_caller]
fn assert_unavailable(session: &Session) {
    let told = by_tool(session, "echo x > n");
    assert!(told.is_error, "{}", told.text);
    assert_eq!(told.value["code"], "SANDBOX_UNAVAILABLE", "{}", told.text);
    for words in ["[sandbox:", "sandbox_permissions"] {
        assert!(!told.text.contains(words), "{}", told.text);
    }
}
