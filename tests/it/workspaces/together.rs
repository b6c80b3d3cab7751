//! Many change one registry at once, and nothing is lost.

use std::path::Path;

use ringfence::{SessionHeader, Sessions, Workspaces};

use super::{header, registry_of, tree};
use crate::actor::{self, Actor};
use crate::effort::rounds;
use crate::support::{Stage, dir, offered, this_test};

const MANY: usize = 8;
const BY_EACH: usize = 3;

/// A stage with a directory for each change of each.
fn stage(by_each: usize) -> Stage {
    let mut tree = tree();
    let places = (0..MANY).flat_map(|who| (0..by_each).map(move |number| name(who, number)));
    tree.inside.extend(places.map(|name| dir(&name)));
    Stage::new(&tree)
}

fn name(who: usize, number: usize) -> String {
    format!("w-{who}-{number}")
}

/// The sessions of all: one in each directory.
fn headers(root: &Path, by_each: usize) -> Vec<SessionHeader> {
    let places = (0..MANY).flat_map(|who| (0..by_each).map(move |number| name(who, number)));
    places.map(|name| header(&name, root.join(&name), 1)).collect()
}

/// What one of them does: adds its own directories, and attaches and archives a session of each.
fn work(workspaces: &Workspaces, root: &Path, who: usize, by_each: usize) {
    let headers = headers(root, by_each);
    for number in 0..by_each {
        let name = name(who, number);
        let made = workspaces.create(root.join(&name), Sessions::All(&headers)).unwrap();
        workspaces.attach(made.id, &name, &headers).unwrap();
        workspaces.rename(made.id, &format!("titled {name}"), Sessions::All(&headers)).unwrap();
        if number % 2 == 0 {
            workspaces.archive(&name, &headers).unwrap();
        }
    }
}

fn assert_all_is_there(workspaces: &Workspaces, root: &Path, by_each: usize) {
    let headers = headers(root, by_each);
    let list = workspaces.list(Sessions::All(&headers)).unwrap();
    assert_eq!(list.len(), MANY * by_each);
    for who in 0..MANY {
        for number in 0..by_each {
            let name = name(who, number);
            let found = list.iter().find(|workspace| workspace.path == root.join(&name));
            let found = found.unwrap_or_else(|| panic!("{name} is lost"));
            assert_eq!(found.title, format!("titled {name}"));
            let sessions = if number % 2 == 0 { &found.archived } else { &found.sessions };
            assert_eq!(*sessions, [name]);
        }
        // What comes later comes first, whatever the others do.
        let mine = list
            .iter()
            .filter(|workspace| workspace.path.to_str().unwrap().contains(&format!("/w-{who}-")));
        let mine: Vec<_> = mine.map(|workspace| workspace.path.clone()).collect();
        let expected: Vec<_> = (0..by_each).rev().map(|n| root.join(name(who, n))).collect();
        assert_eq!(mine, expected);
    }
    let left = std::fs::read_dir(workspaces.path().parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "nothing is left beside the file");
}

#[test]
fn eight_threads_lose_no_change() {
    let by_each = rounds(BY_EACH);
    for kind in offered() {
        let stage = stage(by_each);
        std::thread::scope(|scope| {
            for who in 0..MANY {
                let stage = &stage;
                scope.spawn(move || {
                    work(&registry_of(stage, *kind), stage.root(), who, by_each);
                });
            }
        });
        assert_all_is_there(&registry_of(&stage, *kind), stage.root(), by_each);
    }
}

/// Each has a fence of another kind, where there are several.
#[test]
fn eight_processes_lose_no_change() {
    let by_each = rounds(BY_EACH);
    if let Some((who, words)) = actor::part() {
        let who: usize = who.parse().unwrap();
        let kind = offered()[who % offered().len()];
        let workspaces = Workspaces::open(&words[1]).unwrap();
        let workspaces = workspaces.exactly(kind.resolution, kind.confinement);
        work(&workspaces, Path::new(&words[0]), who, by_each);
        actor::tell("done");
        return;
    }
    let stage = stage(by_each);
    let workspaces = registry_of(&stage, offered()[0]);
    let words = [stage.root().to_str().unwrap(), workspaces.path().to_str().unwrap()];
    let test = this_test!();
    let start = |who: usize| Actor::start(test, &who.to_string(), &words);
    let actors: Vec<_> = (0..MANY).map(start).collect();
    for actor in actors {
        assert_eq!(actor.end().as_deref(), Some("done"));
    }
    assert_all_is_there(&workspaces, stage.root(), by_each);
}

#[test]
fn one_of_many_first_starts_builds_the_list() {
    for kind in offered() {
        let stage = stage(1);
        let headers = headers(stage.root(), 1);
        let build = || registry_of(&stage, *kind).initialize(&headers).unwrap();
        let built: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..MANY).map(|_| scope.spawn(build)).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let list = registry_of(&stage, *kind).list(Sessions::All(&headers)).unwrap();
        assert_eq!(list.len(), MANY);
        assert!(built.iter().all(|built| *built == list), "all are told of the same");
    }
}
