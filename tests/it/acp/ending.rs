//! How what is under way ends: it is cancelled, or its client is gone.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use ringfence::acp::protocol::v1::schema::StopReason;
use serde_json::json;
use tokio::sync::oneshot;

use super::lines::ByHand;
use super::peer::{nobody, with_peer};
use super::{Served, asking, bash, stage, write};
use crate::support::runs_commands;

/// Says that it runs, and then sleeps, as does what has left its session. Each of them holds the
/// other end of the pipe.
const SLEEPS: &str = "exec 3>fifo; setsid sleep 600 & echo runs >&3; sleep 600; echo x > n";

/// Less than the limit of a command that nobody ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the command says that it runs. What is returned ends when no process of it is left.
fn runs(fifo: &Path) -> BufReader<File> {
    let mut fifo = BufReader::new(File::open(fifo).unwrap());
    let mut said = String::new();
    fifo.read_line(&mut said).unwrap();
    assert_eq!(said, "runs\n");
    fifo
}

fn assert_ended(mut fifo: BufReader<File>) {
    assert_eq!(fifo.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn a_cancelled_prompt_ends_its_command_and_calls_nothing_more() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    with_peer(stage.root(), nobody, async |peer| {
        let session = peer.open(stage.root()).await.session_id;
        let calls = [bash(SLEEPS), write("after", "x")];
        let prompt = peer.prompt(&session, &calls);
        let cancelled = async {
            let (sender, running) = oneshot::channel();
            let fifo = stage.root().join("fifo");
            std::thread::spawn(move || sender.send(runs(&fifo)).unwrap());
            let fifo = running.await.unwrap();
            let busy = peer.refused(&session, "[]").await;
            assert!(busy.is_err(), "one prompt of a session at a time");
            peer.cancel(&session);
            fifo
        };
        let (ended, fifo) = futures::future::join(prompt, cancelled).await;
        assert_eq!(ended.reason, StopReason::Cancelled);
        assert_eq!(ended.values.len(), 1, "{ended:?}");
        assert_eq!(ended.values[0]["kind"], "aborted");
        assert_ended(fifo);
        let next = peer.call(&session, write("next", "x")).await;
        assert_eq!(next["operation"], "create");
    });
    assert!(!stage.root().join("n").exists() && !stage.root().join("after").exists());
}

#[test]
fn a_client_that_disconnects_leaves_no_process_and_no_half_of_a_file() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let mut client = ByHand::start(stage.root());
    client.prompt(&bash(SLEEPS));
    let fifo = runs(&stage.root().join("fifo"));
    client.answer("session/new", json!({ "cwd": stage.base().join("one"), "mcpServers": [] }));
    let text = "x".repeat(8 * 1_024 * 1_024);
    let prompt = json!([{ "type": "text", "text": write("big", &text).to_string() }]);
    client.request("session/prompt", json!({ "sessionId": "session-2", "prompt": prompt }));
    let began = Instant::now();
    client.disconnect();
    assert_ended(fifo);
    assert!(began.elapsed() < PATIENCE, "it was ended, and not waited for");
    assert!(!stage.root().join("n").exists());
    for entry in std::fs::read_dir(stage.base().join("one")).unwrap() {
        let entry = entry.unwrap();
        match entry.file_name().to_str().unwrap() {
            "own" => {}
            "big" => assert_eq!(entry.metadata().unwrap().len(), text.len() as u64),
            other => panic!("{other} is left"),
        }
    }
}

#[test]
fn a_client_that_reads_nothing_and_leaves_is_not_waited_for() {
    let stage = stage();
    let mut agent = Served::start(stage.root());
    let (mut input, output) = agent.streams();
    // Each is answered with an error, which has the id in it, and all of them fill any pipe.
    let unknown = json!({ "jsonrpc": "2.0", "id": "x".repeat(10_000), "method": "nothing" });
    for _ in 0..200 {
        writeln!(input, "{unknown}").unwrap();
    }
    drop(input);
    agent.ends_well();
    drop(output);
}

#[test]
fn a_client_that_disconnects_while_it_is_asked_has_allowed_nothing() {
    let stage = stage();
    let before = stage.snapshot();
    let mut client = ByHand::start(stage.root());
    client.answer("session/set_mode", json!({ "sessionId": "session-1", "modeId": "read-only" }));
    client.prompt(&asking(write("n", "x"), "workspace-write"));
    client.until(|message| message["method"] == "session/request_permission");
    client.disconnect();
    stage.assert_unchanged(&before);
}

#[test]
fn a_prompt_that_is_cancelled_while_it_asks_withdraws_the_question() {
    let stage = stage();
    let before = stage.snapshot();
    let mut client = ByHand::start(stage.root());
    client.answer("session/set_mode", json!({ "sessionId": "session-1", "modeId": "read-only" }));
    let id = client.prompt(&asking(write("n", "x"), "workspace-write"));
    let asked = client.until(|message| message["method"] == "session/request_permission");
    client
        .line(r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"session-1"}}"#);
    let withdrawn = client.until(|message| message["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    let answer = client.until(|message| message["id"] == id);
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    client.disconnect();
    stage.assert_unchanged(&before);
}
