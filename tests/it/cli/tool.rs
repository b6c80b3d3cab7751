//! One call of a tool by any program.

use serde_json::{Value, json};

use super::{DENIED, FAILED, Run, run, stage};
use crate::support::runs_commands;

fn called(stage: &crate::support::Stage, name: &str, arguments: &Value, more: &[&str]) -> Run {
    let line = [&["tool", name], more].concat();
    run(stage, &line, &arguments.to_string())
}

#[test]
fn a_tool_is_called_with_what_standard_input_gives() {
    let stage = stage();
    let write = json!({ "file_path": "d/n", "content": "one\ntwo\n", "unknown": 1 });
    let made = called(&stage, "write", &write, &["--json"]);
    assert_eq!(made.code(), 0, "{made:?}");
    let answer = Run::json(&made.out);
    assert_eq!(
        (&answer["is_error"], &answer["value"]["operation"]),
        (&json!(false), &json!("create"))
    );

    let edit = json!({ "file_path": "d/n", "old_string": "two", "new_string": "2" });
    assert_eq!(called(&stage, "edit", &edit, &[]).code(), 0);
    let again = json!({ "file_path": "d/n", "content": "3" });
    assert_eq!(called(&stage, "write", &again, &[]).code(), 0, "nothing has to be read first");
    let read = called(&stage, "read", &json!({ "file_path": "d/n" }), &["--json"]);
    assert_eq!(Run::json(&read.out)["value"]["lines"], json!([{ "number": 1, "text": "3" }]));
    let list = called(&stage, "list", &json!({ "path": "d" }), &[]);
    assert!(list.out.contains('n'), "{list:?}");
}

#[test]
fn a_command_is_run_as_an_agent_runs_it() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let bash = |command: &str| json!({ "command": command, "description": "a test" });
    let made = called(&stage, "bash", &bash("echo x > n; echo out; exit 3"), &[]);
    assert_eq!((made.code(), made.out.as_str()), (0, "out\n[exit code 3]\n"), "{made:?}");
    assert!(stage.root().join("n").is_file());

    let before = stage.snapshot();
    let denied = called(&stage, "bash", &bash("echo x > ../n"), &["--json"]);
    let answer = Run::json(&denied.out);
    assert_eq!((denied.code(), &answer["is_error"]), (0, &json!(false)), "{answer}");
    assert_eq!(answer["value"]["sandbox"]["denied"], true, "{answer}");
    let job = called(&stage, "bash_output", &json!({ "job": "1" }), &["--json"]);
    assert_eq!(Run::json(&job.out)["value"]["code"], "INVALID_ARGS", "no call outlives this one");
    stage.assert_unchanged(&before);
}

#[test]
fn a_refusal_is_told_on_standard_output_and_by_the_exit_code() {
    let stage = stage();
    let before = stage.snapshot();
    let write = |path: &str| json!({ "file_path": path, "content": "x" });
    for (name, arguments, code, end) in [
        ("write", write("../n"), "FS_SANDBOX_DENIED", DENIED),
        ("write", write("outfile"), "FS_SANDBOX_DENIED", DENIED),
        ("write", write(" "), "INVALID_ARGS", FAILED),
        ("write", json!([1]), "INVALID_ARGS", FAILED),
        ("bash", json!({}), "INVALID_ARGS", FAILED),
        ("read", json!({ "file_path": "missing" }), "FS_NOT_FOUND", FAILED),
    ] {
        let refused = called(&stage, name, &arguments, &["--json"]);
        let answer = Run::json(&refused.out);
        assert_eq!(answer["value"]["code"], code, "{answer}");
        assert_eq!((refused.code(), &answer["is_error"]), (end, &json!(true)), "{answer}");
        let text = called(&stage, name, &arguments, &[]);
        assert_eq!((text.code(), text.out.trim_end()), (end, answer["text"].as_str().unwrap()));
    }
    let no_json = run(&stage, &["tool", "write", "--json"], "{");
    assert_eq!(Run::json(&no_json.out)["value"]["code"], "INVALID_ARGS");
    stage.assert_unchanged(&before);
}

#[test]
fn nobody_is_asked_where_there_is_no_terminal() {
    let stage = stage();
    let before = stage.snapshot();
    let asking = json!({
        "file_path": "n",
        "content": "x",
        "sandbox_permissions": "workspace-write",
        "justification": "it is wanted",
    });
    let refused = called(&stage, "write", &asking, &["--json", "--mode", "read-only"]);
    assert_eq!(Run::json(&refused.out)["value"]["code"], "SANDBOX_ESCALATION_NO_APPROVER");
    stage.assert_unchanged(&before);
}

#[test]
fn without_a_name_all_tools_are_told() {
    let told = run(&stage(), &["tool"], "");
    let tools: Value = serde_json::from_str(&told.out).unwrap();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["read", "write", "edit", "list", "bash"]);
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["parameters"]["type"], "object");
    }
}
