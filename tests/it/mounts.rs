//! A fence that was asked to cross no mount: what is on another is neither seen nor changed.

use std::fs;

use ringfence_platform::{
    Cancel, ErrorKind, Fence, Follow, Mutation, Options, Parents, Precondition, RelPath, Removal,
    RootedPath,
};
use rustix::mount::mount_bind;

use crate::act::beneath;
use crate::support::{
    Stage, Tree, dir, file, link, offered, open_fence_with, this_test, tmpfs, with_own_mounts,
};

/// The root with another mount in it and a file that is mounted by itself.
fn stage() -> Stage {
    let stage = Stage::with_mounts(&Tree::inside([
        file("f", "old"),
        file("d/f", "old"),
        file("bound", ""),
        tmpfs("mnt"),
        file("mnt/f", "old"),
        dir("mnt/d"),
        link("to-file", "mnt/f"),
        link("to-new", "mnt/new"),
        link("to-dir", "mnt"),
        link("d/to-bound", "../bound"),
    ]));
    mount_bind(stage.root().join("f"), stage.root().join("bound")).unwrap();
    stage
}

/// What is on another mount, or would be.
const BEYOND: [&str; 12] = [
    "mnt",
    "mnt/f",
    "mnt/d",
    "mnt/d/new",
    "mnt/new",
    "mnt/missing/new",
    "bound",
    "to-file",
    "to-new",
    "to-dir",
    "to-dir/f",
    "d/to-bound",
];

fn write(path: RootedPath) -> Mutation {
    let (contents, when, parents) = (b"new".to_vec(), Precondition::None, Parents::Create);
    Mutation::Write { path, contents, when, parents }
}

fn on_each_fence(options: Options, test: impl Fn(&Stage, &dyn Fence)) {
    for kind in offered() {
        let stage = stage();
        test(&stage, open_fence_with(&stage.roots(), options, *kind).as_ref());
    }
}

#[test]
fn what_is_on_another_mount_is_an_escape_to_every_call() {
    with_own_mounts(this_test!(), || {
        on_each_fence(Options { no_xdev: true, ..Options::default() }, |stage, fence| {
            let before = stage.snapshot();
            for name in BEYOND {
                let at = || beneath(fence, name).unwrap();
                let make = Mutation::CreateDir { path: at(), parents: Parents::Create };
                let seen = [
                    fence.stat(&at(), Follow::Yes).map(drop),
                    fence.open(&at()).map(drop),
                    fence.list(&at(), &Cancel::never()).map(drop),
                    fence.rehearse(&write(at())).map(drop),
                    fence.apply(write(at()), &Default::default()).map(drop),
                    fence.apply(make, &Default::default()).map(drop),
                ];
                let kinds = seen.map(|result| result.map_err(|error| error.kind()));
                assert_eq!(kinds, [Err(ErrorKind::Escape); 6], "{name}");
            }
            let at = |path| beneath(fence, path).unwrap();
            for change in [
                Mutation::Remove { path: at("mnt/f"), what: Removal::File },
                Mutation::Rename { from: at("mnt/f"), to: at("new"), when: Precondition::None },
                Mutation::Exchange { first: at("f"), second: at("mnt/f") },
            ] {
                let error = fence.apply(change, &Default::default()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Escape, "{error}");
            }
            stage.assert_unchanged(&before);
        });
    });
}

#[test]
fn a_listing_names_a_mount_and_does_not_look_at_it() {
    with_own_mounts(this_test!(), || {
        on_each_fence(Options { no_xdev: true, ..Options::default() }, |_, fence| {
            let root = fence.roots().iter().next().unwrap().id();
            let entries =
                fence.list(&RootedPath::new(root, RelPath::root()), &Cancel::never()).unwrap();
            let told = entries.iter().map(|e| (e.name.to_str().unwrap(), e.stamp.is_some()));
            assert_eq!(
                told.collect::<Vec<_>>(),
                [
                    ("bound", false),
                    ("d", true),
                    ("f", true),
                    ("mnt", false),
                    ("to-dir", true),
                    ("to-file", true),
                    ("to-new", true),
                ]
            );
        });
    });
}

#[test]
fn mounts_beneath_the_root_are_part_of_it_unless_that_was_asked_for() {
    with_own_mounts(this_test!(), || {
        on_each_fence(Options::default(), |stage, fence| {
            for name in ["mnt/f", "mnt/d/new", "mnt/missing/new", "to-new", "to-dir/f"] {
                let made = fence.apply(write(beneath(fence, name).unwrap()), &Default::default());
                drop(made.unwrap());
                assert_eq!(fs::read(stage.root().join(name)).unwrap(), b"new", "{name}");
            }
        });
    });
}

#[test]
fn what_is_on_the_mount_of_the_root_is_as_ever() {
    with_own_mounts(this_test!(), || {
        on_each_fence(Options { no_xdev: true, ..Options::default() }, |stage, fence| {
            for name in ["d/f", "new", "d/missing/new"] {
                let made = fence.apply(write(beneath(fence, name).unwrap()), &Default::default());
                drop(made.unwrap());
                assert_eq!(fs::read(stage.root().join(name)).unwrap(), b"new", "{name}");
            }
        });
    });
}
