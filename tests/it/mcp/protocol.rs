//! What a server answers to what is no call, and to what is no message at all.

use super::*;

fn error(client: &Client) -> (Value, Value) {
    let message = client.next();
    (message["error"]["code"].clone(), message["id"].clone())
}

/// Whether the server still answers.
#[track_caller]
fn goes_on(client: &mut Client) {
    let id = client.ask("ping", json!({}));
    assert_eq!(client.next(), json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
}

/// A transcript, without what differs from run to run.
fn golden(name: &str, stage: &Stage, answer: &Value) {
    let root = stage.root().to_str().unwrap();
    let text = format!("{answer:#}").replace(root, "$ROOT");
    let text = text.replace(env!("CARGO_PKG_VERSION"), "$VERSION");
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn a_client_is_told_what_the_server_is_and_what_it_may_do() {
    let stage = stage();
    let mut client = Client::start(&stage, &[]);
    let answer = client.initialize(json!({}));
    golden("mcp_initialize", &stage, &answer);
    let id = client.ask("tools/list", json!({}));
    golden("mcp_tools", &stage, &client.answer(id));
    assert!(client.leave().success());
}

#[test]
fn a_version_that_lets_a_server_ask_is_agreed_on() {
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let stage = stage();
        let mut client = Client::start(&stage, &[]);
        let params = json!({
            "protocolVersion": asked,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let id = client.ask("initialize", params);
        assert_eq!(client.answer(id)["result"]["protocolVersion"], agreed, "{asked}");
    }
}

#[test]
fn what_is_no_message_is_answered_and_the_server_goes_on() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({}));
    let (parse, invalid) = (json!(-32700), json!(-32600));
    for (line, expected) in [
        (&b"{\"jsonrpc\":\"2.0\",\"id\":1,"[..], (&parse, Value::Null)),
        (b"hello", (&parse, Value::Null)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", (&parse, Value::Null)),
        (b"7", (&invalid, Value::Null)),
        (b"[]", (&invalid, Value::Null)),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", (&invalid, Value::Null)),
        (b"{}", (&invalid, Value::Null)),
        (b"{\"id\":9,\"method\":\"ping\"}", (&invalid, json!(9))),
        (b"{\"jsonrpc\":\"1.0\",\"id\":9,\"method\":\"ping\"}", (&invalid, json!(9))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"a/b\"}", (&json!(-32601), json!(9))),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":1}}",
            (&json!(-32602), json!(9)),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}",
            (&json!(-32602), json!(9)),
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"initialize\"}", (&invalid, json!(9))),
    ] {
        client.write(&[line, b"\n"].concat());
        let (code, id) = error(&client);
        assert_eq!((&code, id), expected, "{}", String::from_utf8_lossy(line));
    }
    // Nothing is said to what is nothing, to an answer that nobody waits for, or to a notification.
    client.write(b"\n\r\n  \n");
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n");
    client.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"a/b\"}\r\n");
    client.tell("notifications/cancelled", json!({ "requestId": 4711 }));
    goes_on(&mut client);
    assert!(client.leave().success());
}

#[test]
fn a_message_that_is_too_long_is_passed_over_and_not_held() {
    const MIB: u64 = 1024 * 1024;
    let stage = stage();
    let mut client = Client::ready(&stage, json!({}));
    let (before, ..) = client.size();
    let piece = vec![b'a'; MIB as usize];
    for _ in 0..130 {
        client.write(&piece);
    }
    client.write(b"\n");
    assert_eq!(error(&client), (json!(-32600), Value::Null));
    goes_on(&mut client);
    let (after, ..) = client.size();
    let grown = after.saturating_sub(before);
    assert!(grown < 80 * MIB, "{grown} bytes");
}

#[test]
fn what_comes_before_initialize_is_refused_and_ends_nothing() {
    let stage = stage();
    let mut client = Client::start(&stage, &[]);
    client.tell("notifications/initialized", json!({}));
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n");
    goes_on(&mut client);
    for method in ["tools/list", "tools/call", "a/b"] {
        let id = client.ask(method, json!({ "name": "list", "arguments": { "path": "." } }));
        assert_eq!(error(&client), (json!(-32600), json!(id)), "{method}");
    }
    let id = client.ask("initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(client.answer(id)["error"]["code"], -32602);
    client.initialize(json!({}));
    assert_eq!(client.done("list", json!({ "path": "." }))["total"], 2);
}
