//! Whether a root is, or contains, a bind mount.
//!
//! Landlock looks for a rule from the entry upwards to the root of the mount it was opened through.
//! A directory below a mounted *part* of a file system can be moved away on the other side of the
//! mount, and is then still found beneath it: the kernel allows a change that is outside by now. A
//! mount of a whole file system has no other side.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::assurance::Gap;
use crate::dir::mount_id;
use crate::roots::{Root, Roots};

/// What the mounts at and beneath `roots` keep from being claimed. One that is made later is not
/// seen.
pub(super) fn gap(roots: &Roots) -> Option<Gap> {
    let table = std::fs::read("/proc/self/mountinfo").ok();
    let mounts = table.as_deref().and_then(parse);
    let bound: Option<Vec<_>> =
        mounts.and_then(|mounts| roots.iter().map(|root| around(root, &mounts)).collect());
    match bound {
        None => Some(Gap::MountsUnknown),
        Some(bound) => bound.contains(&true).then_some(Gap::BindRoot),
    }
}

/// Whether a part of a file system is mounted at or beneath `root`, if that can be told.
fn around(root: &Root, mounts: &[Mount<'_>]) -> Option<bool> {
    let id = mount_id(&root.dir, OsStr::new("")).ok()??;
    let own = mounts.iter().find(|mount| mount.id == id)?;
    let path = escaped(root.path());
    let beneath = mounts.iter().filter(|mount| Path::new(mount.point).starts_with(&path));
    Some(std::iter::once(own).chain(beneath).any(Mount::is_part))
}

/// A line of proc_pid_mountinfo(5).
#[derive(Debug)]
struct Mount<'t> {
    id: u64,
    /// Which directory of its file system is mounted.
    root: &'t OsStr,
    point: &'t OsStr,
}

impl Mount<'_> {
    fn is_part(&self) -> bool {
        self.root != "/"
    }
}

fn parse(table: &[u8]) -> Option<Vec<Mount<'_>>> {
    let lines = table.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let mut fields = line.split(|&byte| byte == b' ').map(OsStr::from_bytes);
            let id = fields.next()?.to_str()?.parse().ok()?;
            let mut paths = fields.skip(2);
            Some(Mount { id, root: paths.next()?, point: paths.next()? })
        })
        .collect()
}

/// The path as the table spells it.
fn escaped(path: &Path) -> PathBuf {
    let escape = |byte: &u8| match byte {
        b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
        plain => vec![*plain],
    };
    OsString::from_vec(path.as_os_str().as_bytes().iter().flat_map(escape).collect()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_table_is_read_and_paths_are_spelled_as_in_it() {
        let table = b"27 1 254:0 / / rw - ext4 /dev/vda rw\n\
            31 27 254:0 /home/u /work\\134x\\040y rw,relatime shared:1 - ext4 /dev/vda rw\n";
        let mounts = parse(table).unwrap();
        assert_eq!(mounts.iter().map(|m| m.id).collect::<Vec<_>>(), [27, 31]);
        assert_eq!(mounts.iter().map(Mount::is_part).collect::<Vec<_>>(), [false, true]);
        assert_eq!(mounts[1].point, escaped(Path::new("/work\\x y")));
    }

    #[test]
    fn a_table_that_is_not_understood_proves_nothing() {
        assert!(parse(b"what is this\n").is_none());
    }
}
