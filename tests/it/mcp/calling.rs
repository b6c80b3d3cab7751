//! Calls, and what becomes of those that are taken back.

use super::*;

#[test]
fn a_client_reads_writes_edits_lists_and_runs() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({}));
    let read = client.done("read", json!({ "file_path": "f" }));
    assert_eq!(read["lines"], json!([{ "number": 1, "text": "old" }]));
    let edit = json!({ "file_path": "f", "old_string": "old", "new_string": "new" });
    assert_eq!(client.done("edit", edit)["operation"], "update");
    let write = json!({ "file_path": "n", "content": "n" });
    assert_eq!(client.done("write", write)["operation"], "create");
    assert_eq!(client.done("list", json!({ "path": "." }))["total"], 3);
    let bash = json!({ "command": "cat f; echo b > n", "description": "a test" });
    assert_eq!(client.done("bash", bash)["stdout"], "new\n");
    assert_eq!(std::fs::read_to_string(stage.root().join("n")).unwrap(), "b\n");

    let denied = client.call("write", json!({ "file_path": "/etc/n", "content": "" }));
    assert_eq!(code(&denied), "FS_SANDBOX_DENIED");
    let marker = "[sandbox: file access denied under workspace-write mode]\n";
    assert!(text(&denied).starts_with(marker), "{denied}");
    let out = stage.base().join("out/s");
    let bash = json!({ "command": format!("echo x > {}", out.display()), "description": "a test" });
    assert_eq!(client.done("bash", bash)["sandbox"]["denied"], true);
    assert_eq!(client.code("read", json!({})), "INVALID_ARGS");
    assert_eq!(
        client.code(
            "edit",
            json!({
                "file_path": "d/g", "old_string": "g", "new_string": "h"
            })
        ),
        "FS_NOT_OBSERVED"
    );
}

#[test]
fn nothing_is_allowed_that_nobody_has_allowed() {
    let stage = stage();
    let mut client = Client::ready_with(&stage, json!({}), &[]);
    let write = json!({ "file_path": "n", "content": "n" });
    assert_eq!(client.code("write", write), "FS_SANDBOX_DENIED");
    assert!(!stage.root().join("n").exists());
}

#[test]
fn what_is_not_offered_is_not_there() {
    let stage = stage();
    let mut client = Client::ready_with(&stage, json!({}), &["--no-bash"]);
    let id = client.begin("bash", json!({ "command": "true", "description": "a test" }));
    assert_eq!(client.answer(id)["error"]["code"], -32602);
}

#[test]
fn a_command_in_the_background_is_looked_at_and_ended() {
    let stage = stage();
    let pipe = Pipe::new(&stage);
    let options = ["--mode", "workspace-write", "--background"];
    let mut client = Client::ready_with(&stage, json!({}), &options);
    let arguments = json!({
        "command": "exec 9> pipe; sleep 1000", "description": "a test", "run_in_background": true,
    });
    let job = client.done("bash", arguments)["job"].take();
    let held = pipe.held();
    assert_eq!(client.done("bash_output", json!({ "job": job }))["kind"], "running");
    client.done("bash_kill", json!({ "job": job }));
    held.released();
}

#[test]
fn a_request_that_is_taken_back_ends_and_is_not_answered() {
    let stage = stage();
    let pipe = Pipe::new(&stage);
    let mut client = Client::ready(&stage, json!({}));
    let id = client.run("exec 9> pipe; setsid sleep 1000 & sleep 1000");
    let held = pipe.held();
    client.tell("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
    held.released();
    let list = client.begin("list", json!({ "path": "." }));
    loop {
        let message = client.next();
        assert_ne!(message["id"], id, "{message}");
        if message["id"] == list {
            return;
        }
    }
}

#[test]
fn an_id_that_is_under_way_is_not_given_to_another_request() {
    let stage = stage();
    let pipe = Pipe::new(&stage);
    let mut client = Client::ready(&stage, json!({}));
    let id = client.run("exec 9> pipe; sleep 1000");
    let held = pipe.held();
    client.asked -= 1;
    client.begin("list", json!({ "path": "." }));
    assert_eq!(client.answer(id)["error"]["code"], -32600);
    client.tell("notifications/cancelled", json!({ "requestId": id }));
    held.released();
}
