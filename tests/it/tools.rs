//! The tools of an agent, called as a host calls them, on every fence.

mod answers;
mod arguments;
mod bash;
mod escalation;
mod large;
mod observation;
mod schema;
mod sessions;

use std::sync::Arc;

use ringfence::{CallContext, Mode, Session, SessionBuilder, ToolResult, ToolSet};
use serde_json::Value;

use crate::support::{FenceKind, Person, Stage, Tree, builder_in, offered};

/// A session and the tools that its agent was given.
#[derive(Debug)]
struct Agent {
    session: Session,
    tools: ToolSet,
}

impl Agent {
    fn on(stage: &Stage, mode: Mode, kind: FenceKind) -> Self {
        Self::of(builder(stage, mode, kind))
    }

    /// As [`on`](Self::on), with somebody who can be asked.
    fn with(person: &Arc<Person>, stage: &Stage, mode: Mode, kind: FenceKind) -> Self {
        Self::of(builder(stage, mode, kind).approver(Arc::<Person>::clone(person)))
    }

    fn of(session: SessionBuilder) -> Self {
        Self { session: session.build().unwrap(), tools: ToolSet::new() }
    }

    fn call(&self, name: &str, arguments: Value) -> ToolResult {
        told(&self.tools, &self.session, name, arguments)
    }

    /// The value of a call that succeeds.
    #[track_caller]
    fn done(&self, name: &str, arguments: Value) -> Value {
        let ToolResult { is_error, text, value, .. } = self.call(name, arguments);
        assert!(!is_error, "{text}");
        value
    }

    /// The code of a call that fails.
    #[track_caller]
    fn code(&self, name: &str, arguments: Value) -> String {
        code(&self.call(name, arguments))
    }
}

/// Calls a tool, and sees that its value is as it was told.
#[track_caller]
fn told(tools: &ToolSet, session: &Session, name: &str, arguments: Value) -> ToolResult {
    let result = tools.call(session, name, arguments, &CallContext::default());
    if !result.is_error {
        assert_eq!(schema::of_tool(&tools.specs(), name, &result.value), Ok(()));
    }
    result
}

fn builder(stage: &Stage, mode: Mode, kind: FenceKind) -> SessionBuilder {
    builder_in(stage.root(), mode, kind)
}

#[track_caller]
fn code(result: &ToolResult) -> String {
    assert!(result.is_error, "{}", result.text);
    result.value["code"].as_str().expect("an error has a code").to_owned()
}

/// Runs `test` with an agent that may change the workspace, on each fence and a stage of its own.
fn each_agent_on(tree: &Tree, test: impl Fn(&Stage, &Agent)) {
    for kind in offered() {
        let stage = Stage::new(tree);
        test(&stage, &Agent::on(&stage, Mode::WorkspaceWrite, *kind));
    }
}
