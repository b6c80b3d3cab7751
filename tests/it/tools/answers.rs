//! What each tool does and tells where nothing is in its way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ringfence::{CallContext, Limits, Mode, ToolSet};
use rustix::mount::{MountFlags, mount};
use serde_json::json;

use super::{Agent, code, each_agent_on};
use crate::support::{
    Stage, Tree, dir, fifo, file, hard, link, offered, this_test, with_own_mounts,
};

#[test]
fn a_file_is_shown_by_numbered_lines() {
    let tree = Tree::inside([
        file("f", "\u{feff}one\r\n\n\tthree"),
        file("empty", ""),
        link("d/l", "../f"),
    ]);
    each_agent_on(&tree, |stage, agent| {
        let path = stage.root().join("f");
        let read = agent.call("read", json!({ "file_path": "f" }));
        let text = format!(
            "file {path:?}\n     1\tone\n     2\t\n     3\t\tthree\n[end of file: 3 lines in all]"
        );
        assert_eq!((read.is_error, read.text), (false, text));
        let lines = json!([
            { "number": 1, "text": "one" },
            { "number": 2, "text": "" },
            { "number": 3, "text": "\tthree" },
        ]);
        let value = json!({ "path": path, "offset": 1, "lines": lines, "totalLines": 3 });
        assert_eq!(read.value, value);

        let second = json!({ "file_path": path, "offset": 2, "limit": 1.0 });
        let text = format!("file {path:?}\n     2\t\n[lines 2 to 2 of 3; go on with offset 3]");
        assert_eq!(agent.call("read", second).text, text);

        let path = stage.root().join("d/l");
        let linked = agent.done("read", json!({ "file_path": "./d/../d/l", "offset": 3 }));
        let lines = json!([{ "number": 3, "text": "\tthree" }]);
        let value = json!({ "path": path, "offset": 3, "lines": lines, "totalLines": 3 });
        assert_eq!(linked, value, "the path is as it was asked for");

        let path = stage.root().join("empty");
        let text = format!("file {path:?}\n[end of file: 0 lines in all]");
        assert_eq!(agent.call("read", json!({ "file_path": "empty" })).text, text);
    });
}

#[test]
fn one_answer_shows_as_much_as_the_limits_allow_and_says_where_to_go_on() {
    let tree = Tree::inside([file("f", &format!("{}\n{}\nend\n", "a".repeat(9), "é".repeat(8)))]);
    each_agent_on(&tree, |stage, agent| {
        let mut limits = Limits::builder().read_max_line_length(8).read_max_bytes(80);
        limits = limits.read_limit(2);
        let tools = ToolSet::new().limits(limits.build().unwrap());
        let read = |offset: u64| {
            let arguments = json!({ "file_path": "f", "offset": offset });
            tools.call(&agent.session, "read", arguments, &CallContext::default()).text
        };
        let path = stage.root().join("f");
        let (first, second) = ("a".repeat(8), "é".repeat(8));
        let shown = format!(
            "file {path:?}\n     1\t{first}... [line cut after 8 chars]\n     2\t{second}\n\
             [lines 1 to 2 of 3; go on with offset 3]"
        );
        assert_eq!(read(1), shown);
        let rest = format!("file {path:?}\n     3\tend\n[end of file: 3 lines in all]");
        assert_eq!(read(3), rest);
    });
}

#[test]
fn a_file_is_counted_and_looked_through_to_its_end_whatever_is_shown() {
    let lines: String = (1..=20_000).map(|number| format!("é {number}\n")).collect();
    each_agent_on(&Tree::inside([file("f", &lines)]), |stage, agent| {
        let last = agent.done("read", json!({ "file_path": "f", "offset": 20_000 }));
        assert_eq!(last["lines"], json!([{ "number": 20_000, "text": "é 20000" }]));
        assert_eq!(last["totalLines"], 20_000);
        let first = json!({ "file_path": "f", "limit": 1 });
        assert_eq!(agent.done("read", first.clone())["totalLines"], 20_000);

        let mut spoilt = lines.clone().into_bytes();
        *spoilt.last_mut().unwrap() = 0xff;
        std::fs::write(stage.root().join("f"), spoilt).unwrap();
        assert_eq!(agent.code("read", first), "FS_NOT_TEXT");
    });
}

#[test]
fn every_mode_lets_everything_be_read_and_listed() {
    let tree = Tree::inside([]).outside([file("out/secret", "out")]);
    for kind in offered() {
        for mode in [Mode::ReadOnly, Mode::WorkspaceWrite, Mode::DangerFullAccess] {
            let stage = Stage::new(&tree);
            let agent = Agent::on(&stage, mode, *kind);
            let read = agent.done("read", json!({ "file_path": "../out/secret" }));
            assert_eq!(read["lines"][0]["text"], "out", "{mode}");
            let listed = agent.done("list", json!({ "path": "../out" }));
            assert_eq!(listed["entries"][0]["name"], "secret", "{mode}");
        }
    }
}

#[test]
fn a_write_tells_whether_it_created_updated_or_changed_nothing() {
    let tree = Tree::inside([file("f", "\u{feff}old"), hard("other", "ROOT/f")]);
    each_agent_on(&tree, |stage, agent| {
        let write = |path: &str, content: &str| {
            agent.call("write", json!({ "file_path": path, "content": content }))
        };
        let path = stage.root().join("d/e/n");
        let made = write("d/e/n", "one\r\nno end");
        assert_eq!(made.text, format!("created the file {path:?}"));
        assert_eq!(made.value, json!({ "path": path, "operation": "create", "notKept": [] }));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\r\nno end");

        let updated = write("d/e/n", "two");
        assert_eq!(updated.text, format!("updated the file {path:?}"));
        assert_eq!(updated.value, json!({ "path": path, "operation": "update", "notKept": [] }));

        let before = stage.snapshot();
        let same = write("d/e/n", "two");
        assert_eq!(same.value, json!({ "path": path, "operation": "unchanged", "notKept": [] }));
        stage.assert_unchanged(&before);

        agent.done("read", json!({ "file_path": "f" }));
        let path = stage.root().join("f");
        let lossy = write("f", "new");
        let lost = json!(["hard_link", "bom"]);
        assert_eq!(lossy.value, json!({ "path": path, "operation": "update", "notKept": lost }));
        assert!(lossy.text.contains("\nnot kept of the file before: hard_link"), "{}", lossy.text);
        assert_eq!(std::fs::read_to_string(stage.root().join("other")).unwrap(), "\u{feff}old");
    });
}

#[test]
fn an_edit_changes_its_place_and_tells_in_how_many() {
    let tree = Tree::inside([file("f", "\u{feff}a\r\nb\nc c c\r")]);
    each_agent_on(&tree, |stage, agent| {
        let path = stage.root().join("f");
        agent.done("read", json!({ "file_path": "f" }));
        let one = json!({ "file_path": "f", "old_string": "a\nb", "new_string": "a\nB" });
        let edited = agent.call("edit", one);
        assert_eq!(edited.text, format!("updated the file {path:?} in 1 place"));
        let value = json!({ "path": path, "operation": "update", "replaced": 1, "notKept": [] });
        assert_eq!(edited.value, value);
        let all = json!({
            "file_path": "f", "old_string": "c", "new_string": "$1", "replace_all": true,
        });
        let edited = agent.call("edit", all);
        assert_eq!(edited.text, format!("updated the file {path:?} in 3 places"));
        assert_eq!(edited.value["replaced"], 3);
        let bytes = std::fs::read_to_string(&path).unwrap();
        assert_eq!(bytes, "\u{feff}a\r\nB\n$1 $1 $1\r");
    });
}

#[test]
fn a_directory_is_listed_with_what_its_entries_lead_to() {
    let tree = Tree::inside([
        file("f", "four"),
        file(".hidden", ""),
        dir("sub"),
        fifo("fifo"),
        link("dangling", "missing"),
        link("loop", "loop"),
        link("to-dir", "sub"),
        link("to-file", "f"),
        file("two\nlines", "x"),
    ]);
    each_agent_on(&tree, |stage, agent| {
        let latin = OsStr::from_bytes(b"z\xe9");
        std::fs::write(stage.root().join(latin), "").unwrap();
        let entries = json!([
            { "name": ".hidden", "kind": "file", "size": 0 },
            { "name": "dangling", "kind": "other" },
            { "name": "f", "kind": "file", "size": 4 },
            { "name": "fifo", "kind": "other" },
            { "name": "loop", "kind": "other" },
            { "name": "sub", "kind": "directory" },
            { "name": "to-dir", "kind": "directory" },
            { "name": "to-file", "kind": "file", "size": 4 },
            { "name": "two\nlines", "kind": "file", "size": 1 },
            { "name": "z\u{fffd}", "name_hex": "7ae9", "kind": "file", "size": 0 },
        ]);
        let path = stage.root();
        let listed = agent.done("list", json!({ "path": "." }));
        assert_eq!(listed, json!({ "path": path, "entries": entries, "total": 10 }));

        let some = agent.call("list", json!({ "path": ".", "offset": 6, "limit": 4 }));
        let text = format!(
            "directory {path:?}\n\
             directory  \"sub\"\n\
             directory  \"to-dir\"\n\
             file       \"to-file\", 4 bytes\n\
             file       \"two\\nlines\", 1 byte\n\
             [entries 6 to 9 of 10; go on with offset 10]"
        );
        assert_eq!((some.is_error, some.text), (false, text));
        let last = agent.call("list", json!({ "path": ".", "offset": 10 })).text;
        assert!(last.ends_with("\n[end of directory: 10 entries in all]"), "{last}");
    });
}

#[test]
fn directories_that_remain_of_a_write_are_told() {
    with_own_mounts(this_test!(), || {
        for kind in offered() {
            let stage = Stage::new(&Tree::inside([dir("mnt")]));
            let place = stage.root().join("mnt");
            mount("tmpfs", &place, "tmpfs", MountFlags::empty(), Some(c"size=64k")).unwrap();
            let agent = Agent::on(&stage, Mode::WorkspaceWrite, *kind);
            let content = "x".repeat(1 << 20);
            let arguments = json!({ "file_path": "mnt/a/b/f", "content": content });
            let full = agent.call("write", arguments.clone());
            assert_eq!(full.value, json!({ "code": "FS_IO_ERROR", "reason": "no_space" }));
            assert!(full.text.contains("\ndirectories that were made on the way may remain"));
            assert!(place.join("a/b").is_dir());
            // They are there by now, so this time none is made.
            let full = agent.call("write", arguments);
            assert_eq!(code(&full), "FS_IO_ERROR");
            assert!(!full.text.contains("remain"), "{}", full.text);
        }
    });
}
