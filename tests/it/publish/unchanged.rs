//! Bytes that are there already are not written, and that hides no refusal.

use std::os::unix::fs::MetadataExt;

use ringfence_platform::{Effect, ErrorKind, Precondition};

use super::{read, write};
use crate::support::{Tree, as_user, each_fence_on, file, this_test};

/// More than is compared at a time.
const LONG: usize = 200_000;

#[test]
fn what_has_these_bytes_already_keeps_its_inode_and_times() {
    let long = "x".repeat(LONG);
    each_fence_on(&Tree::inside([file("f", "same"), file("long", &long)]), |stage, fence| {
        for (path, contents) in [("f", "same"), ("long", &long)] {
            let of = || stage.root().join(path).metadata().unwrap();
            let before = (of().ino(), of().mtime_nsec(), of().ctime_nsec(), of().mtime());
            let (_, version) = read(fence, path);
            for when in [Precondition::None, version] {
                let receipt = write(fence, path, contents.as_bytes(), when).unwrap();
                assert_eq!(receipt.effect, Effect::Unchanged);
                let after = (of().ino(), of().mtime_nsec(), of().ctime_nsec(), of().mtime());
                assert_eq!(after, before);
            }
        }
    });
}

#[test]
fn one_byte_more_less_or_other_is_written() {
    let long = "x".repeat(LONG);
    each_fence_on(&Tree::inside([file("f", &long)]), |_, fence| {
        for other in [
            format!("{long}y"),
            long.clone(),
            format!("{}y", &long[1..]),
            format!("y{}", &long[1..]),
            String::new(),
        ] {
            let receipt = write(fence, "f", other.as_bytes(), Precondition::None).unwrap();
            assert_eq!(receipt.effect, Effect::Replaced);
            assert_eq!(read(fence, "f").0, other.as_bytes());
        }
    });
}

#[test]
fn a_refusal_does_not_depend_on_the_bytes() {
    as_user(this_test!(), || {
        each_fence_on(&Tree::inside([file("f", "same")]), |stage, fence| {
            let kind = |when| write(fence, "f", b"same", when).unwrap_err().kind();
            assert_eq!(kind(Precondition::Absent), ErrorKind::AlreadyExists);
            let (_, old) = read(fence, "f");
            drop(write(fence, "f", b"other", Precondition::None).unwrap());
            drop(write(fence, "f", b"same", Precondition::None).unwrap());
            assert_eq!(kind(old), ErrorKind::Stale);
            let mut permissions = stage.root().join("f").metadata().unwrap().permissions();
            permissions.set_readonly(true);
            std::fs::set_permissions(stage.root().join("f"), permissions).unwrap();
            assert_eq!(kind(Precondition::None), ErrorKind::Denied);
        });
    });
}
