//! A process that is killed wherever it is, in the middle of a change.

use std::time::{Duration, Instant};

use ringfence::{Sessions, Workspaces};

use super::{all, create, document, registry_of, tree};
use crate::actor::{self, Actor};
use crate::effort::rounds;
use crate::support::{Stage, offered, say, this_test};

const KILLS: usize = 24;
/// Later than this nothing new is met: a change takes less.
const LATEST: Duration = Duration::from_millis(24);

#[test]
fn a_crash_leaves_the_state_before_a_change_or_after_it() {
    if let Some((kind, words)) = actor::part() {
        let kind = offered()[kind.parse::<usize>().unwrap()];
        let workspaces = Workspaces::open(&words[0]).unwrap();
        return count_without_end(&workspaces.exactly(kind.resolution, kind.confinement));
    }
    let (kills, mut left) = (rounds(KILLS), 0);
    for (number, kind) in offered().iter().enumerate() {
        let stage = Stage::new(&tree());
        let workspaces = registry_of(&stage, *kind);
        let id = create(&workspaces, stage.root().join("a")).id;
        workspaces.rename(id, "0", Sessions::Unread).unwrap();
        let mut counted = 0;
        for round in 0..kills {
            let state = workspaces.path().to_str().unwrap();
            let actor = Actor::start(this_test!(), &number.to_string(), &[state]);
            assert_eq!(actor.line(), "counting");
            let after = LATEST * u32::try_from(round).unwrap() / u32::try_from(kills).unwrap();
            let began = Instant::now();
            while began.elapsed() < after {
                std::hint::spin_loop();
            }
            actor.kill();

            let list = all(&workspaces);
            let title: u64 = list[0].title.parse().unwrap();
            assert!(list.len() == 1 && title > counted, "{title} comes after {counted}");
            assert_eq!(document(&workspaces)["workspaces"][id.to_string()]["title"], list[0].title);
            counted = title;
            for entry in std::fs::read_dir(stage.root().join("state")).unwrap() {
                let entry = entry.unwrap();
                if entry.path() != workspaces.path() {
                    let name = entry.file_name().into_string().unwrap();
                    assert!(name.starts_with(".ringfence-"), "{name}");
                    std::fs::remove_file(entry.path()).unwrap();
                    left += 1;
                }
            }
        }
    }
    say(format_args!("killed registries: {} kills, {left} left a file", kills * offered().len()));
}

/// Counts in the title of the one workspace until it is killed.
fn count_without_end(workspaces: &Workspaces) {
    let mut is_told = false;
    loop {
        let [one] = &all(workspaces)[..] else { panic!("there is one") };
        let next = one.title.parse::<u64>().unwrap() + 1;
        workspaces.rename(one.id, &next.to_string(), Sessions::Unread).unwrap();
        if !is_told {
            actor::tell("counting");
            is_told = true;
        }
    }
}
