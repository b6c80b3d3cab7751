//! What is no message, or none that can be served.

use serde_json::json;

use super::lines::ByHand;
use super::{stage, write};

#[test]
fn what_is_no_message_is_told_and_the_next_one_is_served() {
    let stage = stage();
    let mut client = ByHand::start(stage.root());
    for (line, code) in [
        (&b"{"[..], -32700),
        (b"\xff\xfe", -32700),
        (b"17", -32600),
        (b"[]", -32600),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]"#, -32600),
        (br#"{"jsonrpc":"2.0","id":{},"method":"initialize"}"#, -32600),
    ] {
        client.line(line);
        let answer = client.until(|message| message["id"].is_null());
        assert_eq!(answer["error"]["code"], code, "{:?}", String::from_utf8_lossy(line));
    }
    client.line("\r\n");
    for (method, params, code) in [
        ("session/nonsense", json!({ "sessionId": "session-1" }), -32601),
        ("session/load", json!({ "sessionId": "session-1", "cwd": "/", "mcpServers": [] }), -32601),
        ("session/new", json!({ "cwd": 1 }), -32602),
        ("session/prompt", json!({ "sessionId": "session-2", "prompt": [] }), -32602),
        ("session/close", json!({ "sessionId": "session-2" }), -32602),
    ] {
        let answer = client.answer(method, params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    client.line(r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}"#);
    let id = client.prompt(&write("n", "x"));
    let answer = client.until(|message| message["id"] == id);
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert!(stage.root().join("n").is_file());
    client.answer("session/close", json!({ "sessionId": "session-1" }));
    let id = client.prompt(&write("m", "x"));
    let answer = client.until(|message| message["id"] == id);
    assert_eq!(answer["error"]["code"], -32602, "it is closed");
    client.disconnect();
}
