//! Access control lists: kept where they are, inherited only by what is new.

use std::path::Path;

use ringfence_platform::Precondition;
use rustix::fs::XattrFlags;
use rustix::io::Errno;

use super::{SOMEBODY, as_root_and_user, lost, mode_of, replacements, set_mode, write};
use crate::support::{Base, Tree, each_fence_on, file, say, this_test};

pub(super) const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// The value of the attribute, `struct posix_acl_xattr_header` and its entries.
fn acl(entries: &[(u16, u16, Option<u32>)]) -> Vec<u8> {
    const VERSION: u32 = 2;
    const NO_ID: u32 = u32::MAX;
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.unwrap_or(NO_ID).to_le_bytes());
    }
    bytes
}

/// Somebody may read and write, the group read, and others nothing.
fn for_somebody() -> Vec<u8> {
    list(SOMEBODY, 4, 0)
}

/// The owner and `user` may read and write; the group and others have these rights.
pub(super) fn list(user: u32, group: u16, others: u16) -> Vec<u8> {
    acl(&[
        (USER_OBJ, 6, None),
        (USER, 6, Some(user)),
        (GROUP_OBJ, group, None),
        (MASK, 6, None),
        (OTHER, others, None),
    ])
}

pub(super) fn set(path: &Path, name: &str, value: &[u8]) -> Result<(), Errno> {
    rustix::fs::setxattr(path, name, value, XattrFlags::empty())
}

/// The same for what is made in a directory. Who made it may also pass.
fn default_for_somebody() -> Vec<u8> {
    acl(&[
        (USER_OBJ, 7, None),
        (USER, 6, Some(SOMEBODY)),
        (GROUP_OBJ, 4, None),
        (MASK, 6, None),
        (OTHER, 0, None),
    ])
}

/// Has somebody read and write whatever is made in `dir` from now on.
pub(super) fn open_to_somebody(dir: &Path) -> Result<(), Errno> {
    set(dir, DEFAULT, &default_for_somebody())
}

pub(super) fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 1_024];
    match rustix::fs::getxattr(path, name, &mut value[..]) {
        Ok(length) => {
            value.truncate(length);
            Some(value)
        }
        Err(Errno::NODATA) => None,
        Err(error) => panic!("cannot read {name} of {}: {error}", path.display()),
    }
}

/// Runs `body` as root and as a user, where the file system has access control lists.
fn where_there_are_lists(test: &str, body: impl Fn()) {
    as_root_and_user(test, || {
        let base = Base::new();
        match open_to_somebody(base.path()) {
            Ok(()) => body(),
            Err(error) => say(format_args!("left out: {test}: no access control lists: {error}")),
        }
    });
}

#[test]
fn a_new_file_gets_what_open_would_give_it_beneath_a_default_list() {
    where_there_are_lists(this_test!(), || {
        each_fence_on(&Tree::inside([]), |stage, fence| {
            open_to_somebody(stage.root()).unwrap();
            std::fs::write(stage.root().join("reference"), "").unwrap();
            std::fs::create_dir(stage.root().join("reference.d")).unwrap();
            drop(write(fence, "f", Precondition::None).unwrap());
            drop(write(fence, "g", Precondition::Absent).unwrap());
            drop(write(fence, "p/h", Precondition::None).unwrap());
            let picture = |path: &str| {
                let path = stage.root().join(path);
                (mode_of(&path), get(&path, ACCESS), get(&path, DEFAULT))
            };
            for file in ["f", "g", "p/h"] {
                assert_eq!(picture(file), picture("reference"), "{file}");
            }
            assert_eq!(picture("p"), picture("reference.d"));
            assert_eq!(mode_of(&stage.root().join("f")), 0o660, "not what the umask leaves");
        });
    });
}

#[test]
fn a_replaced_file_keeps_its_list() {
    where_there_are_lists(this_test!(), || {
        each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
            let path = stage.root().join("f");
            set(&path, ACCESS, &for_somebody()).unwrap();
            for when in replacements(fence, "f") {
                let receipt = write(fence, "f", when).unwrap();
                assert_eq!(get(&path, ACCESS).unwrap(), for_somebody());
                assert_eq!(mode_of(&path), 0o660);
                assert_eq!(lost(&receipt), [""; 0]);
            }
        });
    });
}

#[test]
fn a_replaced_file_keeps_its_list_beneath_another_default_one() {
    let other = acl(&[
        (USER_OBJ, 7, None),
        (USER, 7, Some(SOMEBODY + 1)),
        (GROUP_OBJ, 7, None),
        (MASK, 7, None),
        (OTHER, 7, None),
    ]);
    where_there_are_lists(this_test!(), || {
        each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
            let path = stage.root().join("f");
            set(&path, ACCESS, &for_somebody()).unwrap();
            set(stage.root(), DEFAULT, &other).unwrap();
            for when in replacements(fence, "f") {
                let receipt = write(fence, "f", when).unwrap();
                assert_eq!(get(&path, ACCESS).unwrap(), for_somebody());
                assert_eq!((mode_of(&path), lost(&receipt)), (0o660, vec![]));
            }
        });
    });
}

#[test]
fn a_default_list_is_not_added_to_a_file_that_is_replaced() {
    where_there_are_lists(this_test!(), || {
        for mode in [0o644, 0o600, 0o664, 0o755] {
            each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
                let path = stage.root().join("f");
                set_mode(&path, mode);
                open_to_somebody(stage.root()).unwrap();
                for when in replacements(fence, "f") {
                    let receipt = write(fence, "f", when).unwrap();
                    assert_eq!(get(&path, ACCESS), None, "of a file with {mode:o}");
                    assert_eq!((mode_of(&path), lost(&receipt)), (mode, vec![]));
                }
            });
        }
    });
}
