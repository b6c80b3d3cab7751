//! What is in the directory after a change, made or refused: the file, and nothing else.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::time::Instant;

use ringfence_platform::{
    Cancel, ErrorKind, Fence, Mutation, Parents, Precondition, Removal, Terms,
};
use rustix::mount::MountFlags;

use super::{at, is_whole, names_in, quick, read, whole, write};
use crate::effort::rounds;
use crate::support::{
    Effect, Stage, Tree, dir, each_fence, each_fence_on, file, this_test, with_own_mounts,
};

const OLD: &[u8] = b"old";
const NEW: &[u8] = b"new";

fn tree() -> Tree {
    Tree::inside([file("f", "old"), dir("d")])
}

#[track_caller]
fn refused(result: ringfence_platform::Result<ringfence_platform::Receipt>) -> ErrorKind {
    result.expect_err("the change is refused").kind()
}

#[test]
fn nothing_is_left_behind_by_a_change_that_is_made() {
    each_fence_on(&tree(), |stage, fence| {
        drop(write(fence, "f", NEW, Precondition::None).unwrap());
        drop(write(fence, "f", OLD, read(fence, "f").1).unwrap());
        drop(write(fence, "g", NEW, Precondition::Absent).unwrap());
        drop(write(fence, "h", NEW, Precondition::None).unwrap());
        let (from, to) = (at(fence, "h"), at(fence, "g"));
        let when = read(fence, "g").1;
        drop(fence.apply(Mutation::Rename { from, to, when }, &quick()).unwrap());
        assert_eq!(names_in(stage.root()), ["d", "f", "g"]);
    });
}

#[test]
fn nothing_is_left_behind_by_a_change_that_is_refused() {
    each_fence_on(&tree(), |stage, fence| {
        let stale = read(fence, "f").1;
        std::fs::write(stage.root().join("f"), OLD).unwrap();
        let before = stage.snapshot();
        assert_eq!(refused(write(fence, "f", NEW, stale.clone())), ErrorKind::Stale);
        assert_eq!(refused(write(fence, "none", NEW, stale)), ErrorKind::Stale);
        assert_eq!(refused(write(fence, "f", NEW, Precondition::Absent)), ErrorKind::AlreadyExists);
        assert_eq!(refused(write(fence, "d", NEW, Precondition::None)), ErrorKind::WrongKind);
        assert_eq!(refused(write(fence, "f/g", NEW, Precondition::None)), ErrorKind::WrongKind);
        stage.assert_unchanged(&before);
    });
}

/// The precondition holds when it is looked at and no longer when it counts.
#[test]
fn nothing_is_left_behind_by_one_that_loses_a_race() {
    each_fence_on(&Tree::inside([]), |stage, fence| {
        const NAMES: usize = 100;
        let wins = |contents: &[u8]| {
            let won = |name: &usize| match write(
                fence,
                &name.to_string(),
                contents,
                Precondition::Absent,
            ) {
                Ok(_) => true,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
                    false
                }
            };
            (0..NAMES).filter(won).count()
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| wins(OLD));
            assert_eq!(wins(NEW) + other.join().unwrap(), NAMES, "each name is won once");
        });
        let names = names_in(stage.root());
        assert_eq!(names.len(), NAMES, "{names:?}");
    });
}

#[test]
fn nothing_is_left_behind_on_a_full_disk() {
    with_own_mounts(this_test!(), || {
        let stage = Stage::new(&Tree::inside([]));
        let size = c"size=65536";
        rustix::mount::mount("tmpfs", stage.root(), "tmpfs", MountFlags::empty(), size).unwrap();
        each_fence(&stage.roots(), |fence| {
            drop(write(fence, "f", &whole(1_000), Precondition::None).unwrap());
            let before = stage.snapshot();
            let unchanged = read(fence, "f").1;
            let too_much = whole(200_000);
            for when in [Precondition::None, unchanged] {
                assert_eq!(refused(write(fence, "f", &too_much, when)), ErrorKind::NoSpace);
            }
            for when in [Precondition::None, Precondition::Absent] {
                assert_eq!(refused(write(fence, "g", &too_much, when)), ErrorKind::NoSpace);
            }
            // The scratch file came and went, which the directory's time shows.
            let passing = BTreeSet::from([Effect::Mtime(".".to_owned())]);
            let effects = before.effects(&stage.snapshot(), stage.root_in_base());
            assert!(effects.is_subset(&passing), "{effects:?}");
            assert!(is_whole(&read(fence, "f").0));
            // The space of what was refused is free again.
            drop(write(fence, "g", &whole(30_000), Precondition::Absent).unwrap());
            let path = at(fence, "g");
            let remove = Mutation::Remove { path, what: Removal::File };
            drop(fence.apply(remove, &quick()).unwrap());
        });
    });
}

/// By then it is no chance any more that one of the two outcomes is missing.
const MOST_ROUNDS: usize = 2_000;

#[test]
fn a_change_that_is_cancelled_in_the_middle_is_made_whole_or_not_at_all() {
    each_fence_on(&Tree::inside([file("f", "")]), |stage, fence| {
        std::fs::write(stage.root().join("f"), whole(1)).unwrap();
        let (mut made, mut cancelled, mut in_a_row) = (0, 0, 0);
        // How long the change is left alone. It goes up and down so that both outcomes are met.
        let mut patience = 0;
        // Each outcome is met sooner or later, however the threads are scheduled.
        for round in 0.. {
            if round >= rounds(200) && made > 0 && cancelled > 0 {
                break;
            }
            assert!(round < MOST_ROUNDS, "made {made}, cancelled {cancelled}");
            // One that is never caught gets more to do.
            let size = (15_000 + round) * (1 + in_a_row / 10);
            let (old, unchanged) = read(fence, "f");
            let when = if round % 2 == 0 { unchanged } else { Precondition::None };
            let result = cancel_after(fence, patience, whole(size), when);
            let (now, _) = read(fence, "f");
            match result {
                Ok(()) => {
                    assert_eq!(now, whole(size));
                    made += 1;
                    in_a_row += 1;
                    patience = patience * 3 / 4;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Cancelled);
                    assert_eq!(now, old);
                    cancelled += 1;
                    in_a_row = 0;
                    patience += 2_000;
                }
            }
            assert_eq!(names_in(stage.root()), ["f"]);
        }
    });
}

fn cancel_after(
    fence: &dyn Fence,
    nanoseconds: u128,
    contents: Vec<u8>,
    when: Precondition,
) -> Result<(), ringfence_platform::Error> {
    let terms = Terms { cancel: Cancel::new(), ..quick() };
    let ready = Barrier::new(2);
    std::thread::scope(|scope| {
        let cancel = terms.cancel.clone();
        let ready = &ready;
        scope.spawn(move || {
            ready.wait();
            let began = Instant::now();
            while began.elapsed().as_nanos() < nanoseconds {
                std::hint::spin_loop();
            }
            cancel.cancel();
        });
        let path = at(fence, "f");
        let write = Mutation::Write { path, contents, when, parents: Parents::Require };
        ready.wait();
        fence.apply(write, &terms).map(|_| ())
    })
}
