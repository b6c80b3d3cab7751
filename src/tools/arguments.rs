//! From what a model sent to what it asks for. Pure.
//!
//! All that is wrong is told at once, so that one more try is enough.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::mode::Mode;
use crate::text::{Edit, Matches};

use super::key::Key;
use super::limits::Limits;
use super::schema::{Background, Offer, Pair, WIDER};
use super::tool::Tool;

/// What a call asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Arguments {
    Read { path: PathBuf, offset: u64, limit: usize },
    Write { path: PathBuf, content: String, wider: Option<Wider> },
    Edit { path: PathBuf, edit: Edit, wider: Option<Wider> },
    List { path: PathBuf, offset: u64, limit: usize },
    Bash { command: Command, wider: Option<Wider> },
    BashOutput { job: String },
    BashKill { job: String },
}

/// A command line, and how it is to be run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Command {
    pub(super) line: String,
    pub(super) workdir: Option<PathBuf>,
    pub(super) timeout: Option<Duration>,
    pub(super) place: Place,
}

/// Where a command goes on once it is started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// The call waits for its end.
    Foreground,
    /// It is a job of the session.
    Background,
}

/// That this one call run in a wider mode, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Wider {
    pub(super) to: Mode,
    pub(super) justification: String,
}

/// Why arguments are not taken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Unaccepted {
    /// They are not what the tool takes; each thing that is wrong.
    Invalid(Vec<Violation>),
    /// A wider mode is asked for, and this tool has no fence that could be widened.
    Unsupported,
    /// A wider mode and its reason do not come together.
    Unpaired(Unpaired),
}

/// What is wrong with the value of a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Violation {
    /// All of it is no object.
    NoObject { found: &'static str },
    /// A key that is required is not there.
    Missing { key: Key },
    /// The value is of another type.
    Type { key: Key, expected: &'static str, found: &'static str },
    /// The integer is too small or too large.
    Range { key: Key, most: Option<usize> },
    /// The number is 0 or below.
    NotPositive { key: Key },
    /// The text is none of those that are taken.
    NoMode { key: Key },
    /// The text is empty or blank.
    Blank { key: Key },
    /// The text is empty.
    Empty { key: Key },
    /// The path or command has a NUL in it, which the system can neither find nor run.
    Nul { key: Key },
    /// The new text is the old one.
    Same,
}

/// How a wider mode and its reason do not come together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unpaired {
    /// There is no reason.
    Missing,
    /// There is a reason and no mode.
    Alone,
    /// The reason is blank.
    Blank,
}

impl Unpaired {
    /// The stable token.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing_justification",
            Self::Alone => "unpaired_justification",
            Self::Blank => "blank_justification",
        }
    }
}

/// Takes the arguments of `tool`. Keys that it does not know are ignored, and `null` is as good as
/// no value where one is optional.
pub(super) fn parse(
    tool: Tool,
    arguments: Value,
    limits: &Limits,
    offer: Offer,
) -> Result<Arguments, Unaccepted> {
    let mut given = Given::new(arguments)?;
    match tool {
        Tool::Read => {
            let path = given.path(Key::FilePath);
            let offset = given.integer(Key::Offset, None);
            let limit = given.integer(Key::Limit, Some(limits.read_limit));
            let path = given.accept(path)?;
            let limit = within(limit, limits.read_limit);
            Ok(Arguments::Read { path, offset: offset.unwrap_or(1), limit })
        }
        Tool::List => {
            let path = given.path(Key::Path);
            let offset = given.integer(Key::Offset, None);
            let limit = given.integer(Key::Limit, Some(limits.list_limit));
            let path = given.accept(path)?;
            let limit = within(limit, limits.list_limit);
            Ok(Arguments::List { path, offset: offset.unwrap_or(1), limit })
        }
        Tool::Write => {
            let path = given.path(Key::FilePath);
            let content = given.text(Key::Content);
            let asked = given.asked();
            let (path, content) = given.accept(path.zip(content))?;
            Ok(Arguments::Write { path, content, wider: asked.paired(offer.pair)? })
        }
        Tool::Edit => {
            let path = given.path(Key::FilePath);
            let edit = given.edit();
            let asked = given.asked();
            let (path, edit) = given.accept(path.zip(edit))?;
            Ok(Arguments::Edit { path, edit, wider: asked.paired(offer.pair)? })
        }
        Tool::Bash => {
            let command = given.command(offer.background);
            let asked = given.asked();
            let command = given.accept(command)?;
            Ok(Arguments::Bash { command, wider: asked.paired(offer.pair)? })
        }
        Tool::BashOutput => {
            let job = given.text(Key::Job);
            Ok(Arguments::BashOutput { job: given.accept(job)? })
        }
        Tool::BashKill => {
            let job = given.text(Key::Job);
            Ok(Arguments::BashKill { job: given.accept(job)? })
        }
    }
}

fn within(limit: Option<u64>, most: usize) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).map_or(most, |limit| limit.min(most))
}

/// The values that are not taken yet, and what is wrong with those that are.
struct Given {
    values: Map<String, Value>,
    violations: Vec<Violation>,
}

impl Given {
    fn new(arguments: Value) -> Result<Self, Unaccepted> {
        match arguments {
            Value::Object(values) => Ok(Self { values, violations: Vec::new() }),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                let found = type_of(&arguments);
                Err(Unaccepted::Invalid(vec![Violation::NoObject { found }]))
            }
        }
    }

    /// What was taken, if nothing of all that was looked at is wrong.
    fn accept<T>(self, taken: Option<T>) -> Result<T, Unaccepted> {
        match taken {
            Some(taken) if self.violations.is_empty() => Ok(taken),
            Some(_) | None => Err(Unaccepted::Invalid(self.violations)),
        }
    }

    fn wrong<T>(&mut self, violation: Violation) -> Option<T> {
        self.violations.push(violation);
        None
    }

    fn value(&mut self, key: Key) -> Option<Value> {
        self.values.remove(key.as_str()).filter(|value| !value.is_null())
    }

    fn optional_text(&mut self, key: Key) -> Option<String> {
        let value = self.value(key)?;
        self.string(key, value)
    }

    fn text(&mut self, key: Key) -> Option<String> {
        match self.values.remove(key.as_str()) {
            Some(value) => self.string(key, value),
            None => self.wrong(Violation::Missing { key }),
        }
    }

    fn string(&mut self, key: Key, value: Value) -> Option<String> {
        let otherwise = wrong_type(key, "a string", &value);
        if let Value::String(text) = value { Some(text) } else { self.wrong(otherwise) }
    }

    fn path(&mut self, key: Key) -> Option<PathBuf> {
        let path = self.text(key)?;
        self.of_the_system(key, path).map(Into::into)
    }

    /// A text that the system takes.
    fn of_the_system(&mut self, key: Key, text: String) -> Option<String> {
        if text.contains('\0') {
            self.wrong(Violation::Nul { key })
        } else {
            self.not_blank(key, text)
        }
    }

    fn not_blank(&mut self, key: Key, text: String) -> Option<String> {
        if text.trim().is_empty() { self.wrong(Violation::Blank { key }) } else { Some(text) }
    }

    /// An integer from 1. A number with nothing after its point is one too.
    fn integer(&mut self, key: Key, most: Option<usize>) -> Option<u64> {
        let value = self.value(key)?;
        let Some(number) = value.as_f64().filter(|number| number.fract() == 0.0) else {
            return self.wrong(wrong_type(key, "an integer", &value));
        };
        // One beyond what can be counted is past every end; the conversion stays at the largest.
        let exact = value.as_u64().unwrap_or(number as u64);
        let is_within = most.is_none_or(|most| exact <= most as u64);
        if exact == 0 || !is_within {
            return self.wrong(Violation::Range { key, most });
        }
        Some(exact)
    }

    fn flag(&mut self, key: Key) -> bool {
        let Some(value) = self.value(key) else { return false };
        let flag = value.as_bool();
        if flag.is_none() {
            self.violations.push(wrong_type(key, "a boolean", &value));
        }
        flag.unwrap_or(false)
    }

    fn edit(&mut self) -> Option<Edit> {
        let old = self.text(Key::OldString);
        let new = self.text(Key::NewString);
        let matches = if self.flag(Key::ReplaceAll) { Matches::All } else { Matches::One };
        if old.as_deref() == Some("") {
            self.violations.push(Violation::Empty { key: Key::OldString });
        }
        let (old, new) = old.zip(new)?;
        if !old.is_empty() && with_one_newline(&old) == with_one_newline(&new) {
            self.violations.push(Violation::Same);
        }
        Some(Edit { old, new, matches })
    }

    fn command(&mut self, background: Background) -> Option<Command> {
        let line = self.text(Key::Command);
        let line = line.and_then(|line| self.of_the_system(Key::Command, line));
        // It is for whoever watches the call, and runs nothing.
        let description = self.text(Key::Description);
        let description = description.and_then(|text| self.not_blank(Key::Description, text));
        let timeout = self.millis(Key::TimeoutMs);
        let workdir = self.optional_text(Key::Workdir);
        let workdir = workdir.and_then(|path| self.of_the_system(Key::Workdir, path));
        let goes_on = match background {
            Background::Offered => self.flag(Key::RunInBackground),
            Background::Absent => false,
        };
        let place = if goes_on { Place::Background } else { Place::Foreground };
        let (line, _) = line.zip(description)?;
        Some(Command { line, workdir: workdir.map(Into::into), timeout, place })
    }

    /// A time in milliseconds above 0, and the longest there is for one beyond.
    fn millis(&mut self, key: Key) -> Option<Duration> {
        let value = self.value(key)?;
        let Some(millis) = value.as_f64() else {
            return self.wrong(wrong_type(key, "a number", &value));
        };
        if millis <= 0.0 {
            return self.wrong(Violation::NotPositive { key });
        }
        let time = Duration::try_from_secs_f64(millis / 1_000.0).unwrap_or(Duration::MAX);
        Some(time.max(Duration::from_nanos(1)))
    }

    fn asked(&mut self) -> Asked {
        let name = self.optional_text(Key::SandboxPermissions);
        let to = name.and_then(|name| {
            let named = WIDER.into_iter().find(|mode| mode.as_str() == name);
            named.or_else(|| self.wrong(Violation::NoMode { key: Key::SandboxPermissions }))
        });
        Asked { to, justification: self.optional_text(Key::Justification) }
    }
}

/// What is said of a wider mode.
struct Asked {
    to: Option<Mode>,
    justification: Option<String>,
}

impl Asked {
    fn paired(self, pair: Pair) -> Result<Option<Wider>, Unaccepted> {
        match (self.to, self.justification, pair) {
            (None, None, Pair::Advertised | Pair::Absent) => Ok(None),
            (Some(_), _, Pair::Absent) | (_, Some(_), Pair::Absent) => Err(Unaccepted::Unsupported),
            (Some(_), None, Pair::Advertised) => Err(Unaccepted::Unpaired(Unpaired::Missing)),
            (None, Some(_), Pair::Advertised) => Err(Unaccepted::Unpaired(Unpaired::Alone)),
            (Some(_), Some(why), Pair::Advertised) if why.trim().is_empty() => {
                Err(Unaccepted::Unpaired(Unpaired::Blank))
            }
            (Some(to), Some(justification), Pair::Advertised) => {
                Ok(Some(Wider { to, justification }))
            }
        }
    }
}

fn with_one_newline(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn wrong_type(key: Key, expected: &'static str, found: &Value) -> Violation {
    Violation::Type { key, expected, found: type_of(found) }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::schema::spec;
    use super::*;

    const OFFER: Offer = Offer { pair: Pair::Advertised, background: Background::Offered };

    fn parsed(tool: Tool, arguments: Value) -> Result<Arguments, Unaccepted> {
        parse(tool, arguments, &Limits::default(), OFFER)
    }

    fn violations(tool: Tool, arguments: Value) -> Vec<Violation> {
        match parsed(tool, arguments) {
            Err(Unaccepted::Invalid(violations)) => violations,
            other => panic!("{other:?}"),
        }
    }

    fn write(extra: Value) -> Value {
        let mut arguments = json!({ "file_path": "a", "content": "" });
        let (Value::Object(all), Value::Object(extra)) = (&mut arguments, extra) else {
            panic!("objects")
        };
        all.extend(extra);
        arguments
    }

    #[test]
    fn what_is_left_out_is_the_default_and_so_is_null() {
        let expected = Arguments::Read { path: "a".into(), offset: 1, limit: 2_000 };
        assert_eq!(parsed(Tool::Read, json!({ "file_path": "a" })), Ok(expected.clone()));
        let nulls = json!({ "file_path": "a", "offset": null, "limit": null });
        assert_eq!(parsed(Tool::Read, nulls), Ok(expected));

        let expected = Arguments::List { path: "d".into(), offset: 1, limit: 1_000 };
        assert_eq!(parsed(Tool::List, json!({ "path": "d", "limit": null })), Ok(expected));

        let edit = json!({
            "file_path": "a", "old_string": "x", "new_string": "y", "replace_all": null,
            "sandbox_permissions": null, "justification": null,
        });
        let expected = Edit { old: "x".into(), new: "y".into(), matches: Matches::One };
        let expected = Arguments::Edit { path: "a".into(), edit: expected, wider: None };
        assert_eq!(parsed(Tool::Edit, edit), Ok(expected));
    }

    #[test]
    fn unknown_keys_are_ignored() {
        let expected = Arguments::Write { path: "a".into(), content: "".into(), wider: None };
        let unknown = json!({ "mode": 7, "approved": true, "old_string": [] });
        assert_eq!(parsed(Tool::Write, write(unknown)), Ok(expected));
        let read = json!({ "file_path": "a", "sandbox_permissions": "anything" });
        assert!(parsed(Tool::Read, read).is_ok(), "read has no such key");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        assert_eq!(
            violations(
                Tool::Edit,
                json!({
                    "file_path": " \t", "old_string": "", "replace_all": "yes",
                    "sandbox_permissions": "read-only", "justification": 1,
                })
            ),
            [
                Violation::Blank { key: Key::FilePath },
                Violation::Missing { key: Key::NewString },
                wrong_type(Key::ReplaceAll, "a boolean", &json!("")),
                Violation::Empty { key: Key::OldString },
                Violation::NoMode { key: Key::SandboxPermissions },
                wrong_type(Key::Justification, "a string", &json!(1)),
            ]
        );
        assert_eq!(
            violations(Tool::Read, json!({ "file_path": null, "offset": 0, "limit": 2_001 })),
            [
                wrong_type(Key::FilePath, "a string", &Value::Null),
                Violation::Range { key: Key::Offset, most: None },
                Violation::Range { key: Key::Limit, most: Some(2_000) },
            ]
        );
    }

    #[test]
    fn arguments_are_an_object() {
        for (arguments, found) in [
            (json!(null), "null"),
            (json!([]), "an array"),
            (json!("file_path"), "a string"),
            (json!(1), "a number"),
        ] {
            assert_eq!(violations(Tool::Read, arguments), [Violation::NoObject { found }]);
        }
    }

    #[test]
    fn a_path_is_neither_blank_nor_has_a_nul() {
        let path = |path| violations(Tool::Read, json!({ "file_path": path }));
        for blank in ["", " ", "\n\t \u{a0}"] {
            assert_eq!(path(blank), [Violation::Blank { key: Key::FilePath }]);
        }
        assert_eq!(path("a\0b"), [Violation::Nul { key: Key::FilePath }]);
        assert!(parsed(Tool::Read, json!({ "file_path": " a " })).is_ok());
    }

    #[test]
    fn a_number_without_a_fraction_is_an_integer() {
        let offset =
            |offset| match parsed(Tool::Read, json!({ "file_path": "a", "offset": offset })) {
                Ok(Arguments::Read { offset, .. }) => Some(offset),
                _ => None,
            };
        assert_eq!(offset(json!(3.0)), Some(3));
        assert_eq!(offset(json!(9_007_199_254_740_993_u64)), Some(9_007_199_254_740_993));
        assert_eq!(offset(json!(u64::MAX)), Some(u64::MAX));
        assert_eq!(offset(json!(1e300)), Some(u64::MAX));
        for none in [json!(0), json!(-1), json!(i64::MIN), json!(0.5), json!(2.5), json!("1")] {
            assert_eq!(offset(none.clone()), None, "{none}");
        }
    }

    #[test]
    fn a_command_runs_in_the_workspace_and_is_waited_for_unless_it_says_otherwise() {
        let line = || "ls".to_owned();
        let (workdir, timeout, place) = (None, None, Place::Foreground);
        let expected = Command { line: line(), workdir, timeout, place };
        let expected = Ok(Arguments::Bash { command: expected, wider: None });
        let least = json!({ "command": "ls", "description": "lists" });
        assert_eq!(parsed(Tool::Bash, least), expected);
        let nulls = json!({
            "command": "ls", "description": "lists", "workdir": null, "timeoutMs": null,
            "run_in_background": null,
        });
        assert_eq!(parsed(Tool::Bash, nulls), expected);

        let all = json!({
            "command": "ls", "description": "lists", "workdir": "d", "timeoutMs": 1_500,
            "run_in_background": true,
        });
        let (workdir, timeout) = (Some("d".into()), Some(Duration::from_millis(1_500)));
        let command = Command { line: line(), workdir, timeout, place: Place::Background };
        let in_background = Arguments::Bash { command, wider: None };
        assert_eq!(parsed(Tool::Bash, all.clone()), Ok(in_background));

        let offer = Offer { background: Background::Absent, ..OFFER };
        let parsed = parse(Tool::Bash, all, &Limits::default(), offer);
        let Ok(Arguments::Bash { command, .. }) = parsed else { panic!("{parsed:?}") };
        assert_eq!(command.place, Place::Foreground, "what is not offered is ignored");
    }

    #[test]
    fn a_command_and_its_description_say_something() {
        assert_eq!(
            violations(Tool::Bash, json!({ "command": " \n", "description": "", "workdir": " " })),
            [Key::Command, Key::Description, Key::Workdir].map(|key| Violation::Blank { key })
        );
        assert_eq!(
            violations(
                Tool::Bash,
                json!({ "command": "a\0b", "description": "d", "workdir": "a\0" })
            ),
            [Key::Command, Key::Workdir].map(|key| Violation::Nul { key })
        );
        assert_eq!(violations(Tool::BashKill, json!({})), [Violation::Missing { key: Key::Job }]);
    }

    #[test]
    fn a_timeout_is_any_time_above_none() {
        let timeout = |timeout: Value| {
            let arguments = json!({ "command": "a", "description": "b", "timeoutMs": timeout });
            match parsed(Tool::Bash, arguments) {
                Ok(Arguments::Bash { command, .. }) => Ok(command.timeout.unwrap()),
                Err(Unaccepted::Invalid(violations)) => Err(violations),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(timeout(json!(0.5)), Ok(Duration::from_micros(500)));
        assert_eq!(timeout(json!(2)), Ok(Duration::from_millis(2)));
        assert_eq!(timeout(json!(1e-300)), Ok(Duration::from_nanos(1)));
        assert_eq!(timeout(json!(1e300)), Ok(Duration::MAX));
        assert!(timeout(json!(u64::MAX)).is_ok());
        for none in [json!(0), json!(-1), json!(-0.0)] {
            let refused = Violation::NotPositive { key: Key::TimeoutMs };
            assert_eq!(timeout(none.clone()), Err(vec![refused]), "{none}");
        }
        let refused = wrong_type(Key::TimeoutMs, "a number", &json!("1"));
        assert_eq!(timeout(json!("1")), Err(vec![refused]));
    }

    #[test]
    fn an_edit_changes_something_other_than_line_ends() {
        let edit = |old, new| {
            parsed(Tool::Edit, json!({ "file_path": "a", "old_string": old, "new_string": new }))
        };
        for (old, new) in [("a", "a"), ("a\r\nb", "a\nb"), ("a\n", "a\r\n")] {
            assert_eq!(edit(old, new), Err(Unaccepted::Invalid(vec![Violation::Same])), "{old:?}");
        }
        for (old, new) in [("a\rb", "a\nb"), ("a", ""), ("a ", "a")] {
            assert!(edit(old, new).is_ok(), "{old:?}");
        }
        let empty = Err(Unaccepted::Invalid(vec![Violation::Empty { key: Key::OldString }]));
        assert_eq!(edit("", ""), empty);
        assert_eq!(edit("", "a"), empty);
    }

    #[test]
    fn a_wider_mode_and_its_reason_come_together() {
        let asked = |extra| parsed(Tool::Write, write(extra)).map(|_| ());
        let unpaired = |unpaired| Err(Unaccepted::Unpaired(unpaired));
        let to = "sandbox_permissions";
        assert_eq!(asked(json!({ to: "workspace-write" })), unpaired(Unpaired::Missing));
        assert_eq!(asked(json!({ "justification": "" })), unpaired(Unpaired::Alone));
        assert_eq!(
            asked(json!({ to: "workspace-write", "justification": " \n" })),
            unpaired(Unpaired::Blank)
        );
        let both = json!({ to: "danger-full-access", "justification": " it is needed " });
        let Ok(Arguments::Write { wider: Some(wider), .. }) = parsed(Tool::Write, write(both))
        else {
            panic!("both are given")
        };
        assert_eq!(
            wider,
            Wider { to: Mode::DangerFullAccess, justification: " it is needed ".into() }
        );
    }

    #[test]
    fn a_wider_mode_that_is_not_advertised_is_unsupported_once_it_is_well_formed() {
        let offer = Offer { pair: Pair::Absent, ..OFFER };
        let asked = |extra| parse(Tool::Write, write(extra), &Limits::default(), offer);
        for extra in [
            json!({ "sandbox_permissions": "workspace-write" }),
            json!({ "justification": " " }),
            json!({ "sandbox_permissions": "workspace-write", "justification": "so" }),
        ] {
            assert_eq!(asked(extra.clone()), Err(Unaccepted::Unsupported), "{extra}");
        }
        for extra in [json!({ "sandbox_permissions": "read-only" }), json!({ "justification": 1 })]
        {
            assert!(matches!(asked(extra), Err(Unaccepted::Invalid(_))));
        }
    }

    /// Whether a schema, as far as those of the tools go, allows a value.
    fn allows(schema: &Value, value: &Value) -> bool {
        let is_of_type = match schema["type"].as_str().unwrap() {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            other => panic!("{other}"),
        };
        let number = value.as_f64();
        is_of_type
            && schema["enum"].as_array().is_none_or(|values| values.contains(value))
            && schema["exclusiveMinimum"].as_f64().is_none_or(|least| number > Some(least))
            && schema["minimum"].as_f64().is_none_or(|least| number >= Some(least))
            && schema["maximum"].as_f64().is_none_or(|most| number <= Some(most))
    }

    /// Whether the arguments are those of the schema; `null` is as good as no value.
    fn conforms(schema: &Value, arguments: &Map<String, Value>) -> bool {
        let required = schema["required"].as_array().unwrap();
        let properties = schema["properties"].as_object().unwrap();
        required.iter().all(|key| arguments.contains_key(key.as_str().unwrap()))
            && properties.iter().all(|(key, schema)| match arguments.get(key) {
                None => true,
                Some(Value::Null) if !required.contains(&json!(key)) => true,
                Some(value) => allows(schema, value),
            })
    }

    fn is_about_the_schema(violation: &Violation) -> bool {
        match violation {
            Violation::NoObject { .. }
            | Violation::Missing { .. }
            | Violation::Type { .. }
            | Violation::Range { .. }
            | Violation::NotPositive { .. }
            | Violation::NoMode { .. } => true,
            Violation::Blank { .. }
            | Violation::Empty { .. }
            | Violation::Nul { .. }
            | Violation::Same => false,
        }
    }

    /// A value that a schema allows, mostly; so that some arguments are right in all.
    fn any_value(schema: &Value) -> impl Strategy<Value = Value> + use<> {
        let right = match schema["type"].as_str().unwrap() {
            "string" => schema["enum"].get(1).cloned().unwrap_or(json!("a")),
            "boolean" => json!(true),
            "integer" | "number" => json!(1),
            other => panic!("{other}"),
        };
        let any = json!([
            null,
            true,
            "",
            "a",
            "workspace-write",
            "read-only",
            -1,
            0,
            1,
            3.0,
            2.5,
            1_000,
            1_001,
            2_000,
            2_001,
            [],
            {},
        ]);
        let any = prop::sample::select(any.as_array().unwrap().clone());
        prop_oneof![3 => Just(right), 1 => any]
    }

    fn any_arguments() -> impl Strategy<Value = (Tool, Map<String, Value>)> {
        let tool = prop::sample::select(Tool::ALL.to_vec());
        tool.prop_flat_map(|tool| {
            let schema = spec(tool, &Limits::default(), OFFER).parameters;
            let (keys, values): (Vec<_>, Vec<_>) = schema["properties"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, of)| (key.clone(), prop::option::weighted(0.9, any_value(of))))
                .unzip();
            let arguments = values.prop_map(move |values| {
                let given = keys.iter().cloned().zip(values);
                given.filter_map(|(key, value)| Some((key, value?))).collect()
            });
            (Just(tool), arguments)
        })
    }

    proptest! {
        #[test]
        fn what_the_schema_allows_is_what_is_taken((tool, arguments) in any_arguments()) {
            let schema = spec(tool, &Limits::default(), OFFER).parameters;
            let violations = match parsed(tool, Value::Object(arguments.clone())) {
                Err(Unaccepted::Invalid(violations)) => violations,
                Ok(_) | Err(Unaccepted::Unsupported | Unaccepted::Unpaired(_)) => Vec::new(),
            };
            let is_taken = !violations.iter().any(is_about_the_schema);
            prop_assert_eq!(is_taken, conforms(&schema, &arguments), "{:?}", violations);
        }
    }
}
