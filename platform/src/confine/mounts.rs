//! Whether a root is, or contains, a bind mount.
//!
//! Landlock looks for a rule from the entry upwards to the root of the mount it was opened through.
//! A directory below a mounted *part* of a file system can be moved away on the other side of the
//! mount, and is then still found beneath it: the kernel allows a change that is outside by now. A
//! mount of a whole file system has no other side.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::dir::mount_id;
use crate::roots::{Root, Roots};

/// What is mounted at or beneath the roots.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mounts {
    /// Whole file systems.
    Plain,
    /// A part of one.
    Bound,
    /// Nobody can tell.
    Unknown,
}

/// Looks at the mounts of this process now. One that is made later is not seen.
pub(super) fn beneath(roots: &Roots) -> Mounts {
    let Ok(table) = std::fs::read("/proc/self/mountinfo") else { return Mounts::Unknown };
    let Some(mounts) = parse(&table) else { return Mounts::Unknown };
    let mut worst = Mounts::Plain;
    for root in roots.iter() {
        match around(root, &mounts) {
            Some(false) => {}
            Some(true) => worst = Mounts::Bound,
            None => return Mounts::Unknown,
        }
    }
    worst
}

fn around(root: &Root, mounts: &[Mount]) -> Option<bool> {
    let id = mount_id(root.dir(), OsStr::new("")).ok()??;
    let own = mounts.iter().find(|mount| mount.id == id)?;
    let beneath = mounts.iter().filter(|mount| mount.point.starts_with(root.path()));
    Some(std::iter::once(own).chain(beneath).any(Mount::is_part))
}

/// A line of proc_pid_mountinfo(5).
#[derive(Debug)]
struct Mount {
    id: u64,
    /// Which directory of its file system is mounted.
    root: PathBuf,
    point: PathBuf,
}

impl Mount {
    fn is_part(&self) -> bool {
        self.root != Path::new("/")
    }
}

fn parse(table: &[u8]) -> Option<Vec<Mount>> {
    table
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| {
            let mut fields = line.split(|&byte| byte == b' ');
            let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
            let mut paths = fields.skip(2);
            Some(Mount { id, root: unescape(paths.next()?), point: unescape(paths.next()?) })
        })
        .collect()
}

/// Undoes `\040` and its like.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_table_is_read_with_its_escapes() {
        let table = b"27 1 254:0 / / rw - ext4 /dev/vda rw\n\
            31 27 254:0 /home/u/a\\040b /work\\134x\\040y rw,relatime shared:1 - ext4 /dev/vda rw\n";
        let mounts = parse(table).unwrap();
        assert_eq!(mounts.iter().map(|m| m.id).collect::<Vec<_>>(), [27, 31]);
        assert!(!mounts[0].is_part());
        assert!(mounts[1].is_part());
        assert_eq!(mounts[1].root, Path::new("/home/u/a b"));
        assert_eq!(mounts[1].point, Path::new("/work\\x y"));
    }

    #[test]
    fn a_table_that_is_not_understood_proves_nothing() {
        assert!(parse(b"what is this\n").is_none());
    }
}
