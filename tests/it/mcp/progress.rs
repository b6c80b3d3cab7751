//! What is told of a command while it runs.

use std::time::Instant;

use super::*;

/// All that is told of `id` until it is answered, and the answer.
fn all(client: &Client, id: i64) -> (Vec<Value>, Value) {
    let mut told = Vec::new();
    loop {
        let mut message = client.next();
        if message["id"] == id {
            return (told, message);
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], id);
        told.push(message["params"].take());
    }
}

#[test]
fn a_command_that_writes_is_told_of_no_more_than_ten_times_a_second() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({}));
    let begun = Instant::now();
    let id = client.run("for i in $(seq 1 400); do echo line $i; sleep 0.002; done");
    let (told, answer) = all(&client, id);
    let most = begun.elapsed().as_millis() / 100 + 1;
    assert!(!told.is_empty() && told.len() as u128 <= most, "{} of {most}", told.len());
    let numbers: Vec<_> = told.iter().map(|told| told["progress"].as_f64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    assert!(told.iter().all(|told| told["message"].as_str().unwrap().starts_with("line ")));
    assert_eq!(answer["result"]["isError"], false);
}

#[test]
fn a_command_that_is_silent_is_told_of_once_a_second() {
    let stage = stage();
    let pipe = Pipe::new(&stage);
    let mut client = Client::ready(&stage, json!({}));
    let begun = Instant::now();
    let id = client.run("printf 'a\\033[2J\\n'; read line < pipe");
    let messages = [(); 3].map(|()| client.told("notifications/progress"));
    assert!(begun.elapsed() >= Duration::from_millis(2_000));
    assert!(messages.iter().all(|m| m["params"]["message"] == "a\\u{1b}[2J"), "{messages:?}");
    std::fs::write(&pipe.0, "go on\n").unwrap();
    assert_eq!(client.answer(id)["result"]["isError"], false);
}

#[test]
fn nothing_is_told_to_who_did_not_ask() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({}));
    let arguments = json!({ "command": "echo a; sleep 0.3; echo b", "description": "a test" });
    let id = client.begin("bash", arguments);
    assert_eq!(client.next()["id"], id);
}

#[test]
fn a_client_that_reads_slowly_holds_no_command_up() {
    let stage = stage();
    let pipe = Pipe::new(&stage);
    let mut server = Client::command(stage.root(), &["--mode", "workspace-write"]).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut ask = |message: Value| input.write_all(format!("{message}\n").as_bytes()).unwrap();
    ask(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    }}));
    // The answers to these fill the pipe, so what is told of the command has no room.
    for id in 1..200 {
        ask(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
    }
    let command = "exec 9> pipe; for i in 1 2 3 4 5 6; do seq 1 100000; sleep 0.1; done";
    ask(json!({ "jsonrpc": "2.0", "id": 200, "method": "tools/call", "params": {
        "name": "bash", "arguments": { "command": command, "description": "a test" },
        "_meta": { "progressToken": "t" },
    }}));
    pipe.held().released();
    drop(input);
    drop(server.stdout.take());
    assert!(server.wait().unwrap().success());
}
