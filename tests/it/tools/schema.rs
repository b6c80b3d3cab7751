//! Whether a value is what the schema of its tool says, as far as those schemas go.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::LazyLock;

use ringfence::{DiffLimits, ToolSet, ToolSpec};
use serde_json::{Map, Value, json};

use super::{each_agent_on, told};
use crate::support::{Tree, file};

/// What is told to a model, with each tool that there is.
static ALL: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| ToolSet::new().with_background().specs());

/// What is wrong with the value of `tool` by its schema among `specs`.
pub(super) fn of_tool(specs: &[ToolSpec], tool: &str, value: &Value) -> Result<(), String> {
    let spec = specs.iter().find(|spec| spec.name == tool);
    let spec = spec.unwrap_or_else(|| panic!("{tool} is not told of"));
    check(&spec.result, value).map_err(|wrong| format!("{tool}: {wrong} in {value}"))
}

fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let schema = schema.as_object().expect("a schema is an object");
    for (keyword, told) in schema {
        let fits = match keyword.as_str() {
            "type" => is_of_type(told, value),
            "enum" => told.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_some_and(|number| number >= told.as_f64().unwrap()),
            "pattern" => is_hex(told, value),
            "oneOf" => {
                let all = told.as_array().unwrap();
                all.iter().filter(|schema| check(schema, value).is_ok()).count() == 1
            }
            "items" => {
                value.as_array().unwrap().iter().try_for_each(|item| check(told, item))?;
                true
            }
            "required" => {
                let keys = told.as_array().unwrap().iter();
                keys.clone().all(|key| value.get(key.as_str().unwrap()).is_some())
            }
            "properties" => {
                known(told, value).try_for_each(|(schema, value)| check(schema, value))?;
                true
            }
            "additionalProperties" => {
                assert_eq!(told, false);
                known(&schema["properties"], value).count() == value.as_object().unwrap().len()
            }
            other => panic!("{other} is not understood"),
        };
        if !fits {
            return Err(format!("{keyword} {told} does not fit {value}"));
        }
    }
    Ok(())
}

fn is_of_type(told: &Value, value: &Value) -> bool {
    let one = std::slice::from_ref(told);
    told.as_array().map_or(one, Vec::as_slice).iter().any(|told| match told.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("{other} is no type"),
    })
}

/// The one pattern that there is.
fn is_hex(told: &Value, value: &Value) -> bool {
    assert_eq!(told, "^([0-9a-f]{2})+$");
    let text = value.as_str().unwrap();
    let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    digits && !text.is_empty() && text.len().is_multiple_of(2)
}

/// What is there of the keys that are told of, with their schemas.
fn known<'a>(told: &'a Value, value: &'a Value) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    let (told, value): (&Map<_, _>, _) = (told.as_object().unwrap(), value.as_object().unwrap());
    told.iter().filter_map(|(key, schema)| Some((schema, value.get(key)?)))
}

#[test]
fn the_schema_of_every_tool_is_one_of_an_object_that_is_closed() {
    for ToolSpec { name, result, .. } in &*ALL {
        assert_eq!(result["type"], "object", "{name}");
        let one = vec![result.clone()];
        for branch in result["oneOf"].as_array().unwrap_or(&one) {
            assert_eq!(branch["additionalProperties"], false, "{name}");
        }
        let error = json!({ "code": "FS_NOT_FOUND" });
        assert!(of_tool(&ALL, name, &error).is_err(), "an error is none of its values: {name}");
    }
}

#[test]
fn a_value_that_is_not_as_its_schema_says_is_told() {
    let value = json!({ "path": "/f", "operation": "create", "notKept": [] });
    assert_eq!(of_tool(&ALL, "write", &value), Ok(()));
    for (key, other) in [
        ("path", json!(1)),
        ("operation", json!("made")),
        ("notKept", json!([1])),
        ("replaced", json!(0)),
        ("path_hex", json!("f")),
        ("more", json!(true)),
    ] {
        let mut value = value.clone();
        value[key] = other;
        assert!(of_tool(&ALL, "write", &value).is_err(), "{value}");
        value.as_object_mut().unwrap().remove(key);
        let is_needed = ["path", "operation", "notKept"].contains(&key);
        assert_eq!(of_tool(&ALL, "write", &value).is_err(), is_needed, "{value}");
    }
}

#[test]
fn a_job_is_told_of_only_where_there_can_be_one() {
    let started = json!({ "kind": "started", "job": "1" });
    assert!(of_tool(&ToolSet::new().specs(), "bash", &started).is_err());
    assert_eq!(of_tool(&ALL, "bash", &started), Ok(()));
    assert!(of_tool(&ALL, "bash_output", &started).is_err());
}

#[test]
fn what_differs_and_what_is_no_utf8_is_as_the_schema_says() {
    let tree = Tree::inside([file("d/f", "one\ntwo\nthree\n")]);
    each_agent_on(&tree, |stage, agent| {
        let odd = stage.root().join("d").join(OsStr::from_bytes(b"z\xe9"));
        std::fs::write(odd, "").unwrap();
        let listed = agent.done("list", json!({ "path": "d" }));
        assert!(listed["entries"][1]["name_hex"].is_string(), "{listed}");
        let tools = ToolSet::new().without_observation().with_diffs(DiffLimits::default());
        let edit = json!({ "file_path": "d/f", "old_string": "two", "new_string": "2" });
        let edited = told(&tools, &agent.session, "edit", edit);
        assert_eq!(edited.value["diff"]["hunks"].as_array().map(Vec::len), Some(1));
    });
}
