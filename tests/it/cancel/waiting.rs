//! Changes that are called off while they wait for somebody, or for a long file.

use std::path::Path;

use ringfence_platform::{Cancel, Digest, ErrorKind, Follow, Mutation, Precondition};

use super::{Tries, at, lock, replace, terms, tree, write};
use crate::actor::{self, Actor};
use crate::support::{Stage, Tree, each_fence_on, fence_on, file, offered, this_test};

/// More than is read in many seconds, and none of it on the disk.
const LONG: u64 = 1 << 33;

#[test]
fn a_change_that_waits_for_another_process_can_be_cancelled() {
    if let Some((_, words)) = actor::part() {
        let _lock = lock(Path::new(&words[0]));
        actor::tell("locked");
        return actor::wait_for_the_end();
    }
    let test = this_test!();
    for kind in offered() {
        let stage = Stage::new(&tree());
        let fence = fence_on(&stage, *kind);
        let (fence, place) = (fence.as_ref(), stage.root().join("d"));
        let other = Actor::start(test, "holder", &[place.to_str().unwrap()]);
        assert_eq!(other.line(), "locked");

        let before = stage.snapshot();
        let cancel = Cancel::new();
        let tries = Tries::at(&place);
        std::thread::scope(|scope| {
            let change = replace(fence, "d/f");
            let waiting = scope.spawn(|| fence.apply(change, &terms(&cancel)));
            tries.wait();
            cancel.cancel();
            let error = waiting.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{kind}");
        });
        stage.assert_unchanged(&before);

        assert_eq!(other.end(), None);
        let change = replace(fence, "d/f");
        drop(fence.apply(change, &terms(&Cancel::never())).unwrap());
    }
}

#[test]
fn a_change_that_waits_for_another_process_is_made_when_that_is_done() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let fence = fence_on(&stage, *kind);
        let (fence, place) = (fence.as_ref(), stage.root().join("d"));
        let (locked, tries) = (lock(&place), Tries::at(&place));
        std::thread::scope(|scope| {
            let change = replace(fence, "d/f");
            let waiting = scope.spawn(|| fence.apply(change, &terms(&Cancel::never())));
            tries.wait();
            assert!(!waiting.is_finished());
            assert_eq!(std::fs::read(place.join("f")).unwrap(), b"old");
            drop(locked);
            drop(waiting.join().unwrap().unwrap());
        });
        assert_eq!(std::fs::read(place.join("f")).unwrap(), b"new");
    }
}

/// Two fences, so that also a confined thread each.
#[test]
fn of_two_changes_that_wait_each_is_cancelled_for_itself() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let (first, second) = (fence_on(&stage, *kind), fence_on(&stage, *kind));
        let place = stage.root().join("d");
        let _locked = lock(&place);
        let before = stage.snapshot();
        let tries = Tries::at(&place);
        std::thread::scope(|scope| {
            let (one, other) = (Cancel::new(), Cancel::new());
            let change = replace(first.as_ref(), "d/f");
            let in_front = {
                let (terms, fence) = (terms(&one), &first);
                scope.spawn(move || fence.apply(change, &terms))
            };
            tries.wait();
            let change = write(second.as_ref(), "d/f", Precondition::None);
            let behind = {
                let (terms, fence) = (terms(&other), &second);
                scope.spawn(move || fence.apply(change, &terms))
            };
            other.cancel();
            assert_eq!(behind.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled, "{kind}");
            assert!(!in_front.is_finished(), "nobody cancelled that one");
            one.cancel();
            assert_eq!(in_front.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        });
        stage.assert_unchanged(&before);
    }
}

#[test]
fn a_change_that_compares_a_long_file_can_be_cancelled() {
    each_fence_on(&Tree::inside([file("long", ""), file("f", "other")]), |stage, fence| {
        let path = stage.root().join("long");
        std::fs::File::options().write(true).open(&path).unwrap().set_len(LONG).unwrap();
        let (_, stamp) = fence.stat(&at(fence, "long"), Follow::No).unwrap().found.unwrap();
        let when = || Precondition::Matches { stamp, digest: Some(Digest::of(b"other")) };
        let (from, to) = (at(fence, "f"), at(fence, "long"));
        let changes = [write(fence, "long", when()), Mutation::Rename { from, to, when: when() }];
        for change in changes {
            let cancel = Cancel::new();
            let reads = Tries::to_read(&path);
            std::thread::scope(|scope| {
                let comparing = scope.spawn(|| fence.apply(change, &terms(&cancel)));
                reads.wait();
                cancel.cancel();
                let error = comparing.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled);
            });
            assert_eq!(path.metadata().unwrap().len(), LONG);
            assert_eq!(std::fs::read(stage.root().join("f")).unwrap(), b"other");
        }
    });
}
