//! Two agents with the same tools and different workspaces, at the same time.

use std::path::Path;
use std::sync::Arc;

use ringfence::{
    Durability, Mode, ModeSource, PolicyService, SessionOptions, Settings, TempAreas, ToolSet,
};
use serde_json::{Value, json};

use super::{Agent, code};
use crate::effort::rounds;
use crate::support::{FenceKind, Stage, Tree, dir, file, offered};

fn service(stage: &Stage, kind: FenceKind) -> Arc<PolicyService> {
    let settings = Settings::default()
        .workspace(stage.root())
        .mode(Mode::WorkspaceWrite)
        .temps(TempAreas::none())
        .durability(Durability::None)
        .exactly(kind.resolution, kind.confinement);
    PolicyService::load(settings).unwrap()
}

fn write(path: impl AsRef<Path>, content: &str) -> Value {
    json!({ "file_path": path.as_ref(), "content": content })
}

fn opened(options: SessionOptions) -> Agent {
    Agent { session: options.open().unwrap(), tools: ToolSet::new() }
}

/// One agent's work: each of its own changes is made, and each across is denied.
fn works(agent: &Agent, others: &Path) {
    for round in 0..rounds(20) {
        let path = format!("d/{round}");
        agent.done("write", write(&path, "one two"));
        let edit = json!({ "file_path": path, "old_string": "two", "new_string": "2" });
        agent.done("edit", edit);
        let read = agent.done("read", json!({ "file_path": path }));
        assert_eq!(read["lines"], json!([{ "number": 1, "text": "one 2" }]));

        let across = agent.code("write", write(others.join(&path), "across"));
        assert_eq!(across, "FS_SANDBOX_DENIED");
        agent.done("read", json!({ "file_path": others.join("own") }));
        let across = agent.code("write", write(others.join("own"), "across"));
        assert_eq!(across, "FS_SANDBOX_DENIED");
    }
}

#[test]
fn two_agents_work_at_the_same_time_each_in_its_own_workspace() {
    for kind in offered() {
        let tree = Tree::inside([]).outside([file("one/own", "1"), file("two/own", "2")]);
        let stage = Stage::new(&tree);
        let before = stage.snapshot();
        let service = service(&stage, *kind);
        let places = ["one", "two"].map(|name| stage.base().join(name));
        let agents = places.each_ref().map(|cwd| opened(service.session().cwd(cwd)));
        std::thread::scope(|scope| {
            scope.spawn(|| works(&agents[0], &places[1]));
            scope.spawn(|| works(&agents[1], &places[0]));
        });

        // What one is allowed from now on, the other is not.
        agents[0].session.set_mode(Mode::ReadOnly, ModeSource::Host);
        assert_eq!(agents[0].code("write", write("n", "x")), "FS_SANDBOX_DENIED");
        agents[1].done("write", write("n", "x"));
        agents[0].session.set_mode(Mode::DangerFullAccess, ModeSource::Host);
        agents[0].done("write", write(stage.base().join("o"), "x"));
        let outside = agents[1].code("write", write(stage.base().join("p"), "x"));
        assert_eq!(outside, "FS_SANDBOX_DENIED");

        std::fs::remove_file(stage.base().join("o")).unwrap();
        std::fs::remove_file(places[1].join("n")).unwrap();
        for place in &places {
            let made = std::fs::read_dir(place.join("d")).unwrap().count();
            assert_eq!(made, rounds(20));
            std::fs::remove_dir_all(place.join("d")).unwrap();
        }
        stage.assert_unchanged_but_times_of_dirs(&before);
    }
}

#[test]
fn edits_of_two_agents_of_one_file_are_all_in_it_or_refused() {
    for kind in offered() {
        let stage = Stage::new(&Tree::inside([file("f", ""), dir("d")]));
        let service = service(&stage, *kind);
        let append = &|number: usize| {
            let (agent, mine) = (opened(service.session()), format!("agent {number}\n"));
            let tries = (0..rounds(30)).map(|_| {
                agent.done("read", json!({ "file_path": "f" }));
                // May be newer than what the tool has read, and is refused then.
                let now = std::fs::read_to_string(stage.root().join("f")).unwrap();
                let result = agent.call("write", write("f", &(now + &mine)));
                if result.is_error {
                    assert_eq!(code(&result), "FS_STALE_VERSION");
                }
                usize::from(!result.is_error)
            });
            tries.sum::<usize>()
        };
        let counted: usize = std::thread::scope(|scope| {
            let agents = [1, 2, 3].map(|number| scope.spawn(move || append(number)));
            agents.into_iter().map(|agent| agent.join().unwrap()).sum()
        });
        let text = std::fs::read_to_string(stage.root().join("f")).unwrap();
        assert_eq!(text.lines().count(), counted, "{kind}");
    }
}
