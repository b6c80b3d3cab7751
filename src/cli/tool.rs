//! One call of a tool, so that any program can make one.

use std::io;
use std::process::ExitCode;

use ringfence::{CallContext, Session, ToolResult, ToolSet};
use serde_json::{Value, json};

use super::render::{Renderer, print};
use super::{Failure, exit_code_of};

/// The tools of one call. What nobody has read in this process was not read, so that is no reason
/// to refuse.
fn tools() -> ToolSet {
    ToolSet::new().without_observation()
}

/// Prints what there is to call, with what arguments, and what value comes of it.
pub(super) fn list() -> Result<ExitCode, Failure> {
    let specs = tools().specs();
    let specs = specs.iter().map(|spec| {
        json!({
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
            "result": spec.result,
        })
    });
    print(format!("{:#}\n", Value::Array(specs.collect())).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Calls the tool `name` with the arguments that standard input gives, and prints what a model
/// would read or, as JSON, the whole result.
pub(super) fn call(session: &Session, name: &str, renderer: Renderer) -> Result<ExitCode, Failure> {
    let arguments = serde_json::from_reader(io::stdin().lock());
    // What is no JSON is no arguments, which the tool says in its own way.
    let arguments = arguments.unwrap_or(Value::Null);
    let ToolResult { is_error, text, value, code, .. } =
        tools().call(session, name, arguments, &CallContext::default());
    let printed = match renderer.json {
        true => json!({ "is_error": is_error, "text": text, "value": value }).to_string(),
        false => text,
    };
    print(format!("{}\n", printed.trim_end_matches('\n')).as_bytes())?;
    Ok(code.map_or(ExitCode::SUCCESS, exit_code_of))
}
