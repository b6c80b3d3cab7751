//! What each tool takes, as JSON Schema.

use serde_json::{Map, Value, json};

use crate::mode::Mode;

use super::hints::Hints;
use super::key::Key;
use super::limits::Limits;
use super::texts;
use super::tool::Tool;
use super::values;

/// The modes that may be asked for, whatever the mode of the session is.
pub(super) const WIDER: [Mode; 2] = [Mode::WorkspaceWrite, Mode::DangerFullAccess];

/// Whether a model is told of the two keys that ask for a wider mode.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pair {
    Advertised,
    Absent,
}

/// Whether a command may go on in the background.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Background {
    Offered,
    Absent,
}

/// What a model is offered beside what a tool takes anyway.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Offer {
    pub(super) pair: Pair,
    pub(super) background: Background,
}

/// A tool as it is told to a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name that it is called by.
    pub name: &'static str,
    /// What it does and how it is used.
    pub description: String,
    /// The JSON Schema of its arguments, an object. Keys that are not in it are ignored.
    pub parameters: Value,
    /// The JSON Schema of [`ToolResult::value`](crate::ToolResult::value) where the call succeeds,
    /// an object. It has no keys that are not in it. A call that fails is told by
    /// [`is_error`](crate::ToolResult::is_error) and has another value, with `code` and perhaps
    /// `reason`, which is not to be held against this.
    pub result: Value,
    /// What may be expected of it.
    pub hints: Hints,
}

/// What a model is told of `tool`.
pub(super) fn spec(tool: Tool, limits: &Limits, offer: Offer) -> ToolSpec {
    let mut schema = Schema { tool, properties: Map::new(), required: Vec::new() };
    match tool {
        Tool::Read => {
            schema.required(Key::FilePath, string());
            schema.window(limits.read_limit);
        }
        Tool::Write => {
            schema.required(Key::FilePath, string());
            schema.required(Key::Content, string());
            schema.pair(offer.pair);
        }
        Tool::Edit => {
            schema.required(Key::FilePath, string());
            schema.required(Key::OldString, string());
            schema.required(Key::NewString, string());
            schema.optional(Key::ReplaceAll, json!({ "type": "boolean", "default": false }));
            schema.pair(offer.pair);
        }
        Tool::List => {
            schema.required(Key::Path, string());
            schema.window(limits.list_limit);
        }
        Tool::Bash => {
            schema.required(Key::Command, string());
            schema.required(Key::Description, string());
            let timeout = json!({ "type": "number", "exclusiveMinimum": 0 });
            schema.optional(Key::TimeoutMs, timeout);
            schema.optional(Key::Workdir, string());
            schema.background(offer.background);
            schema.pair(offer.pair);
        }
        Tool::BashOutput | Tool::BashKill => schema.required(Key::Job, string()),
    }
    ToolSpec {
        name: tool.as_str(),
        description: texts::description(tool, limits, offer),
        parameters: schema.finish(),
        result: values::schema(tool, offer.background),
        hints: Hints::of(tool),
    }
}

fn string() -> Value {
    json!({ "type": "string" })
}

struct Schema {
    tool: Tool,
    properties: Map<String, Value>,
    required: Vec<Key>,
}

impl Schema {
    fn required(&mut self, key: Key, of_type: Value) {
        self.required.push(key);
        self.optional(key, of_type);
    }

    fn optional(&mut self, key: Key, mut of_type: Value) {
        of_type["description"] = texts::parameter(self.tool, key).into();
        self.properties.insert(key.to_string(), of_type);
    }

    fn window(&mut self, most: usize) {
        let offset = json!({ "type": "integer", "minimum": 1, "default": 1 });
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": most, "default": most });
        self.optional(Key::Offset, offset);
        self.optional(Key::Limit, limit);
    }

    fn background(&mut self, background: Background) {
        match background {
            Background::Offered => {
                let flag = json!({ "type": "boolean", "default": false });
                self.optional(Key::RunInBackground, flag);
            }
            Background::Absent => {}
        }
    }

    fn pair(&mut self, pair: Pair) {
        match pair {
            Pair::Advertised => {
                let modes = json!({ "type": "string", "enum": WIDER.map(Mode::as_str) });
                self.optional(Key::SandboxPermissions, modes);
                self.optional(Key::Justification, string());
            }
            Pair::Absent => {}
        }
    }

    fn finish(self) -> Value {
        let required: Vec<_> = self.required.into_iter().map(Key::as_str).collect();
        json!({ "type": "object", "properties": self.properties, "required": required })
    }
}
