//! Many count in one file, each by what it read.

use std::path::Path;

use ringfence_platform::{Fence, Roots};

use super::{names_in, update};
use crate::actor::{self, Actor};
use crate::effort::rounds;
use crate::support::{Stage, Tree, each_fence_on, fence_on, file, offered, open_fence, this_test};

const THREADS: usize = 8;
const BY_THREAD: usize = 60;
const PROCESSES: usize = 3;
const BY_PROCESS: usize = 1_000;

fn increment(fence: &dyn Fence, path: &str) {
    drop(update(fence, path, |bytes| {
        let number: u64 = std::str::from_utf8(&bytes).unwrap().parse().unwrap();
        (number + 1).to_string().into_bytes()
    }));
}

fn count_at(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

#[test]
fn eight_threads_lose_no_guarded_update() {
    each_fence_on(&Tree::inside([file("counter", "0")]), |stage, fence| {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..rounds(BY_THREAD)).for_each(|_| increment(fence, "counter")));
            }
        });
        assert_eq!(count_at(&stage.root().join("counter")), THREADS * rounds(BY_THREAD));
        assert_eq!(names_in(stage.root()), ["counter"]);
    });
}

#[test]
fn two_fences_on_overlapping_roots_lose_no_guarded_update() {
    for kind in offered() {
        let stage = Stage::new(&Tree::inside([file("sub/counter", "0")]));
        let outer = fence_on(&stage, *kind);
        let roots = Roots::open([stage.root().join("sub")]).unwrap();
        let inner = open_fence(&roots, *kind);
        std::thread::scope(|scope| {
            for _ in 0..THREADS / 2 {
                let both = [(&outer, "sub/counter"), (&inner, "counter")];
                for (fence, path) in both {
                    scope.spawn(|| {
                        for _ in 0..rounds(BY_THREAD) {
                            increment(fence.as_ref(), path);
                        }
                    });
                }
            }
        });
        let count = count_at(&stage.root().join("sub/counter"));
        assert_eq!(count, THREADS * rounds(BY_THREAD), "{kind}");
        assert_eq!(names_in(&stage.root().join("sub")), ["counter"]);
    }
}

#[test]
fn three_processes_lose_no_guarded_update() {
    if let Some((number, words)) = actor::part() {
        return count_as(number.parse().unwrap(), Path::new(&words[0]));
    }
    let stage = Stage::new(&Tree::inside([file("counter", "0")]));
    let root = stage.root().to_str().unwrap();
    let test = this_test!();
    let start = |number: usize| Actor::start(test, &number.to_string(), &[root]);
    let actors: Vec<_> = (0..PROCESSES).map(start).collect();
    for actor in actors {
        assert_eq!(actor.end().as_deref(), Some("counted"));
    }
    assert_eq!(count_at(&stage.root().join("counter")), PROCESSES * rounds(BY_PROCESS));
    assert_eq!(names_in(stage.root()), ["counter"]);
}

/// One of the processes. Each has a fence of another kind, where there are several.
fn count_as(number: usize, root: &Path) {
    let kind = offered()[number % offered().len()];
    let fence = open_fence(&Roots::open([root]).unwrap(), kind);
    (0..rounds(BY_PROCESS)).for_each(|_| increment(fence.as_ref(), "counter"));
    actor::tell("counted");
}
