//! The matrix through the tools that an agent has: read what is there, then write or edit it.

use ringfence::{CallContext, Code, Mode, ToolResult, ToolSet};
use serde_json::{Value, json};

use super::{Row, Theatre, Verdict, rows, settings};
use crate::support::{as_user, this_test};

/// What a call came to: done, or its code and reason.
type Told = Result<(), (String, Option<String>)>;

fn told(result: &ToolResult) -> Told {
    let text = |key: &str| result.value[key].as_str().map(ToOwned::to_owned);
    match text("code") {
        Some(code) => {
            assert!(result.is_error && result.code.is_some_and(|told| told.as_str() == code));
            Err((code, text("reason")))
        }
        None => {
            assert!(!result.is_error && result.code.is_none());
            Ok(())
        }
    }
}

/// Where only the change itself can tell that there is no place: the text of a magic link names
/// nothing, or directories are missing before the name that is too long.
const UNSEEN: [&str; 4] = ["to_pipe", "/proc/self/fd/{pipe}", "to_deleted", "p/q/{x*256}"];

/// As the row says of a write. What can be resolved in no mode is told before a denial.
fn of_write(row: &Row, mode: Mode) -> Verdict {
    let nowhere = match &row.full_access {
        Verdict::Not(Code::FsNotFound | Code::FsIoError, _) => !UNSEEN.contains(&row.path),
        Verdict::Not(..) | Verdict::Done(_) => false,
    };
    match mode {
        Mode::ReadOnly if !nowhere => super::DENIED,
        Mode::WorkspaceWrite if !nowhere => row.workspace_write.clone(),
        Mode::ReadOnly | Mode::WorkspaceWrite | Mode::DangerFullAccess => row.full_access.clone(),
    }
}

/// As of a write, for what could be read. What is not there is edited in no mode, and what cannot
/// be read was not seen.
fn of_edit(row: &Row, mode: Mode, read: &Told) -> Verdict {
    match read {
        Ok(()) => of_write(row, mode),
        Err((code, _)) if code == "FS_NOT_FOUND" => super::NOT_FOUND,
        Err((code, _)) if code == "FS_IO_ERROR" => of_write(row, mode),
        Err(_) => Verdict::Not(Code::FsNotObserved, None),
    }
}

/// Reads each place and then changes it, by the tool and with the arguments that `change` makes of
/// its path and what was read.
fn play(tools: &ToolSet, change: impl Fn(&str, &Value) -> (&'static str, Value)) {
    let mut wrong = Vec::new();
    for (mode, kind) in settings() {
        let mut theatre = Theatre::new();
        for row in rows() {
            let session = theatre.session(mode, kind);
            let call = |name: &str, arguments| {
                tools.call(&session, name, arguments, &CallContext::default())
            };
            let path = theatre.stage.expand(row.path);
            let before = theatre.stage.snapshot();
            let read = call("read", json!({ "file_path": path }));
            let (name, arguments) = change(&path, &read.value);
            let read = told(&read);
            let result = call(name, arguments);
            let after = theatre.stage.snapshot();
            let got = told(&result).map(|()| before.effects(&after, theatre.stage.root_in_base()));
            let expected = match name {
                "edit" => of_edit(&row, mode, &read),
                _ => of_write(&row, mode),
            };
            let expected = match expected {
                Verdict::Done(effects) => Ok(effects),
                Verdict::Not(code, reason) => {
                    Err((code.to_string(), reason.map(|reason| reason.to_string())))
                }
            };
            let untouched = got.is_ok() || before.differences(&after).is_empty();
            if got != expected || !untouched {
                let fence = kind.map(|kind| kind.to_string()).unwrap_or_default();
                let (number, path) = (row.number, row.path);
                wrong.push(format!(
                    "row {number} {path} {mode} {fence} {name}: expected {expected:?}, got {got:?}"
                ));
            }
            if got.is_ok() || !untouched {
                theatre = Theatre::new();
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn write(path: &str, _: &Value) -> (&'static str, Value) {
    ("write", json!({ "file_path": path, "content": "written" }))
}

/// Of the first line that was read.
fn edit(path: &str, read: &Value) -> (&'static str, Value) {
    let old = read["lines"][0]["text"].as_str().unwrap_or("old");
    ("edit", json!({ "file_path": path, "old_string": old, "new_string": "written" }))
}

#[test]
fn the_write_tool_gets_the_verdict_of_each_place_in_each_mode_on_every_fence() {
    play(&ToolSet::new(), write);
}

#[test]
fn the_edit_tool_gets_the_verdict_of_each_place_in_each_mode_on_every_fence() {
    play(&ToolSet::new(), edit);
}

#[test]
fn a_set_that_observes_nothing_gets_the_same_verdicts() {
    play(&ToolSet::new().without_observation(), write);
}

#[test]
fn an_ordinary_user_gets_the_same_verdicts_of_the_tools() {
    as_user(this_test!(), || play(&ToolSet::new(), write));
}
