//! Nothing is changed that the agent has not seen as it is.

use std::os::unix::fs::PermissionsExt;

use ringfence::{Mode, ToolResult};
use serde_json::json;

use super::{Agent, code, each_agent_on};
use crate::effort::rounds;
use crate::support::{Stage, Tree, dir, file, link, offered};

impl Agent {
    fn read(&self, path: &str) -> ToolResult {
        self.call("read", json!({ "file_path": path }))
    }

    fn write(&self, path: &str, content: &str) -> ToolResult {
        self.call("write", json!({ "file_path": path, "content": content }))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> ToolResult {
        let arguments = json!({ "file_path": path, "old_string": old, "new_string": new });
        self.call("edit", arguments)
    }
}

#[track_caller]
fn operation(result: &ToolResult) -> &str {
    assert!(!result.is_error, "{}", result.text);
    result.value["operation"].as_str().expect("a change has an operation")
}

fn tree() -> Tree {
    Tree::inside([file("f", "one\ntwo\n"), file("g", "other"), dir("d"), link("d/l", "../f")])
}

#[test]
fn what_was_not_read_is_neither_overwritten_nor_edited() {
    each_agent_on(&tree(), |stage, agent| {
        let before = stage.snapshot();
        let refused = |result: ToolResult| {
            assert_eq!(code(&result), "FS_NOT_OBSERVED");
            assert!(result.text.ends_with("\nread the file, then retry"), "{}", result.text);
            stage.assert_unchanged(&before);
        };
        refused(agent.write("f", "x"));
        refused(agent.write("d/l", "x"));
        refused(agent.edit("f", "one", "x"));
        // A listing shows names, an answer that failed shows nothing.
        agent.done("list", json!({ "path": "." }));
        assert_eq!(agent.code("read", json!({ "file_path": "f", "offset": 9 })), "FS_NOT_FOUND");
        refused(agent.write("f", "x"));
        // What is read of one file says nothing of another.
        assert!(!agent.read("g").is_error);
        refused(agent.edit("f", "one", "x"));
    });
}

#[test]
fn what_was_read_can_be_changed_again_and_again() {
    each_agent_on(&tree(), |stage, agent| {
        assert!(!agent.read("f").is_error);
        assert_eq!(operation(&agent.edit("f", "one", "1")), "update");
        assert_eq!(operation(&agent.edit("f", "two", "2")), "update", "needs no read between");
        assert_eq!(operation(&agent.write("f", "1\n2\n")), "unchanged");
        assert_eq!(operation(&agent.edit("f", "1", "one")), "update");
        assert_eq!(operation(&agent.write("f", "all new")), "update");
        assert_eq!(std::fs::read_to_string(stage.root().join("f")).unwrap(), "all new");
    });
}

#[test]
fn a_line_that_was_read_counts_for_the_file_under_each_of_its_names() {
    each_agent_on(&tree(), |stage, agent| {
        agent.done("read", json!({ "file_path": "d/l", "limit": 1 }));
        let path = stage.root().join("f");
        assert_eq!(operation(&agent.edit(path.to_str().unwrap(), "two", "2")), "update");
        assert_eq!(operation(&agent.write("d/../f", "new")), "update");
        assert_eq!(operation(&agent.write("d/l", "newer")), "update");
        assert!(stage.root().join("d/l").is_symlink());
        assert_eq!(std::fs::read_to_string(path).unwrap(), "newer");
    });
}

#[test]
fn what_another_has_changed_since_is_stale_until_it_is_read_again() {
    each_agent_on(&tree(), |stage, agent| {
        let path = stage.root().join("f");
        assert!(!agent.read("f").is_error);
        std::fs::write(&path, "One\ntwo\n").unwrap();
        let before = stage.snapshot();
        for result in [agent.write("f", "x"), agent.edit("f", "two", "2"), agent.write("f", "x")] {
            assert_eq!(code(&result), "FS_STALE_VERSION");
            assert!(result.text.contains("read it again, then retry"), "{}", result.text);
            stage.assert_unchanged(&before);
        }
        assert!(!agent.read("f").is_error);
        assert_eq!(operation(&agent.edit("f", "two", "2")), "update");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "One\n2\n");

        std::fs::remove_file(&path).unwrap();
        let before = stage.snapshot();
        assert_eq!(code(&agent.write("f", "x")), "FS_STALE_VERSION");
        assert_eq!(code(&agent.edit("f", "2", "x")), "FS_STALE_VERSION");
        stage.assert_unchanged(&before);
    });
}

#[test]
fn the_same_bytes_with_other_times_and_rights_are_what_was_read() {
    each_agent_on(&tree(), |stage, agent| {
        let path = stage.root().join("f");
        assert!(!agent.read("f").is_error);
        std::fs::write(&path, "one\ntwo\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::hard_link(&path, stage.root().join("second")).unwrap();
        assert_eq!(operation(&agent.edit("f", "two", "2")), "update");
    });
}

#[test]
fn what_was_seen_to_be_missing_can_be_made_and_nothing_else() {
    each_agent_on(&tree(), |stage, agent| {
        assert_eq!(code(&agent.edit("n", "a", "b")), "FS_NOT_OBSERVED");
        assert_eq!(code(&agent.read("n")), "FS_NOT_FOUND");
        assert_eq!(code(&agent.edit("n", "a", "b")), "FS_NOT_FOUND");
        std::fs::write(stage.root().join("n"), "by another").unwrap();
        let before = stage.snapshot();
        assert_eq!(code(&agent.write("n", "x")), "FS_NOT_OBSERVED");
        stage.assert_unchanged(&before);
        std::fs::remove_file(stage.root().join("n")).unwrap();
        assert_eq!(operation(&agent.write("n", "x")), "create");
        assert_eq!(operation(&agent.edit("n", "x", "y")), "update");

        // What was there and is gone, as its owner has seen.
        assert!(!agent.read("f").is_error);
        std::fs::remove_file(stage.root().join("f")).unwrap();
        assert_eq!(code(&agent.read("f")), "FS_NOT_FOUND");
        assert_eq!(operation(&agent.write("f", "x")), "create");
    });
}

#[test]
fn what_one_agent_has_read_another_has_not() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let agent = |mode| Agent::on(&stage, mode, *kind);
        let (one, other) = (agent(Mode::WorkspaceWrite), agent(Mode::WorkspaceWrite));
        assert!(!one.read("f").is_error);
        assert_eq!(code(&other.write("f", "x")), "FS_NOT_OBSERVED");
        assert_eq!(operation(&one.write("f", "x")), "update");
        assert_eq!(code(&other.edit("f", "x", "y")), "FS_NOT_OBSERVED");
    }
}

#[test]
fn without_the_gate_a_file_is_changed_as_it_is() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let mut agent = Agent::on(&stage, Mode::WorkspaceWrite, *kind);
        agent.tools = agent.tools.without_observation();
        assert_eq!(operation(&agent.edit("f", "one", "1")), "update");
        assert_eq!(operation(&agent.write("f", "new")), "update");
        assert!(!agent.read("g").is_error);
        // What such tools have read, the gate of others does not count.
        agent.tools = ringfence::ToolSet::new();
        assert_eq!(code(&agent.write("g", "x")), "FS_NOT_OBSERVED");
    }
}

#[test]
fn changes_of_one_agent_come_one_after_the_other() {
    each_agent_on(
        &Tree::inside([file("f", "left 0\nright 0\n"), file("g", "old")]),
        |stage, agent| {
            let rounds = rounds(20);
            for path in ["f", "g"] {
                assert!(!agent.read(path).is_error);
            }
            std::thread::scope(|scope| {
                for side in ["left", "right"] {
                    scope.spawn(move || {
                        for round in 0..rounds {
                            let (old, new) =
                                (format!("{side} {round}\n"), format!("{side} {}\n", round + 1));
                            assert_eq!(operation(&agent.edit("f", &old, &new)), "update");
                        }
                    });
                }
                scope.spawn(|| {
                    for _ in 0..rounds {
                        assert!(matches!(
                            operation(&agent.write("g", "old")),
                            "update" | "unchanged"
                        ));
                    }
                });
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let edited = agent.edit("g", "old", "new");
                        assert!(!edited.is_error || code(&edited) == "FS_EDIT_NOT_FOUND");
                    }
                });
            });
            let text = std::fs::read_to_string(stage.root().join("f")).unwrap();
            assert_eq!(text, format!("left {rounds}\nright {rounds}\n"));
        },
    );
}

#[test]
fn what_was_listed_or_not_found_by_a_listing_was_not_read() {
    each_agent_on(&tree(), |stage, agent| {
        assert!(!agent.read("f").is_error);
        std::fs::remove_file(stage.root().join("f")).unwrap();
        assert_eq!(agent.code("list", json!({ "path": "f" })), "FS_NOT_FOUND");
        assert_eq!(code(&agent.write("f", "new")), "FS_STALE_VERSION", "it was there when read");
        assert_eq!(agent.code("list", json!({ "path": "n" })), "FS_NOT_FOUND");
        assert_eq!(code(&agent.edit("n", "a", "b")), "FS_NOT_OBSERVED");
    });
}
