//! Whoever holds the lock of a directory keeps changes of its entries waiting, and what is done
//! after the wait is decided after it.

use std::collections::BTreeMap;
use std::path::Path;

use ringfence_platform::{
    Cancel, Durability, Effect, ErrorKind, Fence, Follow, Mutation, Parents, Precondition, Receipt,
    Removal, Result, Terms,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::act::beneath;
use crate::cancel::{Tries, lock};
use crate::support::{Tree, dir, each_fence_on, file, link};

fn quick() -> Terms {
    Terms { durability: Durability::None, ..Terms::default() }
}

fn apply(fence: &dyn Fence, mutation: Mutation) -> Result<Receipt> {
    fence.apply(mutation, &quick())
}

fn write(fence: &dyn Fence, path: &str, when: Precondition) -> Mutation {
    let path = beneath(fence, path).unwrap();
    Mutation::Write { path, contents: b"new".to_vec(), when, parents: Parents::Require }
}

fn remove(fence: &dyn Fence, path: &str, what: Removal) -> Mutation {
    Mutation::Remove { path: beneath(fence, path).unwrap(), what }
}

fn rename(fence: &dyn Fence, from: &str, to: &str, when: Precondition) -> Mutation {
    let (from, to) = (beneath(fence, from).unwrap(), beneath(fence, to).unwrap());
    Mutation::Rename { from, to, when }
}

fn exchange(fence: &dyn Fence, first: &str, second: &str) -> Mutation {
    let (first, second) = (beneath(fence, first).unwrap(), beneath(fence, second).unwrap());
    Mutation::Exchange { first, second }
}

/// That what is at `path` now is still there.
fn unchanged(fence: &dyn Fence, path: &str) -> Precondition {
    let stat = fence.stat(&beneath(fence, path).unwrap(), Follow::No).unwrap();
    let (_, stamp) = stat.found.expect("something is there");
    Precondition::Matches { stamp, digest: None }
}

fn exchange_outside_of_the_fence(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The files in `dir`, with what is in them.
fn texts_in(dir: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(dir).unwrap().map(std::result::Result::unwrap);
    entries.map(|file| (file.file_name().into_string().unwrap(), text(&file.path()))).collect()
}

fn texts(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// A change of entries of `d`, and perhaps of `e`.
type Change = fn(&dyn Fence) -> Mutation;

/// Each kind of change of an entry, once in one directory.
const IN_ONE: &[Change] = &[
    |fence| write(fence, "d/new", Precondition::None),
    |fence| write(fence, "d/new", Precondition::Absent),
    |fence| write(fence, "d/f", Precondition::None),
    |fence| write(fence, "d/f", unchanged(fence, "d/f")),
    |fence| write(fence, "l", Precondition::None),
    |fence| remove(fence, "d/f", Removal::File),
    |fence| remove(fence, "d/empty", Removal::EmptyDir),
    |fence| remove(fence, "d/full", Removal::Tree),
    |fence| rename(fence, "d/f", "d/g", Precondition::None),
    |fence| rename(fence, "d/f", "d/new", Precondition::Absent),
    |fence| rename(fence, "d/f", "d/g", unchanged(fence, "d/g")),
    |fence| exchange(fence, "d/f", "d/full"),
];

/// And once from one to the other, each way.
const BETWEEN_TWO: &[Change] = &[
    |fence| rename(fence, "d/f", "e/f", Precondition::None),
    |fence| rename(fence, "e/f", "d/new", Precondition::Absent),
    |fence| rename(fence, "d/f", "e/f", unchanged(fence, "e/f")),
    |fence| exchange(fence, "d/f", "e/f"),
    |fence| exchange(fence, "e/f", "d/f"),
];

fn tree() -> Tree {
    let d = [file("d/f", "old"), file("d/g", "more"), dir("d/empty"), file("d/full/f", "data")];
    Tree::inside(d.into_iter().chain([file("e/f", "other"), link("l", "d/f")]))
}

/// None of `changes` is made while somebody holds `locked`, and each could be once nobody does.
fn each_waits_for(locked: &str, changes: &[Change]) {
    each_fence_on(&tree(), |stage, fence| {
        let place = stage.root().join(locked);
        let held = lock(&place);
        let before = stage.snapshot();
        for change in changes {
            let change = change(fence);
            let shown = format!("{change:?}");
            let cancel = Cancel::new();
            let terms = Terms { cancel: cancel.clone(), ..quick() };
            std::thread::scope(|scope| {
                let tries = Tries::at(&place);
                let waiting = scope.spawn(|| fence.apply(change, &terms));
                // It comes again, so it has not been made when it came first.
                tries.wait();
                tries.wait();
                cancel.cancel();
                let error = waiting.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{shown}");
            });
            stage.assert_unchanged(&before);
        }
        drop(held);
        let receipt = apply(fence, changes[0](fence)).unwrap();
        assert_ne!(receipt.effect, Effect::Unchanged);
    });
}

#[test]
fn every_change_of_an_entry_waits_for_the_lock_of_its_directory() {
    each_waits_for("d", IN_ONE);
}

#[test]
fn a_change_of_two_directories_waits_for_the_lock_of_each() {
    each_waits_for("d", BETWEEN_TWO);
    each_waits_for("e", BETWEEN_TWO);
}

#[test]
fn a_change_of_one_directory_does_not_wait_for_itself() {
    for change in IN_ONE {
        each_fence_on(&tree(), |_, fence| {
            let change = change(fence);
            let shown = format!("{change:?}");
            let receipt = apply(fence, change);
            assert_ne!(receipt.expect(&shown).effect, Effect::Unchanged, "{shown}");
        });
    }
}

/// A place is looked up again after a wait: another directory may have its name by then.
#[test]
fn what_is_done_after_a_wait_is_done_where_the_path_leads_by_then() {
    let changes: [(Change, &[(&str, &str)]); 5] = [
        (
            |fence| write(fence, "d/new", Precondition::None),
            &[("f", "f there"), ("g", "g there"), ("new", "new")],
        ),
        (|fence| write(fence, "d/f", Precondition::None), &[("f", "new"), ("g", "g there")]),
        (|fence| remove(fence, "d/f", Removal::File), &[("g", "g there")]),
        (
            |fence| rename(fence, "d/f", "d/new", Precondition::Absent),
            &[("g", "g there"), ("new", "f there")],
        ),
        (|fence| exchange(fence, "d/f", "d/g"), &[("f", "g there"), ("g", "f there")]),
    ];
    let tree = Tree::inside([
        file("d/f", "old"),
        file("d/g", "old"),
        file("e/f", "f there"),
        file("e/g", "g there"),
    ]);
    for (change, made) in changes {
        each_fence_on(&tree, |stage, fence| {
            let change = change(fence);
            let shown = format!("{change:?}");
            let (d, e) = (stage.root().join("d"), stage.root().join("e"));
            std::thread::scope(|scope| {
                let held = (lock(&d), lock(&e));
                let tries = Tries::at(&d);
                let waiting = scope.spawn(|| apply(fence, change));
                tries.wait();
                exchange_outside_of_the_fence(&d, &e);
                Tries::at(&d).wait();
                drop(held);
                drop(waiting.join().unwrap().unwrap());
            });
            assert_eq!(texts_in(&d), texts(made), "{shown}");
            // In the directory that had the name before nothing is done.
            assert_eq!(texts_in(&e), texts(&[("f", "old"), ("g", "old")]), "{shown}");
        });
    }
}

#[test]
fn a_version_that_is_replaced_during_a_wait_is_stale() {
    let changes: [Change; 2] = [
        |fence| write(fence, "d/f", unchanged(fence, "d/f")),
        |fence| rename(fence, "e/f", "d/f", unchanged(fence, "d/f")),
    ];
    for change in changes {
        each_fence_on(&tree(), |stage, fence| {
            let change = change(fence);
            let shown = format!("{change:?}");
            let place = stage.root().join("d");
            std::thread::scope(|scope| {
                let (held, tries) = (lock(&place), Tries::at(&place));
                let waiting = scope.spawn(|| apply(fence, change));
                tries.wait();
                std::fs::rename(place.join("g"), place.join("f")).unwrap();
                drop(held);
                let error = waiting.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Stale, "{shown}");
            });
            assert_eq!(text(&place.join("f")), "more", "{shown}");
            assert_eq!(text(&stage.root().join("e/f")), "other", "{shown}");
        });
    }
}

#[test]
fn what_comes_or_goes_during_a_wait_is_seen_after_it() {
    each_fence_on(&tree(), |stage, fence| {
        let place = stage.root().join("d");
        std::thread::scope(|scope| {
            let (held, tries) = (lock(&place), Tries::at(&place));
            let create = scope.spawn(|| apply(fence, write(fence, "d/new", Precondition::Absent)));
            tries.wait();
            std::fs::write(place.join("new"), "first").unwrap();
            drop(held);
            let error = create.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        });
        assert_eq!(text(&place.join("new")), "first");
        std::thread::scope(|scope| {
            let (held, tries) = (lock(&place), Tries::at(&place));
            let remove = scope.spawn(|| apply(fence, remove(fence, "d/f", Removal::File)));
            tries.wait();
            std::fs::rename(place.join("f"), place.join("elsewhere")).unwrap();
            drop(held);
            assert_eq!(remove.join().unwrap().unwrap_err().kind(), ErrorKind::NotFound);
        });
        assert_eq!(text(&place.join("elsewhere")), "old");
    });
}
