//! The tools that are mounted together.

use std::sync::Arc;

use serde_json::Value;

use crate::call::Guard;
use crate::session::Session;
use crate::text::DiffLimits;

use super::arguments::{self, Arguments};
use super::context::CallContext;
use super::failure::Failure;
use super::limits::Limits;
use super::looks::Looks;
use super::result::ToolResult;
use super::run::Run;
use super::schema::{self, Background, Offer, Pair, ToolSpec};
use super::texts::{Asking, Standing};
use super::tool::Tool;

/// The tools that an agent is given, and how.
#[derive(Clone, Debug)]
#[must_use = "a set does nothing until a tool of it is called"]
pub struct ToolSet {
    tools: Vec<Tool>,
    limits: Limits,
    offer: Offer,
    guard: Guard,
    diff: Option<DiffLimits>,
    looks: Arc<Looks>,
}

impl Default for ToolSet {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolSet {
    /// All tools with the default limits, for a session that confines: a model is told how it may
    /// ask for a wider mode. No tool changes a file that has not been read in the session, and no
    /// command outlives its call.
    pub fn new() -> Self {
        let tools = Tool::ALL.into_iter().filter(|tool| !Tool::OF_JOBS.contains(tool)).collect();
        let offer = Offer { pair: Pair::Advertised, background: Background::Absent };
        let (limits, looks) = (Limits::default(), Arc::default());
        Self { tools, limits, offer, guard: Guard::Observation, diff: None, looks }
    }

    /// Without `tool`, which then is as unknown as any other name.
    pub fn without(mut self, tool: Tool) -> Self {
        self.tools.retain(|kept| *kept != tool);
        self
    }

    /// How much one answer shows.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// For a session that confines nothing: no model is told of wider modes, and to ask for one is
    /// an error.
    pub fn unconfined(mut self) -> Self {
        self.offer.pair = Pair::Absent;
        self
    }

    /// Lets a command go on in the background, as a job of its session: `bash` can be told so, and
    /// there are `bash_output` and `bash_kill`. What was shown of a job is kept by this set and its
    /// clones, by the name of the session.
    pub fn with_background(mut self) -> Self {
        self.offer.background = Background::Offered;
        self.tools.retain(|tool| !Tool::OF_JOBS.contains(tool));
        self.tools.extend(Tool::OF_JOBS);
        self
    }

    /// Lets files be changed that nobody has read.
    pub fn without_observation(mut self) -> Self {
        self.guard = Guard::Request;
        self
    }

    /// Has each change tell what differs, to a program and to a person who is asked. It costs the
    /// time that `limits` allows, after the change is made.
    pub fn with_diffs(mut self, limits: DiffLimits) -> Self {
        self.diff = Some(limits);
        self
    }

    /// What a model is told of the tools, in a fixed order.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| schema::spec(*tool, &self.limits, self.offer)).collect()
    }

    /// Calls the tool `name`. Whatever goes wrong is told in the result.
    ///
    /// `read`, `list` and `bash` run at any time; `write` and `edit` of one session run one after
    /// the other, first come first served. So a command may change a file that is being edited, and
    /// the edit then fails rather than undo that.
    ///
    /// What a command prints is shown as it is. The lines that this crate adds come after it, and
    /// where an output has something in it that looks like a denial, one of them says so; a program
    /// goes by the value, which no output can change.
    ///
    /// ```
    /// use ringfence::{CallContext, Mode, Session, ToolSet};
    /// use serde_json::json;
    /// # let workspace = format!("target/ringfence-set-{}", std::process::id());
    /// # std::fs::create_dir_all(&workspace)?;
    /// let session = Session::builder().workspace(&workspace).mode(Mode::WorkspaceWrite).build()?;
    /// let tools = ToolSet::new();
    /// let call = |name, arguments| tools.call(&session, name, arguments, &CallContext::default());
    ///
    /// let made = call("write", json!({ "file_path": "a.txt", "content": "one\ntwo\n" }));
    /// assert_eq!(made.value["operation"], "create");
    /// let read = call("read", json!({ "file_path": "a.txt", "offset": 2 }));
    /// assert_eq!(read.value["lines"], json!([{ "number": 2, "text": "two" }]));
    /// let refused = call("write", json!({ "file_path": "/etc/a.txt", "content": "" }));
    /// assert_eq!(refused.value["code"], "FS_SANDBOX_DENIED");
    /// # std::fs::remove_dir_all(&workspace)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn call(
        &self,
        session: &Session,
        name: &str,
        arguments: Value,
        context: &CallContext,
    ) -> ToolResult {
        let accepted = match self.accept(name, arguments) {
            // What was cancelled is not judged; what is accepted tells its path too.
            Err(_) if context.cancel.is_cancelled() => {
                Err(Failure::Cancelled { name: name.to_owned() })
            }
            accepted => accepted,
        };
        let (limits, guard, diff, looks) = (&self.limits, self.guard, self.diff, &*self.looks);
        let result = accepted.and_then(|(tool, arguments)| {
            Run { tool, session, context, limits, guard, diff, looks }.answer(arguments)
        });
        let asking = if session.can_ask() { Asking::Reaches } else { Asking::Nobody };
        ToolResult::told(result, Standing { pair: self.offer.pair, asking })
    }

    /// The tool that is called, and what for.
    fn accept(&self, name: &str, arguments: Value) -> Result<(Tool, Arguments), Failure> {
        let Some(tool) = Tool::named(name).filter(|tool| self.tools.contains(tool)) else {
            return Err(Failure::NoTool { name: name.to_owned(), tools: self.tools.clone() });
        };
        let accepted = arguments::parse(tool, arguments, &self.limits, self.offer);
        accepted.map(|arguments| (tool, arguments)).map_err(|why| Failure::unaccepted(tool, why))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The error that a call with these arguments ends in.
    fn refused(set: &ToolSet, name: &str, arguments: Value) -> Value {
        let standing = Standing { pair: set.offer.pair, asking: Asking::Reaches };
        let failure = set.accept(name, arguments).expect_err("the arguments are wrong");
        let ToolResult { is_error, value, .. } = ToolResult::told(Err(failure), standing);
        assert!(is_error);
        value
    }

    #[test]
    fn a_tool_that_is_not_in_the_set_is_not_there() {
        let set = ToolSet::new().without(Tool::List);
        let names: Vec<_> = set.specs().iter().map(|spec| spec.name).collect();
        assert_eq!(names, ["read", "write", "edit", "bash"]);
        for name in ["list", "Read", "", "bash_output"] {
            assert_eq!(refused(&set, name, json!({})), json!({ "code": "INVALID_ARGS" }), "{name}");
        }
    }

    #[test]
    fn jobs_are_there_only_where_a_command_may_go_on() {
        let names = |set: &ToolSet| set.specs().iter().map(|spec| spec.name).collect::<Vec<_>>();
        let takes = |set: &ToolSet| {
            let specs = set.specs();
            let bash = specs.iter().find(|spec| spec.name == "bash").unwrap();
            bash.parameters["properties"].get("run_in_background").is_some()
        };
        let set = ToolSet::new();
        assert_eq!(names(&set), ["read", "write", "edit", "list", "bash"]);
        assert!(!takes(&set));
        let job = json!({ "job": "a" });
        assert_eq!(refused(&set, "bash_kill", job), json!({ "code": "INVALID_ARGS" }));

        let set = set.with_background().with_background();
        let all = ["read", "write", "edit", "list", "bash", "bash_output", "bash_kill"];
        assert_eq!(names(&set), all);
        assert!(takes(&set));
    }

    #[test]
    fn arguments_that_are_wrong_have_a_code() {
        let set = ToolSet::new();
        let write = |extra: (&str, &str)| {
            let mut arguments = json!({ "file_path": "a", "content": "" });
            arguments[extra.0] = extra.1.into();
            arguments
        };
        let invalid = json!({ "code": "INVALID_ARGS" });
        assert_eq!(refused(&set, "read", json!({ "file_path": " " })), invalid);
        assert_eq!(refused(&set, "write", write(("sandbox_permissions", "read-only"))), invalid);
        assert_eq!(
            refused(&set, "write", write(("justification", "so"))),
            json!({ "code": "SANDBOX_ESCALATION_INVALID", "reason": "unpaired_justification" })
        );
        assert_eq!(
            refused(&set.unconfined(), "write", write(("justification", "so"))),
            json!({ "code": "SANDBOX_ESCALATION_UNSUPPORTED" })
        );
    }

    #[test]
    fn the_limits_of_the_set_are_in_its_schemas_and_hold() {
        let limits = Limits::builder().read_limit(7).list_limit(3).build().unwrap();
        let set = ToolSet::new().limits(limits);
        for (name, path, most) in [("read", "file_path", 7), ("list", "path", 3)] {
            let specs = set.specs();
            let spec = specs.iter().find(|spec| spec.name == name).unwrap();
            assert_eq!(spec.parameters["properties"]["limit"]["maximum"], json!(most));
            let limit = |limit| set.accept(name, json!({ path: "a", "limit": limit }));
            assert!(limit(most).is_ok(), "{name}");
            assert!(limit(most + 1).is_err(), "{name}");
        }
    }
}
