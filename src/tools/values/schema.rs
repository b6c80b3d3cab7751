//! What the value of each tool is, as JSON Schema.

use serde_json::{Map, Value, json};

use crate::mode::Mode;

use super::super::schema::Background;
use super::super::tool::Tool;

/// The value of a call of `tool` that succeeds.
pub(in super::super) fn of(tool: Tool, background: Background) -> Value {
    match (tool, background) {
        (Tool::Read, _) => lines(),
        (Tool::Write | Tool::Edit, _) => change(),
        (Tool::List, _) => entries(),
        (Tool::Bash, Background::Absent) => ended(Job::None),
        (Tool::Bash, Background::Offered) => one_of([ended(Job::None), started()]),
        (Tool::BashOutput | Tool::BashKill, _) => one_of([running(), ended(Job::Named)]),
    }
}

/// Whether a command is told of as a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Job {
    Named,
    None,
}

/// An object with these keys and no others, all of which it has unless it is said otherwise.
#[derive(Debug, Default)]
struct Object {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
}

impl Object {
    fn with(mut self, key: &'static str, schema: Value) -> Self {
        self.required.push(key);
        self.perhaps(key, schema)
    }

    fn perhaps(mut self, key: &str, schema: Value) -> Self {
        self.properties.insert(key.to_owned(), schema);
        self
    }

    /// A text that may stand for bytes, which are told beside it where they are no UTF-8.
    fn spelled(self, key: &'static str) -> Self {
        self.with(key, string()).hex(key)
    }

    fn perhaps_spelled(self, key: &str) -> Self {
        self.perhaps(key, string()).hex(key)
    }

    fn hex(self, key: &str) -> Self {
        let hex = json!({ "type": "string", "pattern": "^([0-9a-f]{2})+$" });
        self.perhaps(&format!("{key}_hex"), hex)
    }

    fn done(self) -> Value {
        let Self { properties, required } = self;
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

fn lines() -> Value {
    let line = Object::default().with("number", count(1)).with("text", string()).done();
    let lines = Object::default().spelled("path").with("offset", count(1));
    lines.with("lines", list(line)).with("totalLines", count(0)).done()
}

fn change() -> Value {
    let change = Object::default()
        .spelled("path")
        .with("operation", one_of_words(["create", "update", "unchanged"]));
    change
        .perhaps("replaced", count(1))
        .with("notKept", list(string()))
        .perhaps("diff", diff())
        .done()
}

fn diff() -> Value {
    let lines = || Object::default().with("first", count(0)).with("count", count(0)).done();
    let part = Object::default()
        .with("kind", one_of_words(["same", "removed", "added"]))
        .with("text", string());
    let hunk = Object::default().with("before", lines()).with("after", lines());
    let hunk = hunk.with("parts", list(part.done())).done();
    Object::default().with("hunks", list(hunk)).with("coarse", boolean()).done()
}

fn entries() -> Value {
    let entry = Object::default()
        .spelled("name")
        .with("kind", one_of_words(["file", "directory", "other"]))
        .perhaps("size", count(0));
    let entries = Object::default().spelled("path").with("entries", list(entry.done()));
    entries.with("total", count(0)).done()
}

fn started() -> Value {
    Object::default().with("kind", one_of_words(["started"])).with("job", string()).done()
}

fn running() -> Value {
    let running = Object::default().with("kind", one_of_words(["running"])).with("job", string());
    written(running).done()
}

fn ended(job: Job) -> Value {
    let kinds = ["completed", "failed", "timed_out", "aborted"];
    let mut ended = Object::default().with("kind", one_of_words(kinds));
    if job == Job::Named {
        ended = ended.with("job", string());
    }
    let ended = ended
        .with("exitCode", or_null("integer"))
        .with("signal", or_null("string"))
        .with("timedOut", boolean())
        .with("aborted", boolean())
        .with("timeoutMs", or_null("number"));
    written(ended).with("sandbox", sandbox()).done()
}

fn written(object: Object) -> Object {
    let object = object.with("stdout", string()).with("stderr", string());
    let object = object.with("truncated", boolean());
    object.perhaps_spelled("stdoutFile").perhaps_spelled("stderrFile")
}

fn sandbox() -> Value {
    let evidence = ["kernel_audit", "policy_replay", "heuristic"];
    Object::default()
        .with("mode", one_of_words(Mode::ALL.map(Mode::as_str)))
        .with("runner", or_null("string"))
        .with("enforcement", or_null("string"))
        .with("gaps", list(string()))
        .with("notCovered", list(string()))
        .with("denied", boolean())
        .perhaps("evidence", one_of_words(evidence))
        .perhaps_spelled("path")
        .done()
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn boolean() -> Value {
    json!({ "type": "boolean" })
}

fn count(least: u64) -> Value {
    json!({ "type": "integer", "minimum": least })
}

fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

fn or_null(of_type: &str) -> Value {
    json!({ "type": [of_type, "null"] })
}

fn one_of_words<const N: usize>(words: [&str; N]) -> Value {
    json!({ "type": "string", "enum": words.as_slice() })
}

/// The type is said outside too, where a host looks for it.
fn one_of<const N: usize>(schemas: [Value; N]) -> Value {
    json!({ "type": "object", "oneOf": schemas.as_slice() })
}
