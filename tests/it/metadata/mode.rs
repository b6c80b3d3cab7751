//! Permission bits.

use std::os::unix::fs::MetadataExt;

use ringfence_platform::{Mutation, Parents, Precondition};
use rustix::process::umask;

use super::{SOME_GROUP, apply, as_root, as_root_and_user, at, lost, mode_of, replacements};
use super::{set_mode, write};
use crate::support::{Tree, as_user, dir, each_fence_on, file, in_own_process, this_test};

fn with_umask(mask: u32, body: impl FnOnce()) {
    let before = umask(rustix::fs::Mode::from_raw_mode(mask));
    body();
    umask(before);
}

#[test]
fn a_replaced_file_keeps_its_permission_bits_and_the_sticky_one() {
    // The mask is the process's, and other tests run in it.
    let test = this_test!();
    in_own_process(test, || {
        as_root_and_user(test, || {
            for mask in [0o022, 0o077] {
                with_umask(mask, keep_modes);
            }
        });
    });
}

fn keep_modes() {
    for mode in [0o644, 0o600, 0o755, 0o640, 0o664, 0o666, 0o604, 0o1644] {
        each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
            let path = stage.root().join("f");
            set_mode(&path, mode);
            for when in replacements(fence, "f") {
                let receipt = write(fence, "f", when).unwrap();
                assert_eq!(mode_of(&path), mode, "of a file with {mode:o}");
                assert_eq!(lost(&receipt), [""; 0]);
            }
        });
    }
}

#[test]
fn a_new_file_and_a_new_directory_get_what_the_umask_leaves() {
    in_own_process(this_test!(), || {
        for mask in [0, 0o002, 0o022, 0o027, 0o077] {
            with_umask(mask, || {
                each_fence_on(&Tree::inside([]), |stage, fence| {
                    drop(write(fence, "p/f", Precondition::Absent).unwrap());
                    drop(write(fence, "g", Precondition::None).unwrap());
                    let path = at(fence, "q/r");
                    let make = Mutation::CreateDir { path, parents: Parents::Create };
                    drop(apply(fence, make).unwrap());
                    for file in ["p/f", "g"] {
                        assert_eq!(mode_of(&stage.root().join(file)), 0o666 & !mask, "{file}");
                    }
                    for dir in ["p", "q", "q/r"] {
                        assert_eq!(mode_of(&stage.root().join(dir)), 0o777 & !mask, "{dir}");
                    }
                });
            });
        }
    });
}

#[test]
fn what_is_made_in_a_setgid_directory_gets_its_group() {
    let test = this_test!();
    in_own_process(test, || as_root(test, || with_umask(0o022, in_a_setgid_directory)));
}

fn in_a_setgid_directory() {
    each_fence_on(&Tree::inside([dir("d"), file("d/old", "old")]), |stage, fence| {
        let place = stage.root().join("d");
        std::os::unix::fs::chown(&place, None, Some(SOME_GROUP)).unwrap();
        set_mode(&place, 0o2775);
        drop(write(fence, "d/f", Precondition::Absent).unwrap());
        drop(write(fence, "d/e/f", Precondition::None).unwrap());
        let group = |path: &str| stage.root().join(path).metadata().unwrap().gid();
        for path in ["d/f", "d/e", "d/e/f"] {
            assert_eq!(group(path), SOME_GROUP, "{path}");
        }
        assert_eq!(mode_of(&stage.root().join("d/e")), 0o2755, "as mkdir(2) makes it");
        // One that is replaced keeps the group it has.
        for when in replacements(fence, "d/old") {
            let receipt = write(fence, "d/old", when).unwrap();
            assert_eq!((group("d/old"), lost(&receipt)), (0, vec![]));
        }
    });
}

#[test]
fn setuid_and_setgid_are_dropped_as_a_write_drops_them_and_named() {
    // The last is no privilege, and the kernel keeps it too: setgid without the right to execute.
    let cases = [
        (0o4755, 0o755, vec!["setid"]),
        (0o4644, 0o644, vec!["setid"]),
        (0o2755, 0o755, vec!["setid"]),
        (0o6775, 0o775, vec!["setid"]),
        (0o2644, 0o2644, vec![]),
    ];
    as_root_and_user(this_test!(), || {
        for (before, after, named) in &cases {
            each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
                let path = stage.root().join("f");
                for blind in [true, false] {
                    set_mode(&path, *before);
                    let [matching, none] = replacements(fence, "f");
                    let receipt = write(fence, "f", if blind { none } else { matching }).unwrap();
                    assert_eq!(mode_of(&path), *after, "of a file with {before:o}");
                    assert_eq!(lost(&receipt), *named, "of a file with {before:o}");
                }
            });
        }
    });
}

#[test]
fn a_file_that_may_be_written_and_not_read_is_replaced_and_stays_so() {
    as_user(this_test!(), || {
        each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
            let path = stage.root().join("f");
            set_mode(&path, 0o200);
            let receipt = write(fence, "f", Precondition::None).unwrap();
            assert_eq!((mode_of(&path), lost(&receipt)), (0o200, vec![]));
            set_mode(&path, 0o600);
            assert!(std::fs::read(&path).unwrap().starts_with(super::NEW));
        });
    });
}
