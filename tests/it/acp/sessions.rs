//! Sessions of one client: their directories, their modes, and what is told of their calls.

use std::path::Path;

use futures::future::join;
use ringfence::acp::protocol::ErrorCode;
use ringfence::acp::protocol::v1::schema::{
    NewSessionRequest, SessionId, SessionUpdate, StopReason, ToolCallContent, ToolCallStatus,
    ToolKind,
};
use serde_json::{Value, json};

use super::peer::{Ended, Peer, nobody, with_peer};
use super::{bash, stage, write};
use crate::support::runs_commands;

#[test]
fn a_session_offers_the_presets_and_nothing_else() {
    let stage = stage();
    with_peer(stage.root(), nobody, async |peer| {
        let opened = peer.open(stage.root()).await;
        let modes = opened.modes.unwrap();
        let offered: Vec<_> = modes.available_modes.iter().map(|mode| &*mode.id.0).collect();
        assert_eq!(offered, ["read-only", "workspace-write", "danger-full-access"]);
        assert_eq!(&*modes.current_mode_id.0, "workspace-write");

        for mode in ["custom", "plan", ""] {
            let error = peer.switch(&opened.session_id, mode).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{mode:?}");
        }
        let other = peer.switch(&SessionId::new("another"), "read-only").await.unwrap_err();
        assert_eq!(other.code, ErrorCode::INVALID_PARAMS);
        let made = peer.call(&opened.session_id, write("n", "x")).await;
        assert_eq!(made["operation"], "create", "none of it has switched anything");
    });
}

#[test]
fn a_session_is_in_one_existing_directory_from_which_the_policy_cannot_be_changed() {
    let stage = stage();
    with_peer(stage.root(), nobody, async |peer| {
        for cwd in [Path::new("."), &stage.root().join("missing"), &stage.root().join("f")] {
            let error = peer.try_open(NewSessionRequest::new(cwd)).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
            assert!(error.message.contains("working directory"), "{error:?}");
        }
        for above in [stage.base().join("kept"), stage.base().to_owned()] {
            let error = peer.try_open(NewSessionRequest::new(above)).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
            assert!(error.message.contains("config.toml"), "{error:?}");
        }
        let more = NewSessionRequest::new(stage.root());
        let more = more.additional_directories(vec![stage.base().join("one")]);
        let error = peer.try_open(more).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert!(error.message.contains("additional directories"), "{error:?}");
    });
}

#[test]
fn a_call_is_told_from_its_begin_to_its_end() {
    let stage = stage();
    with_peer(stage.root(), nobody, async |peer| {
        let session = peer.open(stage.root()).await.session_id;
        let read = json!({ "tool": "read", "arguments": { "file_path": "f" } });
        let Ended { reason, values } = peer.prompt(&session, &[read, write("f", "new\n")]).await;
        assert_eq!((reason, values.len()), (StopReason::EndTurn, 2));

        let told = peer.told(&session);
        let policy = told.first().unwrap();
        assert!(matches!(policy, SessionUpdate::AgentMessageChunk(_)), "{policy:?}");
        let Some([SessionUpdate::ToolCall(begun), running, ended]) = told[1..].chunks(3).nth(1)
        else {
            panic!("{told:?}")
        };
        assert_eq!((begun.kind, begun.status), (ToolKind::Edit, ToolCallStatus::Pending));
        assert_eq!(begun.locations[0].path, stage.root().join("f"));
        let updated = |update: &SessionUpdate| {
            let SessionUpdate::ToolCallUpdate(update) = update else { panic!("{update:?}") };
            assert_eq!(update.tool_call_id, begun.tool_call_id);
            update.fields.clone()
        };
        assert_eq!(updated(running).status, Some(ToolCallStatus::InProgress));
        let ended = updated(ended);
        assert_eq!(ended.status, Some(ToolCallStatus::Completed));
        let content = ended.content.unwrap();
        let [ToolCallContent::Diff(diff), ToolCallContent::Content(_)] = &content[..] else {
            panic!("{content:?}")
        };
        assert_eq!((diff.old_text.as_deref(), &*diff.new_text), (Some("old\n"), "new\n"));

        let before = peer.told(&session).len();
        let reason = peer.refused(&session, "please write something").await.unwrap();
        assert_eq!((reason, peer.told(&session).len()), (StopReason::EndTurn, before + 1));
        assert!(peer.refused(&SessionId::new("another"), "{}").await.is_err());
    });
}

/// Both families in `own` and across to `other`: whether each of the four was let through.
async fn works(peer: &Peer, session: &SessionId, other: &Path, round: &str) -> [bool; 4] {
    let across = other.join(format!("{round}-across"));
    let command = |path: &str| bash(&format!("echo x > '{path}'"));
    let calls = [
        write(round, "own"),
        command(&format!("{round}-bash")),
        write(&across, "across"),
        command(across.with_extension("bash").to_str().unwrap()),
    ];
    let ended = peer.prompt(session, &calls).await;
    let is_let_through = |value: &Value| match value.get("code") {
        Some(code) => {
            assert_eq!(code, "FS_SANDBOX_DENIED");
            false
        }
        None => value.get("exitCode").is_none_or(|code| code == 0),
    };
    ended.values.iter().map(is_let_through).collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn two_sessions_at_once_have_their_own_directory_and_mode_for_files_and_commands() {
    if !runs_commands() {
        return;
    }
    const NOWHERE: [bool; 4] = [false; 4];
    const OWN: [bool; 4] = [true, true, false, false];
    const ANYWHERE: [bool; 4] = [true; 4];
    let stage = stage();
    let [one, two] = ["one", "two"].map(|name| stage.base().join(name));
    with_peer(stage.root(), nobody, async |peer| {
        let first = peer.open(&one).await.session_id;
        let second = peer.open(&two).await.session_id;
        let round = async |name| {
            join(works(&peer, &first, &two, name), works(&peer, &second, &one, name)).await
        };
        assert_eq!(round("a").await, (OWN, OWN));
        peer.switch(&first, "read-only").await.unwrap();
        assert_eq!(round("b").await, (NOWHERE, OWN), "of one session alone");
        peer.switch(&second, "danger-full-access").await.unwrap();
        assert_eq!(round("c").await, (NOWHERE, ANYWHERE));
        peer.switch(&first, "workspace-write").await.unwrap();
        assert_eq!(round("d").await, (OWN, ANYWHERE));
    });
    let names = |place: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(place)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let of_two = ["a", "a-bash", "b", "b-bash", "c", "c-bash", "d", "d-bash", "own"];
    assert_eq!(names(&two), of_two);
    let across = ["c-across", "c-across.bash", "d", "d-across", "d-across.bash", "d-bash"];
    assert_eq!(names(&one), [&["a", "a-bash"][..], &across, &["own"]].concat());
}
