//! A person switches the policy while an agent works: what the configuration says counts from the
//! next call on, of files and of commands.

use super::*;
use crate::support::runs_commands;

/// A configuration outside of the workspace.
fn configure(stage: &Stage, text: &str) -> String {
    let path = stage.root().join("../out/config.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What comes of writing a file and of a command that writes one, as (file, command).
fn writes(client: &mut Client, name: &str) -> (bool, bool) {
    let mut is_done = |tool: &str, arguments: Value| {
        let id = client.begin(tool, arguments);
        let result = client.answer(id)["result"].clone();
        result["isError"] != json!(true) && result["structuredContent"]["exitCode"] != json!(1)
    };
    let file = is_done("write", json!({ "file_path": name, "content": "x" }));
    let command = json!({ "command": format!("echo x > {name}2"), "description": "writes" });
    (file, runs_commands() && is_done("bash", command))
}

#[test]
fn what_a_person_changes_in_it_counts_from_the_next_call_on() {
    let stage = stage();
    let path = configure(&stage, "mode = 'read-only'");
    let mut client = Client::ready_with(&stage, json!({}), &["--config", &path]);
    let all = (true, runs_commands());
    assert_eq!(writes(&mut client, "a"), (false, false));
    configure(&stage, "default_preset = 'workspace-write'");
    assert_eq!(writes(&mut client, "b"), all);
    configure(&stage, "mode = 'writable'");
    assert_eq!(writes(&mut client, "c"), all, "what is wrong changes nothing");
    configure(&stage, "");
    assert_eq!(writes(&mut client, "c"), all, "nor does what is being written");
    configure(&stage, "mode = 'read-only'");
    assert_eq!(writes(&mut client, "d"), (false, false));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(writes(&mut client, "e"), (false, false), "one that was named and is gone");
    client.leave();
}

#[test]
fn a_configuration_that_is_not_used_is_told_once_on_standard_error() {
    let stage = stage();
    let path = configure(&stage, "mode = 'workspace-write'");
    let mut command = Client::command(stage.root(), &["--config", &path]);
    command.stderr(Stdio::piped());
    let mut client = Client::started(command);
    client.initialize(json!({}));
    let mut told = client.server.stderr.take().unwrap();
    configure(&stage, "mode = 'read_only'");
    for name in ["a", "b"] {
        client.done("write", json!({ "file_path": name, "content": "x" }));
    }
    // It cannot be read at all, each time anew.
    std::fs::write(&path, b"\xff").unwrap();
    for name in ["c", "e"] {
        client.done("write", json!({ "file_path": name, "content": "x" }));
    }
    assert!(client.leave().success());
    let mut text = String::new();
    told.read_to_string(&mut text).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines.iter().all(|line| line.contains("the policy stays as it is")), "{text}");
    assert!(lines[0].contains("read_only"), "{text}");
}

#[test]
fn what_is_typed_counts_more_and_what_can_be_called_stays() {
    let stage = stage();
    let path = configure(&stage, "[mcp]\nbash = false\n");
    let typed = ["--config", &path, "--mode", "workspace-write"];
    let mut client = Client::ready_with(&stage, json!({}), &typed);
    let id = client.ask("tools/list", json!({}));
    let tools = client.answer(id)["result"]["tools"].as_array().unwrap().clone();
    assert!(tools.iter().all(|tool| tool["name"] != "bash"), "{tools:?}");
    configure(&stage, "mode = 'read-only'\n[mcp]\nbash = true\n");
    let id = client.begin("write", json!({ "file_path": "a", "content": "x" }));
    assert_ne!(client.answer(id)["result"]["isError"], json!(true));
    let id = client.begin("bash", json!({ "command": "true", "description": "nothing" }));
    assert!(client.answer(id)["error"].is_object());
    client.leave();
}

#[test]
fn an_agent_that_writes_one_gives_itself_no_policy() {
    let stage = stage();
    let out = stage.base().join("out");
    let mut command = Client::command(stage.root(), &["--mode", "workspace-write"]);
    command.env("XDG_CONFIG_HOME", stage.root().join("d"));
    let mut client = Client::started(command);
    client.initialize(json!({}));
    for mode in ["workspace-write", "danger-full-access"] {
        let text = format!("mode = {mode:?}\nworkspace_root = {out:?}\n");
        std::fs::create_dir_all(stage.root().join("d/ringfence")).unwrap();
        std::fs::write(stage.root().join("d/ringfence/config.toml"), text).unwrap();
        let write = json!({ "file_path": out.join("x"), "content": "x" });
        assert_eq!(client.code("write", write), "FS_SANDBOX_DENIED");
    }
    assert!(!out.join("x").exists());
    client.leave();
}
