//! `ringfence workspace`: what it prints, how it ends, and which file it is in.

use std::path::Path;

use serde_json::{Value, json};

use super::{FAILED, Run, USAGE, command, finish, stage};
use crate::effort::rounds;
use crate::support::Stage;

const PROCESSES: usize = 8;
const BY_PROCESS: usize = 4;

/// Runs `workspace` with its words, on a registry in the base of the stage.
fn run(stage: &Stage, line: &[&str]) -> Run {
    super::run(stage, &[&["workspace", "--state", "$BASE/state/ws.json"], line].concat(), "")
}

fn done(stage: &Stage, line: &[&str]) -> String {
    let run = run(stage, line);
    assert_eq!((run.code(), run.err.as_str()), (0, ""), "{line:?}: {run:?}");
    run.out
}

fn json_of(stage: &Stage, line: &[&str]) -> Value {
    Run::json(&done(stage, &[line, &["--json"]].concat()))
}

#[test]
fn a_workspace_is_added_told_of_and_forgotten() {
    let stage = stage();
    assert_eq!(done(&stage, &["list"]), "");
    assert!(!stage.base().join("state").exists(), "looking makes nothing");

    let added = json_of(&stage, &["add", "d"]);
    let (id, path) = (added["id"].as_str().unwrap(), stage.root().join("d"));
    assert_eq!((&added["path"], &added["title"]), (&json!(path), &json!("d")));
    assert_eq!((&added["status"], &added["created_at"]), (&json!("ok"), &added["updated_at"]));
    let line = format!("{id}  ok           {path:?}\n");
    for again in [&["add", "./d/."][..], &["add", "full/../d"], &["status", "d"], &["list"]] {
        assert_eq!(done(&stage, again), line, "{again:?}");
    }
    let here = json_of(&stage, &["add", "."]);
    assert_eq!(json_of(&stage, &["status"]), here, "the current directory");
    assert_eq!(json_of(&stage, &["list"]), json!({ "workspaces": [here, added] }));

    std::fs::remove_dir(&path).unwrap();
    assert_eq!(done(&stage, &["status", "d"]), format!("{id}  missing-dir  {path:?}\n"));
    assert_eq!(done(&stage, &["remove", "d"]), "", "by its path, though it is missing");
    assert_eq!(json_of(&stage, &["remove", here["id"].as_str().unwrap()]), here);
    assert_eq!(json_of(&stage, &["list"]), json!({ "workspaces": [] }));
    assert!(stage.root().join("f").is_file(), "nothing but the list is changed");
}

#[test]
fn what_cannot_be_done_is_told_by_its_code_and_changes_nothing() {
    let stage = stage();
    done(&stage, &["add", "d"]);
    let before = stage.snapshot();
    let unknown = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    for (line, code) in [
        (&["add", "missing"][..], "FS_NOT_FOUND"),
        (&["add", "f"], "FS_NOT_DIRECTORY"),
        (&["add", "f/x"], "FS_NOT_FOUND"),
        (&["status"], "WORKSPACE_UNKNOWN"),
        (&["status", "missing"], "WORKSPACE_UNKNOWN"),
        (&["remove", "full"], "WORKSPACE_UNKNOWN"),
        (&["remove", unknown], "WORKSPACE_UNKNOWN"),
    ] {
        let refused = run(&stage, &[line, &["--json"]].concat());
        assert_eq!((refused.code(), refused.out.as_str()), (FAILED, ""), "{line:?}: {refused:?}");
        assert_eq!(Run::json(&refused.err)["code"], code, "{line:?}");
        let told = run(&stage, line);
        assert_eq!((told.code(), told.err.lines().count()), (FAILED, 1), "{told:?}");
        assert!(told.err.starts_with("ringfence: "), "{told:?}");
    }
    for line in [&["add"][..], &["remove"], &["rename", "d"], &[]] {
        assert_eq!(run(&stage, line).code(), USAGE, "{line:?}");
    }
    stage.assert_unchanged(&before);
}

#[test]
fn an_inconsistent_file_is_told_and_stays_as_it_is() {
    let stage = stage();
    done(&stage, &["add", "d"]);
    std::fs::write(stage.base().join("state/ws.json"), "{\"initialized\":1}").unwrap();
    let before = stage.snapshot();
    for line in [&["list"][..], &["add", "full"], &["remove", "d"], &["status", "d"]] {
        let refused = run(&stage, &[line, &["--json"]].concat());
        let error = Run::json(&refused.err);
        assert_eq!((refused.code(), &error["code"]), (FAILED, &json!("WORKSPACE_INCONSISTENT")));
        assert!(error["message"].as_str().unwrap().contains("initialized"), "{error}");
        assert_eq!(error["path"], json!(stage.base().join("state/ws.json")));
    }
    stage.assert_unchanged(&before);
}

#[test]
fn the_state_is_where_the_environment_has_it() {
    let stage = stage();
    let add = |variables: &[(&str, &Path)]| {
        let mut command = command(stage.root(), &["workspace", "add", "d"]);
        command.env_remove("XDG_STATE_HOME").envs(variables.iter().copied());
        let run = finish(command, b"");
        assert_eq!(run.code(), 0, "{run:?}");
    };
    let (home, state) = (stage.base().join("home"), stage.base().join("xdg"));
    add(&[("HOME", &home), ("XDG_STATE_HOME", &state)]);
    assert!(state.join("ringfence/workspaces.json").is_file());
    assert!(!home.exists());
    add(&[("HOME", &home), ("XDG_STATE_HOME", Path::new("relative"))]);
    let of_home = home.join(".local/state/ringfence/workspaces.json");
    assert!(of_home.is_file(), "a relative path is ignored");
    std::fs::remove_file(&of_home).unwrap();
    add(&[("HOME", &home)]);
    assert!(of_home.is_file());
}

#[test]
fn no_policy_is_asked_for_it() {
    let stage = stage();
    std::fs::write(stage.root().join("config.toml"), "nonsense").unwrap();
    for options in [["--config", "config.toml"], ["--mode", "read-only"]] {
        done(&stage, &[&options[..], &["add", "d"]].concat());
    }
    assert_eq!(json_of(&stage, &["list"])["workspaces"].as_array().unwrap().len(), 1);
}

#[test]
fn eight_processes_lose_no_workspace() {
    let stage = stage();
    let by_process = rounds(BY_PROCESS);
    let name = |who: usize, number: usize| format!("w-{who}-{number}");
    for (who, number) in (0..PROCESSES).flat_map(|who| (0..by_process).map(move |n| (who, n))) {
        std::fs::create_dir(stage.root().join(name(who, number))).unwrap();
    }
    std::thread::scope(|scope| {
        for who in 0..PROCESSES {
            let stage = &stage;
            scope.spawn(move || {
                for number in 0..by_process {
                    done(stage, &["add", &name(who, number)]);
                }
                done(stage, &["remove", &name(who, 0)]);
            });
        }
    });
    let list = json_of(&stage, &["list"]);
    assert_eq!(list["workspaces"].as_array().unwrap().len(), PROCESSES * (by_process - 1));
}
