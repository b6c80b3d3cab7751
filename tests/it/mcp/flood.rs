//! More requests than a server can work on at once.

use super::*;
use crate::effort::rounds;

const MIB: u64 = 1024 * 1024;

/// Bytes that came to the memory of the server since `before`.
fn grown(client: &Client, before: u64) -> u64 {
    client.size().0.saturating_sub(before)
}

#[test]
fn ten_thousand_calls_at_once_are_all_answered_and_leave_nothing_behind() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({}));
    let calls = rounds(10_000);
    let read = json!({ "name": "read", "arguments": { "file_path": "f" } });
    let flood = |client: &mut Client, calls: usize| {
        // They are written before any answer is read, but for those that a thread lays aside.
        let mut lines = Vec::new();
        for id in 0..calls {
            let request =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": read });
            writeln!(lines, "{request}").unwrap();
        }
        client.write(&lines);
        let mut answered = vec![false; calls];
        let mut threads = 0;
        for count in 0..calls {
            let answer = client.next();
            assert_eq!(answer["result"]["isError"], false, "{answer}");
            let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
            assert!(!std::mem::replace(&mut answered[id], true), "{id} twice");
            if count % 100 == 0 {
                threads = threads.max(client.size().2);
            }
        }
        threads
    };
    flood(&mut client, calls / 10);
    let (memory, descriptors, _) = client.size();
    let threads = flood(&mut client, calls);
    let (_, after, _) = client.size();
    assert!(threads <= 24, "{threads} threads");
    assert_eq!(after, descriptors, "descriptors");
    let grown = grown(&client, memory);
    assert!(grown < 24 * MIB, "{grown} bytes");
    assert!(client.leave().success());
}

#[test]
fn a_request_behind_others_that_wait_is_seen_all_the_same() {
    let stage = stage();
    let pipe = Pipe::new(&stage);
    let mut client = Client::ready(&stage, json!({}));
    // As many as run at once, and then some that wait for their turn.
    let running: Vec<_> = (0..16).map(|_| client.run("exec 9> pipe; sleep 1000")).collect();
    let writes: Vec<_> = (0..100)
        .map(|n| client.begin("write", json!({ "file_path": format!("w{n}"), "content": "" })))
        .collect();
    let held = pipe.held();
    let ping = client.ask("ping", json!({}));
    client.answer(ping);
    assert!(!stage.root().join("w0").exists(), "no turn yet");
    // The first that waits is taken back, and so are those that run.
    client.tell("notifications/cancelled", json!({ "requestId": writes[0] }));
    for id in running {
        client.tell("notifications/cancelled", json!({ "requestId": id }));
    }
    held.released();
    client.answer(writes[99]);
    assert!(!stage.root().join("w0").exists(), "it was taken back");
    assert!(stage.root().join("w1").exists());
}

#[test]
fn what_there_is_no_room_for_is_refused() {
    let stage = stage();
    let pipe = Pipe::new(&stage);
    let mut client = Client::ready(&stage, json!({}));
    for _ in 0..16 {
        client.run("exec 9> pipe; sleep 1000");
    }
    let held = pipe.held();
    let content = "a".repeat(16 * MIB as usize);
    for _ in 0..3 {
        client.begin("write", json!({ "file_path": "w", "content": content }));
    }
    let refused = client.begin("write", json!({ "file_path": "w", "content": content }));
    assert_eq!(client.answer(refused)["error"]["code"], -32000);
    let (memory, ..) = client.size();
    for _ in 0..3 {
        let id = client.begin("write", json!({ "file_path": "w", "content": content }));
        assert_eq!(client.answer(id)["error"]["code"], -32000);
    }
    assert!(grown(&client, memory) < 32 * MIB);
    assert!(client.leave().success());
    held.released();
}
