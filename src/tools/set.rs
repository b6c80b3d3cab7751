//! The tools that are mounted together.

use serde_json::Value;

use super::arguments::{self, Arguments};
use super::failure::Failure;
use super::limits::Limits;
use super::schema::{self, Pair, ToolSpec};
use super::tool::Tool;

/// The tools that an agent is given, and how.
#[derive(Clone, Debug)]
#[must_use = "a set does nothing until a tool of it is called"]
pub struct ToolSet {
    tools: Vec<Tool>,
    limits: Limits,
    pair: Pair,
}

impl Default for ToolSet {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolSet {
    /// All tools with the default limits, for a session that confines: a model is told how it may
    /// ask for a wider mode.
    pub fn new() -> Self {
        Self { tools: Tool::ALL.into(), limits: Limits::default(), pair: Pair::Advertised }
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
        self.pair = Pair::Absent;
        self
    }

    /// What a model is told of the tools, in a fixed order.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| schema::spec(*tool, &self.limits, self.pair)).collect()
    }

    /// What a call asks for.
    fn accept(&self, name: &str, arguments: Value) -> Result<Arguments, Failure> {
        let Some(tool) = Tool::named(name).filter(|tool| self.tools.contains(tool)) else {
            return Err(Failure::NoTool { name: name.to_owned(), tools: self.tools.clone() });
        };
        arguments::parse(tool, arguments, &self.limits, self.pair)
            .map_err(|why| Failure::unaccepted(tool, why))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::result::ToolResult;
    use super::super::texts::{Asking, Standing};
    use super::*;
    use crate::mode::Mode;

    /// The error that a call with these arguments ends in.
    fn refused(set: &ToolSet, name: &str, arguments: Value) -> Value {
        let standing = Standing { mode: Mode::ReadOnly, pair: set.pair, asking: Asking::Reaches };
        let failure = set.accept(name, arguments).expect_err("the arguments are wrong");
        let ToolResult { is_error, value, .. } = ToolResult::told(Err(failure), standing);
        assert!(is_error);
        value
    }

    #[test]
    fn a_tool_that_is_not_in_the_set_is_not_there() {
        let set = ToolSet::new().without(Tool::List);
        let names: Vec<_> = set.specs().iter().map(|spec| spec.name).collect();
        assert_eq!(names, ["read", "write", "edit"]);
        for name in ["list", "Read", "", "bash"] {
            assert_eq!(refused(&set, name, json!({})), json!({ "code": "INVALID_ARGS" }), "{name}");
        }
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
