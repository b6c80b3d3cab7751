//! A wider mode for one call, asked of the person at the client.

use super::*;

/// A write outside the workspace, with a wish.
fn wish(stage: &Stage) -> Value {
    json!({
        "file_path": stage.base().join("out/n"),
        "content": "n",
        "sandbox_permissions": "danger-full-access",
        "justification": "it is \u{1b}[2J wanted",
    })
}

fn made(stage: &Stage) -> bool {
    stage.base().join("out/n").exists()
}

#[test]
fn a_person_is_shown_all_that_is_asked_for_and_can_choose() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({ "elicitation": {} }));
    let id = client.begin("write", wish(&stage));
    let asked = client.told("elicitation/create");
    let params = &asked["params"];
    let schema = json!({
        "type": "object",
        "properties": { "decision": { "type": "string", "enum": ["allow once", "reject"] } },
        "required": ["decision"],
    });
    assert_eq!(params["requestedSchema"], schema);
    let place = stage.base().join("out/n");
    let message = format!(
        "ringfence: in workspace-write mode this is not allowed; danger-full-access is asked for, \
         once\ntool \"write\", call \"{id}\"\nthe reason given: \"it is \\u{{1b}}[2J wanted\"\n\
         write {place:?}\nwhich is {place:?}"
    );
    assert_eq!(params["message"], message);
    assert!(!made(&stage), "nothing is done before the answer");
    client.reply(&asked, json!({ "action": "accept", "content": { "decision": "allow once" } }));
    assert_eq!(client.answer(id)["result"]["isError"], false);
    assert!(made(&stage));

    let arguments = json!({
        "command": "true\nfalse", "description": "a test", "workdir": "d",
        "sandbox_permissions": "danger-full-access", "justification": "why",
    });
    client.begin("bash", arguments);
    let asked = client.told("elicitation/create");
    let message = asked["params"]["message"].as_str().unwrap();
    let workdir = stage.root().join("d");
    let what = format!("\nrun \"true\\nfalse\"\nin {workdir:?}");
    assert!(message.ends_with(&what), "{message}");
    client.reply(&asked, json!({ "action": "decline" }));
}

#[test]
fn nothing_but_the_one_answer_allows() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({ "elicitation": { "form": {} } }));
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    for (answer, expected) in [
        (accept(json!({ "decision": "reject" })), "REJECTED"),
        (json!({ "action": "decline" }), "REJECTED"),
        (json!({ "action": "decline", "content": { "decision": "allow once" } }), "REJECTED"),
        (json!({ "action": "cancel" }), "CANCELLED"),
        (json!({ "action": "accept" }), "UNAVAILABLE"),
        (accept(json!({})), "UNAVAILABLE"),
        (accept(json!({ "decision": "allow" })), "UNAVAILABLE"),
        (accept(json!({ "decision": "Allow once" })), "UNAVAILABLE"),
        (accept(json!({ "decision": ["allow once"] })), "UNAVAILABLE"),
        (accept(json!({ "decision": "allow once", "always": true })), "UNAVAILABLE"),
        (accept(json!("allow once")), "UNAVAILABLE"),
        (json!({ "action": "allow once" }), "UNAVAILABLE"),
        (json!({}), "UNAVAILABLE"),
        (json!(["accept"]), "UNAVAILABLE"),
        (Value::Null, "UNAVAILABLE"),
    ] {
        let id = client.begin("write", wish(&stage));
        let asked = client.told("elicitation/create");
        client.reply(&asked, answer.clone());
        let code = code(&client.answer(id)["result"]);
        assert_eq!(code, format!("SANDBOX_ESCALATION_{expected}"), "{answer}");
    }
    let id = client.begin("write", wish(&stage));
    let asked = client.told("elicitation/create");
    let error = json!({ "code": -1, "message": "no" });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }));
    assert_eq!(code(&client.answer(id)["result"]), "SANDBOX_ESCALATION_UNAVAILABLE");
    assert!(!made(&stage));
}

#[test]
fn a_client_that_shows_no_forms_has_nobody_to_ask() {
    let stage = stage();
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let mut client = Client::ready(&stage, capabilities);
        let code = client.code("write", wish(&stage));
        assert_eq!(code, "SANDBOX_ESCALATION_NO_APPROVER");
    }
    assert!(!made(&stage));
}

#[test]
fn a_question_is_taken_back_with_its_call() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({ "elicitation": {} }));
    let id = client.begin("write", wish(&stage));
    let asked = client.told("elicitation/create");
    client.tell("notifications/cancelled", json!({ "requestId": id }));
    let told = client.told("notifications/cancelled");
    assert_eq!(told["params"]["requestId"], asked["id"]);
    client.reply(&asked, json!({ "action": "accept", "content": { "decision": "allow once" } }));
    assert_eq!(client.done("list", json!({ "path": "." }))["total"], 2);
    assert!(!made(&stage), "it came too late");

    client.begin("write", wish(&stage));
    client.told("elicitation/create");
    assert!(client.leave().success());
    assert!(!made(&stage));
}

#[test]
fn an_answer_behind_many_requests_is_seen() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({ "elicitation": {} }));
    // Each has one of the threads, and waits for a person or for its turn.
    let questions: Vec<_> = (0..16).map(|_| client.begin("write", wish(&stage))).collect();
    let asked = client.told("elicitation/create");
    let reads: Vec<_> =
        (0..50).map(|_| client.begin("read", json!({ "file_path": "f" }))).collect();
    client.reply(&asked, json!({ "action": "decline" }));
    let mut open = questions.len() + reads.len();
    while open > 0 {
        let message = client.next();
        if message["method"] == "elicitation/create" {
            client.reply(&message, json!({ "action": "decline" }));
        } else {
            open -= 1;
        }
    }
    assert!(!made(&stage));
}
