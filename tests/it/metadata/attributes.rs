//! Extended attributes, and other names of the same file.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ringfence_platform::Lost;
use rustix::fs::XattrFlags;
use rustix::io::Errno;

use super::{as_root, as_root_and_user, lost, mode_of, replacements, write};
use crate::support::{Base, Tree, each_fence_on, file, hard, is_root, say, this_test};

const CAPABILITY: &str = "security.capability";
/// `struct vfs_cap_data`, revision 2: `cap_net_bind_service` in the permitted set.
const NET_BIND: [u8; 20] = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn set(path: &Path, name: &str, value: &[u8]) -> Result<(), Errno> {
    rustix::fs::setxattr(path, name, value, XattrFlags::empty())
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4_096];
    let length = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

#[test]
fn a_replaced_file_keeps_its_attributes() {
    let test = this_test!();
    let long = vec![0xa5; 1_500];
    as_root_and_user(test, || {
        let base = Base::new();
        if let Err(error) = set(base.path(), "user.test", b"") {
            return say(format_args!("left out: {test}: no extended attributes: {error}"));
        }
        let mut attributes: Vec<(String, &[u8])> =
            vec![("user.a".to_owned(), b"value"), ("user.empty".to_owned(), b"")];
        // More names than fit into a small buffer.
        attributes.extend((0..20).map(|n| (format!("user.with.a.long.name.{n}"), &b"v"[..])));
        attributes.push(("user.long".to_owned(), &long));
        if is_root() {
            attributes.push(("trusted.t".to_owned(), b"for root only"));
        }
        each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
            let path = stage.root().join("f");
            for (name, value) in &attributes {
                set(&path, name, value).unwrap();
            }
            for when in replacements(fence, "f") {
                let receipt = write(fence, "f", when).unwrap();
                for (name, value) in &attributes {
                    assert_eq!(get(&path, name).as_deref(), Some(*value), "{name}");
                }
                assert_eq!(lost(&receipt), [""; 0]);
            }
        });
    });
}

#[test]
fn file_capabilities_are_dropped_as_a_write_drops_them_and_named() {
    as_root(this_test!(), || {
        each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
            let path = stage.root().join("f");
            for blind in [true, false] {
                set(&path, CAPABILITY, &NET_BIND).unwrap();
                let [matching, none] = replacements(fence, "f");
                let receipt = write(fence, "f", if blind { none } else { matching }).unwrap();
                assert_eq!(get(&path, CAPABILITY), None);
                assert_eq!(lost(&receipt), ["capability"]);
            }
        });
    });
}

#[test]
fn another_name_of_a_replaced_file_keeps_its_bytes_and_is_named() {
    as_root_and_user(this_test!(), || {
        let tree = Tree::inside([file("f", "old"), hard("g", "ROOT/f")]);
        each_fence_on(&tree, |stage, fence| {
            let path = stage.root().join("f");
            let others = [stage.root().join("g"), stage.base().join("outside")];
            std::fs::hard_link(&path, &others[1]).unwrap();
            let before = path.metadata().unwrap();
            let [matching, _] = replacements(fence, "f");
            let receipt = write(fence, "f", matching).unwrap();
            assert_eq!(lost(&receipt), ["hard_link"]);
            assert_eq!(receipt.not_kept.first(), Some(&Lost::HardLink(2)));
            for other in others {
                let after = other.metadata().unwrap();
                assert_eq!(std::fs::read(&other).unwrap(), b"old");
                assert_eq!((after.ino(), after.mtime()), (before.ino(), before.mtime()));
                assert_eq!(mode_of(&other), mode_of(&path));
            }
            assert_ne!(path.metadata().unwrap().ino(), before.ino());
            // By now it is one of one.
            let [_, blindly] = replacements(fence, "f");
            assert_eq!(lost(&write(fence, "f", blindly).unwrap()), [""; 0]);
        });
    });
}
