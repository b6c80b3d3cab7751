//! What the caller's own rights refuse stays refused.

use ringfence_platform::{ErrorKind, LinkText, Mutation, Parents, Precondition, Removal};
use rustix::mount::MountFlags;

use super::{apply, as_root, at, mode_of, replacements, set_mode, write};
use crate::support::{
    Stage, Tree, as_user, dir, each_fence, each_fence_on, file, this_test, with_own_mounts,
};

#[test]
fn a_file_that_its_owner_may_not_write_is_not_replaced() {
    as_user(this_test!(), || {
        for mode in [0o444, 0o400, 0o466] {
            each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
                set_mode(&stage.root().join("f"), mode);
                let before = stage.snapshot();
                for when in replacements(fence, "f") {
                    assert_eq!(write(fence, "f", when).unwrap_err().kind(), ErrorKind::Denied);
                    stage.assert_unchanged(&before);
                }
            });
        }
    });
}

#[test]
fn root_may_replace_it_and_it_stays_closed() {
    as_root(this_test!(), || {
        each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
            set_mode(&stage.root().join("f"), 0o444);
            for when in replacements(fence, "f") {
                drop(write(fence, "f", when).unwrap());
                assert_eq!(mode_of(&stage.root().join("f")), 0o444);
            }
        });
    });
}

/// Every change that there is, in the directory `d`.
fn changes(fence: &dyn ringfence_platform::Fence) -> Vec<Mutation> {
    let at = |path| at(fence, path);
    let contents = || super::NEW.to_vec();
    let (parents, create) = (Parents::Require, Parents::Create);
    let mut all = vec![
        Mutation::CreateDir { path: at("d/new"), parents },
        Mutation::CreateDir { path: at("d/new/a"), parents: create },
        Mutation::Symlink { path: at("d/new"), text: LinkText::new("f").unwrap() },
        Mutation::Exchange { first: at("d/f"), second: at("f") },
        Mutation::Remove { path: at("d/f"), what: Removal::File },
        Mutation::Remove { path: at("d/f"), what: Removal::Tree },
        Mutation::Remove { path: at("d/e"), what: Removal::EmptyDir },
        Mutation::Remove { path: at("d/e"), what: Removal::Tree },
    ];
    for when in [Precondition::None, Precondition::Absent] {
        let (path, contents) = (at("d/new"), contents());
        all.push(Mutation::Write { path, contents, when: when.clone(), parents });
        all.push(Mutation::Rename { from: at("f"), to: at("d/new"), when: when.clone() });
        all.push(Mutation::Rename { from: at("d/f"), to: at("new"), when });
    }
    for when in replacements(fence, "d/f") {
        let (path, contents) = (at("d/f"), contents());
        all.push(Mutation::Write { path, contents, when: when.clone(), parents });
        all.push(Mutation::Rename { from: at("f"), to: at("d/f"), when });
    }
    all
}

fn tree() -> Tree {
    Tree::inside([file("d/f", "old"), dir("d/e"), file("f", "old")])
}

#[test]
fn nothing_changes_in_a_directory_that_the_caller_may_not_write() {
    as_user(this_test!(), || {
        each_fence_on(&tree(), |stage, fence| {
            set_mode(&stage.root().join("d"), 0o555);
            let before = stage.snapshot();
            for change in changes(fence) {
                let shown = format!("{change:?}");
                assert_eq!(apply(fence, change).unwrap_err().kind(), ErrorKind::Denied, "{shown}");
                stage.assert_unchanged(&before);
            }
        });
    });
}

#[test]
fn nothing_changes_on_a_read_only_mount() {
    with_own_mounts(this_test!(), || {
        let stage = Stage::new(&Tree::inside([dir("d")]));
        let place = stage.root();
        rustix::mount::mount("tmpfs", place, "tmpfs", MountFlags::empty(), None).unwrap();
        std::fs::create_dir_all(place.join("d/e")).unwrap();
        std::fs::write(place.join("d/f"), "old").unwrap();
        std::fs::write(place.join("f"), "old").unwrap();
        rustix::mount::mount_remount(place, MountFlags::RDONLY, "").unwrap();
        let before = stage.snapshot();
        each_fence(&stage.roots(), |fence| {
            for change in changes(fence) {
                let shown = format!("{change:?}");
                assert_eq!(apply(fence, change).unwrap_err().kind(), ErrorKind::Denied, "{shown}");
                stage.assert_unchanged(&before);
            }
        });
    });
}
