//! A writer that is killed wherever it is.

use std::path::Path;
use std::time::{Duration, Instant};

use ringfence_platform::{Precondition, Removal, Roots};

use super::{at, is_scratch, is_whole, names_in, quick, read, update, whole, write};
use crate::actor::{self, Actor};
use crate::effort::rounds;
use crate::support::{Stage, Tree, fence_on, file, offered, open_fence, say, this_test};

const KILLS: usize = 12;
/// Later than this nothing new is met: a round of the writer takes less.
const LATEST: Duration = Duration::from_millis(6);

#[test]
fn a_writer_that_is_killed_leaves_the_file_whole_and_at_most_one_scratch_file() {
    if let Some((kind, words)) = actor::part() {
        return write_without_end(kind.parse().unwrap(), Path::new(&words[0]));
    }
    let (mut left, kills) = (0, rounds(KILLS));
    for number in 0..offered().len() {
        let stage = Stage::new(&Tree::inside([file("f", "")]));
        let path = stage.root().join("f");
        std::fs::write(&path, whole(1)).unwrap();
        let fence = fence_on(&stage, offered()[number]);
        for round in 0..kills {
            let root = stage.root().to_str().unwrap();
            let actor = Actor::start(this_test!(), &number.to_string(), &[root]);
            assert_eq!(actor.line(), "writing");
            let after = LATEST * u32::try_from(round).unwrap() / u32::try_from(kills).unwrap();
            let began = Instant::now();
            while began.elapsed() < after {
                std::hint::spin_loop();
            }
            actor.kill();

            assert!(is_whole(&std::fs::read(&path).unwrap()), "a part is there");
            let names = names_in(stage.root());
            let scratch: Vec<_> = names.iter().filter(|name| is_scratch(name)).collect();
            assert!(scratch.len() <= 1, "{names:?}");
            assert!(names.iter().all(|name| is_scratch(name) || ["f", "new"].contains(&&**name)));
            assert!(scratch.iter().all(|name| name.len() <= 32), "{names:?}");
            left += scratch.len();
            for name in scratch {
                std::fs::remove_file(stage.root().join(name)).unwrap();
            }
            // Nobody is kept waiting by a lock of the dead.
            drop(update(fence.as_ref(), "f", |_| whole(round)));
        }
    }
    say(format_args!("killed writers: {} kills, {left} scratch files", kills * offered().len()));
}

/// Replaces, replaces what it read, creates and removes until it is killed.
fn write_without_end(kind: usize, root: &Path) {
    let kind = offered()[kind];
    let fence = open_fence(&Roots::open([root]).unwrap(), kind);
    let fence = fence.as_ref();
    for size in 9_000.. {
        drop(write(fence, "f", &whole(size), Precondition::None).unwrap());
        let (bytes, unchanged) = read(fence, "f");
        assert!(is_whole(&bytes));
        drop(write(fence, "f", &whole(size * 2), unchanged).unwrap());
        // It may be there from the writer before.
        drop(write(fence, "new", &whole(size), Precondition::Absent));
        let remove =
            ringfence_platform::Mutation::Remove { path: at(fence, "new"), what: Removal::File };
        drop(fence.apply(remove, &quick()).unwrap());
        if size == 9_001 {
            actor::tell("writing");
        }
    }
}
