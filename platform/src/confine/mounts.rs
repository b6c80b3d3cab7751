//! Whether a root is, or contains, a bind mount.
//!
//! Landlock looks for a rule from the entry upwards to the root of the mount it was opened through.
//! A directory below a mounted *part* of a file system can be moved away on the other side of the
//! mount, and is then still found beneath it: the kernel allows a change that is outside by now. A
//! mount of a whole file system has no other side.

use std::path::Path;

use crate::assurance::Gap;
use crate::dir::mount_id;
use crate::roots::{Root, Roots};

/// What the mounts at and beneath `roots` keep from being claimed. One that is made later is not
/// seen.
pub(super) fn gap(roots: &Roots) -> Option<Gap> {
    // A path that is no UTF-8, there or among the roots, is one that cannot be told.
    let table = std::fs::read_to_string("/proc/self/mountinfo").ok();
    let mounts: Option<Vec<_>> = table.as_ref().and_then(|t| t.lines().map(parse).collect());
    let bound: Option<Vec<_>> =
        mounts.and_then(|mounts| roots.iter().map(|root| around(root, &mounts)).collect());
    bound.map_or(Some(Gap::MountsUnknown), |found| found.contains(&true).then_some(Gap::BindRoot))
}

/// Whether a part of a file system is mounted at or beneath `root`, if that can be told.
fn around(root: &Root, mounts: &[Mount<'_>]) -> Option<bool> {
    let id = mount_id(&root.dir, "").ok()??;
    mounts.iter().find(|mount| mount.id == id)?;
    let path = escaped(root.path().to_str()?);
    let is_around = |m: &Mount<'_>| m.id == id || Path::new(m.point).starts_with(&path);
    Some(mounts.iter().any(|mount| mount.is_part && is_around(mount)))
}

/// A line of proc_pid_mountinfo(5).
#[derive(Debug)]
struct Mount<'t> {
    id: u64,
    /// Whether it is not the root directory of its file system that is mounted.
    is_part: bool,
    point: &'t str,
}

fn parse(line: &str) -> Option<Mount<'_>> {
    let mut fields = line.split(' ');
    let id = fields.next()?.parse().ok()?;
    Some(Mount { id, is_part: fields.nth(2)? != "/", point: fields.next()? })
}

/// The path as the table spells it.
fn escaped(path: &str) -> String {
    let path = path.replace('\\', "\\134").replace(' ', "\\040");
    path.replace('\t', "\\011").replace('\n', "\\012")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_table_is_read_and_paths_are_spelled_as_in_it() {
        let table = "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
            31 27 254:0 /home/u /work\\134x\\040y rw,relatime shared:1 - ext4 /dev/vda rw\n";
        let mounts: Vec<_> = table.lines().map(|line| parse(line).unwrap()).collect();
        assert_eq!(mounts.iter().map(|m| m.id).collect::<Vec<_>>(), [27, 31]);
        assert_eq!(mounts.iter().map(|m| m.is_part).collect::<Vec<_>>(), [false, true]);
        assert_eq!(mounts[1].point, escaped("/work\\x y"));
    }

    #[test]
    fn a_table_that_is_not_understood_proves_nothing() {
        assert!(parse("what is this").is_none());
        assert!(parse("27 1 254:0 /").is_none());
    }
}
