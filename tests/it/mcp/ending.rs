//! What is left when a client is gone: nothing.

use std::time::Instant;

use super::*;

/// Less than a server waits for calls that do not end.
const AT_ONCE: Duration = Duration::from_secs(4);

#[test]
fn a_client_that_leaves_ends_all_that_runs_for_it() {
    let stage = stage();
    let pipe = Pipe::new(&stage);
    let options = ["--mode", "workspace-write", "--background"];
    let mut client = Client::ready_with(&stage, json!({}), &options);
    let arguments = json!({
        "command": "sleep 1000 9> pipe", "description": "a test", "run_in_background": true,
    });
    client.begin("bash", arguments);
    let held = pipe.held();
    client.run("exec 9> pipe; echo begun; setsid sleep 1000 & sleep 1000");
    client.told("notifications/progress");
    let left = Instant::now();
    assert!(client.leave().success());
    assert!(left.elapsed() < AT_ONCE, "{:?}", left.elapsed());
    held.released();
}

#[test]
fn a_client_that_leaves_during_a_write_leaves_the_old_file_or_the_new() {
    const BYTES: usize = 4 * 1024 * 1024;
    for delay in 0..4 {
        let stage = stage();
        let mut client = Client::ready(&stage, json!({}));
        let contents = "new\n".repeat(BYTES / 4);
        client.done("read", json!({ "file_path": "f" }));
        client.begin("write", json!({ "file_path": "f", "content": contents }));
        // Some leave while it is read, some while it is written.
        for _ in 0..delay {
            let id = client.ask("ping", json!({}));
            client.answer(id);
        }
        assert!(client.leave().success());
        let found = std::fs::read_to_string(stage.root().join("f")).unwrap();
        assert!(found == "old\n" || found == contents, "{} bytes", found.len());
        let names = std::fs::read_dir(stage.root()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }
}

#[test]
fn a_client_that_says_nothing_or_half_a_message_is_left_like_any_other() {
    let stage = stage();
    assert!(Client::start(&stage, &[]).leave().success());
    let mut client = Client::start(&stage, &[]);
    client.write(b"{\"jsonrpc\":");
    assert!(client.leave().success());
    let client = Client::ready(&stage, json!({ "roots": {} }));
    assert!(client.leave().success(), "it was asked something");
}

#[test]
fn a_client_that_does_not_read_any_more_is_gone() {
    let stage = stage();
    let mut server = Client::command(stage.root(), &[]).spawn().unwrap();
    drop(server.stdout.take());
    let mut input = server.stdin.take().unwrap();
    input.write_all(b"no message\n").unwrap();
    assert!(server.wait().unwrap().success(), "its input is still open");
}
