//! Input that no tool can do anything with: each has its code and words, and nothing has changed.

use std::os::unix::fs::MetadataExt;

use ringfence::{CallContext, Cancel, Mode, Tool, ToolSet};
use serde_json::{Value, json};

use super::{Agent, each_agent_on};
use crate::support::{Stage, Tree, dir, fifo, file, link, offered};

fn tree() -> Tree {
    let inside = [
        file("f", "one\ntwo\n"),
        file("twice", "a a"),
        file("nul", "a\0b"),
        file("empty", ""),
        dir("d"),
        fifo("fifo"),
        link("loop", "loop"),
        link("dangling", "missing/x"),
    ];
    Tree::inside(inside)
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

/// Each call fails with its code and with all of the words, and everything is as it was.
#[track_caller]
fn refused(stage: &Stage, agent: &Agent, calls: &[(&str, Value, &str, &[&str])]) {
    let before = stage.snapshot();
    for (name, arguments, expected, words) in calls {
        let result = agent.call(name, arguments.clone());
        assert_eq!(super::code(&result), *expected, "{name} {arguments}: {}", result.text);
        for word in *words {
            assert!(result.text.contains(word), "{word} in {}", result.text);
        }
        stage.assert_unchanged(&before);
    }
}

#[test]
fn arguments_of_another_shape_are_refused() {
    each_agent_on(&tree(), |stage, agent| {
        let invalid = "INVALID_ARGS";
        let edit = |old: &str, new: &str| edit("f", old, new);
        let calls: &[(&str, Value, &str, &[&str])] = &[
            ("append", json!({ "file_path": "f" }), invalid, &["\"append\"", "read, write, edit"]),
            ("Write", json!({ "file_path": "f", "content": "x" }), invalid, &["\"Write\""]),
            ("read", json!("f"), invalid, &["an object", "a string"]),
            ("read", json!({}), invalid, &["`file_path` is missing"]),
            ("read", json!({ "path": "f" }), invalid, &["`file_path` is missing"]),
            ("read", json!({ "file_path": null }), invalid, &["`file_path`", "null"]),
            ("read", json!({ "file_path": ["f"] }), invalid, &["`file_path`", "an array"]),
            ("read", json!({ "file_path": " \t\n" }), invalid, &["`file_path`", "blank"]),
            ("read", json!({ "file_path": "a\0b" }), invalid, &["`file_path`", "NUL"]),
            ("read", json!({ "file_path": "f", "offset": 0 }), invalid, &["`offset`", "from 1"]),
            ("read", json!({ "file_path": "f", "offset": -1 }), invalid, &["`offset`"]),
            ("read", json!({ "file_path": "f", "offset": 1.5 }), invalid, &["`offset`"]),
            ("read", json!({ "file_path": "f", "offset": "2" }), invalid, &["`offset`"]),
            ("read", json!({ "file_path": "f", "limit": 0 }), invalid, &["`limit`"]),
            ("read", json!({ "file_path": "f", "limit": 2001 }), invalid, &["1 to 2000"]),
            ("write", json!({ "file_path": "n" }), invalid, &["`content` is missing"]),
            ("write", json!({ "content": "x" }), invalid, &["`file_path` is missing"]),
            (
                "write",
                json!({ "file_path": "n", "content": 7 }),
                invalid,
                &["`content`", "a number"],
            ),
            ("write", json!({ "file_path": "", "content": "x" }), invalid, &["blank"]),
            ("write", json!({ "file_path": "n\0", "content": "x" }), invalid, &["NUL"]),
            ("edit", edit("", "x"), invalid, &["`old_string`", "empty"]),
            ("edit", edit("one", "one"), invalid, &["`new_string`", "another"]),
            ("edit", edit("one\n", "one\r\n"), invalid, &["line ends alone"]),
            (
                "edit",
                json!({ "file_path": " ", "old_string": 1, "replace_all": "yes" }),
                invalid,
                &["`file_path`", "`old_string`", "`new_string` is missing", "`replace_all`"],
            ),
            ("list", json!({}), invalid, &["`path` is missing"]),
            ("list", json!({ "path": " " }), invalid, &["`path`", "blank"]),
            ("list", json!({ "path": ".", "limit": 1001 }), invalid, &["1 to 1000"]),
        ];
        refused(stage, agent, calls);
    });
}

#[test]
fn files_that_a_tool_cannot_work_on_are_refused() {
    each_agent_on(&tree(), |stage, agent| {
        let latin = stage.root().join("latin");
        std::fs::write(&latin, b"caf\xe9").unwrap();
        let read = |path: &str| json!({ "file_path": path });
        let write = |path: &str| json!({ "file_path": path, "content": "x" });
        let edit = |path: &str, old: &str| edit(path, old, "x");
        for path in ["f", "twice"] {
            agent.done("read", read(path));
        }
        let (missing, kind) = ("FS_NOT_FOUND", "FS_NOT_REGULAR_FILE");
        let calls: &[(&str, Value, &str, &[&str])] = &[
            ("read", read("missing"), missing, &["cannot read", "/missing\""]),
            ("read", read("f/child"), missing, &["cannot read", "/f/child\""]),
            ("read", read("dangling"), missing, &["/dangling\""]),
            ("read", json!({ "file_path": "f", "offset": 3 }), missing, &["line 3", "2 lines"]),
            ("read", json!({ "file_path": "empty", "offset": 2 }), missing, &["0 lines"]),
            ("read", read("d"), kind, &["cannot read", "/d\"", "regular file"]),
            ("read", read("fifo"), kind, &["/fifo\""]),
            ("read", read("nul"), "FS_NOT_TEXT", &["/nul\"", "NUL"]),
            ("read", read("latin"), "FS_NOT_TEXT", &["/latin\"", "UTF-8"]),
            ("read", read("loop"), "FS_IO_ERROR", &["/loop\""]),
            ("write", write("d"), kind, &["cannot write", "/d\"", "regular file"]),
            ("write", write("fifo"), kind, &["/fifo\""]),
            ("write", write("f/child"), missing, &["/f/child\""]),
            ("write", write("dangling"), missing, &["/dangling\""]),
            ("write", write("loop"), "FS_IO_ERROR", &["/loop\""]),
            ("write", write(&"x".repeat(256)), "FS_IO_ERROR", &["too long"]),
            ("edit", edit("f", "three"), "FS_EDIT_NOT_FOUND", &["cannot edit", "exact text"]),
            ("edit", edit("twice", "a"), "FS_AMBIGUOUS_EDIT", &["2 times", "`replace_all`"]),
            ("edit", edit("missing", "a"), missing, &["cannot edit", "/missing\""]),
            ("list", json!({ "path": "missing" }), missing, &["cannot list", "/missing\""]),
            ("list", json!({ "path": "f" }), "FS_NOT_DIRECTORY", &["/f\"", "a directory"]),
            ("list", json!({ "path": "d", "offset": 2 }), missing, &["entry 2", "0 entries"]),
        ];
        refused(stage, agent, calls);
        let reason = |name, arguments| agent.call(name, arguments).value["reason"].clone();
        assert_eq!(reason("write", write("loop")), "loop");
        assert_eq!(reason("write", write(&"x".repeat(256))), "name_too_long");
        assert_eq!(reason("read", read("missing")), Value::Null);
    });
}

/// Whoever has no gate before the file comes to these, too.
#[test]
fn an_edit_of_what_is_no_text_or_too_large_is_refused() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        std::fs::write(stage.root().join("latin"), b"caf\xe9").unwrap();
        let mut agent = Agent::on(&stage, Mode::WorkspaceWrite, *kind);
        agent.tools = agent.tools.without_observation();
        let edit = |path: &str| edit(path, "a", "b");
        let calls: &[(&str, Value, &str, &[&str])] = &[
            ("edit", edit("nul"), "FS_NOT_TEXT", &["cannot edit", "/nul\"", "NUL"]),
            ("edit", edit("latin"), "FS_NOT_TEXT", &["/latin\"", "UTF-8"]),
            ("edit", edit("d"), "FS_NOT_REGULAR_FILE", &["/d\""]),
            ("edit", edit("missing"), "FS_NOT_FOUND", &["/missing\""]),
        ];
        refused(&stage, &agent, calls);

        // Looked at by itself: a picture has a digest of every byte.
        let large = stage.root().join("large");
        std::fs::File::create(&large).unwrap().set_len(512 * 1024 * 1024 + 1).unwrap();
        let identity = || {
            let found = large.metadata().unwrap();
            (found.ino(), found.len(), found.ctime(), found.ctime_nsec())
        };
        let before = identity();
        let result = agent.call("edit", edit("large"));
        assert_eq!(super::code(&result), "FS_TOO_LARGE");
        for words in ["536870913 bytes", "536870912"] {
            assert!(result.text.contains(words), "{}", result.text);
        }
        assert_eq!(identity(), before);
    }
}

#[test]
fn what_a_tool_does_not_know_it_ignores() {
    each_agent_on(&tree(), |stage, agent| {
        let junk = json!({
            "content": "new", "file_path": "n", "mode": "danger-full-access", "approved": true,
            "seen": { "version": 1 }, "old_string": 7, "sandbox_permissions": null,
        });
        assert_eq!(agent.done("write", junk)["operation"], "create");
        assert_eq!(std::fs::read_to_string(stage.root().join("n")).unwrap(), "new");
        let before = stage.snapshot();
        let outside = json!({ "file_path": "../n", "content": "x", "approved": true });
        assert_eq!(agent.code("write", outside), "FS_SANDBOX_DENIED");
        let read = json!({ "file_path": "f", "limit": null, "sandbox_permissions": 7 });
        assert_eq!(agent.done("read", read)["totalLines"], 2);
        stage.assert_unchanged(&before);
    });
}

#[test]
fn a_tool_that_was_left_out_is_not_there() {
    each_agent_on(&tree(), |_, agent| {
        let tools = ToolSet::new().without(Tool::List);
        let list =
            tools.call(&agent.session, "list", json!({ "path": "." }), &CallContext::default());
        assert_eq!(super::code(&list), "INVALID_ARGS");
    });
}

#[test]
fn a_call_that_was_cancelled_is_not_looked_at() {
    each_agent_on(&tree(), |stage, agent| {
        let before = stage.snapshot();
        let cancel = Cancel::new();
        cancel.cancel();
        let context = CallContext { cancel, ..CallContext::default() };
        for (name, arguments) in [
            ("read", json!({ "file_path": "f" })),
            ("write", json!({ "file_path": "n", "content": "x" })),
            ("write", json!({ "file_path": "../n", "content": "x" })),
            ("edit", json!({ "file_path": "f", "old_string": "one", "new_string": "x" })),
            ("list", json!({ "path": "missing" })),
            ("write", json!({})),
            ("append", json!({})),
        ] {
            let result = agent.tools.call(&agent.session, name, arguments, &context);
            assert_eq!(super::code(&result), "FS_ABORTED", "{name}: {}", result.text);
        }
        stage.assert_unchanged(&before);
    });
}
