//! Renames that have nothing to do, or that cannot be done: no name and no byte is lost by either.

use ringfence_platform::{
    Durability, Effect, ErrorKind, Fence, Follow, Mutation, Precondition, Receipt, Result, Terms,
};

use crate::act::beneath;
use crate::support::{Tree, dir, each_fence_on, file, hard, link};

fn apply(fence: &dyn Fence, mutation: Mutation) -> Result<Receipt> {
    fence.apply(mutation, &Terms { durability: Durability::None, ..Terms::default() })
}

fn rename(fence: &dyn Fence, from: &str, to: &str, when: Precondition) -> Result<Receipt> {
    let (from, to) = (beneath(fence, from).unwrap(), beneath(fence, to).unwrap());
    apply(fence, Mutation::Rename { from, to, when })
}

fn exchange(fence: &dyn Fence, first: &str, second: &str) -> Result<Receipt> {
    let (first, second) = (beneath(fence, first).unwrap(), beneath(fence, second).unwrap());
    apply(fence, Mutation::Exchange { first, second })
}

/// That what is at `path` now is still there.
fn unchanged(fence: &dyn Fence, path: &str) -> Precondition {
    let stat = fence.stat(&beneath(fence, path).unwrap(), Follow::No).unwrap();
    let (_, stamp) = stat.found.expect("something is there");
    Precondition::Matches { stamp, digest: None }
}

fn tree() -> Tree {
    let inside = [
        file("f", "data"),
        file("d/full/f", "more"),
        dir("empty"),
        link("l", "f"),
        link("dangling", "nowhere"),
        link("to-d", "d"),
        file("one", "twice"),
        hard("two", "ROOT/one"),
        hard("d/three", "ROOT/one"),
    ];
    Tree::inside(inside)
}

#[test]
fn an_entry_that_is_renamed_to_or_exchanged_with_itself_stays_as_it_is() {
    each_fence_on(&tree(), |stage, fence| {
        let before = stage.snapshot();
        // By another way to the same directory too.
        let pairs = ["f", "d", "d/full", "empty", "l", "dangling", "one"].map(|path| (path, path));
        for (from, to) in
            pairs.into_iter().chain([("d/full", "to-d/full"), ("to-d/three", "d/three")])
        {
            let renamed = rename(fence, from, to, Precondition::None).unwrap();
            assert_eq!(renamed.effect, Effect::Unchanged, "{from} to {to}");
            stage.assert_unchanged(&before);
            let exchanged = exchange(fence, from, to).unwrap();
            assert_eq!(exchanged.effect, Effect::Unchanged, "{from} with {to}");
            stage.assert_unchanged(&before);
            let error = rename(fence, from, to, Precondition::Absent).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{from} to {to}");
            stage.assert_unchanged(&before);
        }
    });
}

#[test]
fn a_file_that_is_renamed_to_itself_by_its_version_stays_as_it_is() {
    each_fence_on(&tree(), |stage, fence| {
        let before = stage.snapshot();
        for path in ["f", "d/full/f", "one"] {
            let renamed = rename(fence, path, path, unchanged(fence, path)).unwrap();
            assert_eq!(renamed.effect, Effect::Unchanged, "{path}");
            stage.assert_unchanged(&before);
            let other = unchanged(fence, "d/three");
            if path != "one" {
                let error = rename(fence, path, path, other).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Stale, "{path}");
                stage.assert_unchanged(&before);
            }
        }
        // A version is one of a regular file.
        for path in ["d", "empty", "l", "dangling"] {
            let error = rename(fence, path, path, unchanged(fence, path)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongKind, "{path}");
            stage.assert_unchanged(&before);
        }
    });
}

#[test]
fn two_names_of_one_file_both_stay() {
    each_fence_on(&tree(), |stage, fence| {
        let before = stage.snapshot();
        for (from, to) in [("one", "two"), ("two", "d/three"), ("d/three", "one")] {
            for when in [Precondition::None, unchanged(fence, to)] {
                let shown = format!("{from} to {to} {when:?}");
                let renamed = rename(fence, from, to, when).unwrap();
                assert_eq!(renamed.effect, Effect::Unchanged, "{shown}");
                stage.assert_unchanged(&before);
            }
            let error = rename(fence, from, to, Precondition::Absent).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{from} to {to}");
            stage.assert_unchanged(&before);
        }
        // A name more of something else is moved like any other.
        let renamed = rename(fence, "one", "f", unchanged(fence, "f")).unwrap();
        assert_eq!(renamed.effect, Effect::Renamed);
        assert!(!stage.root().join("one").exists());
        assert_eq!(std::fs::read(stage.root().join("f")).unwrap(), b"twice");
    });
}

#[test]
fn a_version_is_not_replaced_by_nothing_nor_by_a_directory() {
    each_fence_on(&tree(), |stage, fence| {
        let before = stage.snapshot();
        let refused = [
            ("missing", ErrorKind::NotFound),
            ("d/missing", ErrorKind::NotFound),
            ("empty", ErrorKind::WrongKind),
            ("d", ErrorKind::WrongKind),
        ];
        for (from, kind) in refused {
            for when in [unchanged(fence, "f"), Precondition::None] {
                let shown = format!("{from} {when:?}");
                assert_eq!(rename(fence, from, "f", when).unwrap_err().kind(), kind, "{shown}");
                stage.assert_unchanged(&before);
            }
        }
        let gone = rename(fence, "f", "missing", unchanged(fence, "f")).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::Stale);
        let onto_directory = rename(fence, "f", "d", unchanged(fence, "d")).unwrap_err();
        assert_eq!(onto_directory.kind(), ErrorKind::WrongKind);
        stage.assert_unchanged(&before);
    });
}

#[test]
fn a_directory_is_not_moved_into_itself() {
    each_fence_on(&tree(), |stage, fence| {
        let before = stage.snapshot();
        for to in ["d/new", "d/full/new", "to-d/new"] {
            for when in [Precondition::None, Precondition::Absent] {
                let error = rename(fence, "d", to, when).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io, "{to}: {error:?}");
                stage.assert_unchanged(&before);
            }
        }
        for (first, second) in [("d", "d/full"), ("d/full", "d"), ("d", "d/three")] {
            let error = exchange(fence, first, second).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{first} with {second}: {error:?}");
            stage.assert_unchanged(&before);
        }
        // The other way round it would have to replace what is above it.
        let error = rename(fence, "d/full", "d", Precondition::None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongKind, "{error:?}");
        stage.assert_unchanged(&before);
    });
}
