//! A wider mode for one call, which the client's user allows or does not.

use ringfence::acp::protocol::Error;
use ringfence::acp::protocol::v1::schema::{
    PermissionOptionKind, RequestPermissionRequest, ToolCallContent,
};
use serde_json::{Value, json};

use super::peer::{Says, with_peer};
use super::{asking, bash, stage, write};
use crate::support::runs_commands;

/// The option of this kind.
fn selects(request: &RequestPermissionRequest, kind: PermissionOptionKind) -> Value {
    let option = request.options.iter().find(|option| option.kind == kind).unwrap();
    json!({ "outcome": { "outcome": "selected", "optionId": option.option_id } })
}

#[test]
fn only_the_option_to_allow_once_allows_and_that_once() {
    const OTHERS: [(Says, &str); 6] = [
        (|request| Ok(selects(request, PermissionOptionKind::RejectOnce)), "REJECTED"),
        (|_| Ok(json!({ "outcome": { "outcome": "cancelled" } })), "CANCELLED"),
        (
            |_| Ok(json!({ "outcome": { "outcome": "selected", "optionId": "allow-always" } })),
            "UNAVAILABLE",
        ),
        (|_| Ok(json!({ "outcome": { "outcome": "allow-once" } })), "UNAVAILABLE"),
        (|_| Ok(json!({ "optionId": "allow-once" })), "UNAVAILABLE"),
        (|_| Err(Error::internal_error()), "UNAVAILABLE"),
    ];
    let stage = stage();
    let before = stage.snapshot();
    for (says, code) in OTHERS {
        with_peer(stage.root(), says, async |peer| {
            let session = peer.open(stage.root()).await.session_id;
            peer.switch(&session, "read-only").await.unwrap();
            let refused = peer.call(&session, asking(write("n", "x"), "workspace-write")).await;
            assert_eq!(refused["code"], format!("SANDBOX_ESCALATION_{code}"));
            assert_eq!(peer.asked().len(), 1);
        });
    }
    stage.assert_unchanged(&before);

    let allows: Says = |request| Ok(selects(request, PermissionOptionKind::AllowOnce));
    with_peer(stage.root(), allows, async |peer| {
        let session = peer.open(stage.root()).await.session_id;
        peer.switch(&session, "read-only").await.unwrap();
        let made = peer.call(&session, asking(write("n\n", "x"), "workspace-write")).await;
        assert_eq!(made["operation"], "create");
        let next = peer.call(&session, write("m", "x")).await;
        assert_eq!(next["code"], "FS_SANDBOX_DENIED", "the next one is judged as before");

        let asked = peer.asked();
        let [request] = &asked[..] else { panic!("{asked:?}") };
        let kinds: Vec<_> = request.options.iter().map(|option| option.kind).collect();
        assert_eq!(kinds, [PermissionOptionKind::AllowOnce, PermissionOptionKind::RejectOnce]);
        assert_eq!(
            (&*request.session_id.0, &*request.tool_call.tool_call_id.0),
            (&*session.0, "call-1")
        );
        let content = request.tool_call.fields.content.as_ref().unwrap();
        let [ToolCallContent::Content(content)] = &content[..] else { panic!("{content:?}") };
        let text = serde_json::to_value(&content.content).unwrap()["text"].clone();
        let text = text.as_str().unwrap();
        assert!(text.contains(r#"reason given: "wanted\u{1b}[2J""#), "{text}");
        let place = format!("which is {:?}", stage.root().join("n\n"));
        assert!(text.contains(&place), "{text}");
    });
}

#[test]
fn a_command_is_asked_about_as_a_change_is() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let allows: Says = |request| Ok(selects(request, PermissionOptionKind::AllowOnce));
    with_peer(stage.root(), allows, async |peer| {
        let session = peer.open(stage.root()).await.session_id;
        peer.switch(&session, "read-only").await.unwrap();
        let denied = peer.call(&session, bash("echo x > n")).await;
        assert_eq!(denied["sandbox"]["denied"], true, "{denied}");
        let made = peer.call(&session, asking(bash("echo x > n"), "workspace-write")).await;
        assert_eq!(made["exitCode"], 0, "{made}");
        assert_eq!(peer.asked().len(), 1);
    });
}
