//! Whether something changes in a directory while its holder has it outside.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};

use crate::support::open_dir;

/// When the entries of a directory last changed.
pub(super) fn last_change(dir: impl AsFd) -> Moment {
    let stat = rustix::fs::fstat(dir).unwrap();
    (stat.st_mtime, stat.st_mtime_nsec)
}

type Moment = (i64, u64);

pub(super) fn is_scratch(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".ringfence-")
}

/// Which entries a directory has, down to the last.
///
/// What is written into a file is not in it: a scratch file may be written to the end by who has it
/// open, wherever the directory is by then.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Picture(BTreeMap<PathBuf, Node>);

/// What changed in a directory while it was outside.
#[derive(Debug)]
pub(super) struct Difference {
    /// Whether it may have been one call that was under way.
    ///
    /// The kernel judges a call once, by where its directory is then, and keeps that directory
    /// where it is until the call is done; but not the directories above. So when one of those is
    /// moved out, a single call further down that had been allowed still ends.
    pub(super) in_flight: bool,
    pub(super) paths: String,
}

#[derive(Debug, Eq, PartialEq)]
struct Node {
    inode: u64,
    /// When the entries of a directory last changed: also what came and went shows.
    changed: Option<Moment>,
}

impl Picture {
    pub(super) fn take(dir: &OwnedFd) -> Self {
        let mut nodes = BTreeMap::new();
        look_into(dir, Path::new(""), &mut nodes);
        Self(nodes)
    }

    /// What changed since this picture, of which `first` is what it began with.
    pub(super) fn difference(&self, first: Moment, after: &Self) -> Option<Difference> {
        let top = |picture: &Self| picture.0[Path::new("")].changed;
        let paths: BTreeSet<_> = self.0.keys().chain(after.0.keys()).collect();
        let changed: Vec<_> =
            paths.into_iter().filter(|path| self.0.get(*path) != after.0.get(*path)).collect();
        if changed.is_empty() && top(after) == Some(first) {
            return None;
        }
        let in_itself = top(after) != Some(first)
            || changed.iter().any(|path| {
                path.parent() == Some(Path::new("")) && self.inode(path) != after.inode(path)
            });
        let in_flight = !in_itself && self.is_one_call_from(after, &changed);
        Some(Difference { in_flight, paths: format!("{changed:?}") })
    }

    /// Whether a single call can have made `after` of this: one entry made or removed, one renamed,
    /// perhaps over another, or two exchanged, and all of it in one directory.
    fn is_one_call_from(&self, after: &Self, changed: &[&PathBuf]) -> bool {
        let (mut directories, mut made, mut gone, mut replaced) = (0, vec![], vec![], vec![]);
        for path in changed {
            match (self.inode(path), after.inode(path)) {
                (None, Some(new)) => made.push(new),
                (Some(old), None) => gone.push(old),
                (Some(old), Some(new)) if old != new => replaced.push((old, new)),
                _ => directories += 1,
            }
        }
        let one = match (&made[..], &gone[..], &replaced[..]) {
            ([], [], []) | ([_], [], []) | ([], [_], []) => true,
            ([new], [old], []) | ([], [old], [(_, new)]) => old == new,
            ([], [], [a, b]) => (a.0, a.1) == (b.1, b.0),
            _ => false,
        };
        one && directories <= 1
    }

    fn inode(&self, path: &Path) -> Option<u64> {
        self.0.get(path).map(|node| node.inode)
    }

    /// The names in the directory itself.
    pub(super) fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.keys().filter(|path| path.components().count() == 1).map(|path| path.as_os_str())
    }
}

fn look_into(dir: &OwnedFd, path: &Path, nodes: &mut BTreeMap<PathBuf, Node>) {
    let stat = rustix::fs::fstat(dir).unwrap();
    let changed = Some((stat.st_mtime, stat.st_mtime_nsec));
    nodes.insert(path.to_owned(), Node { inode: stat.st_ino, changed });
    // It may be removed while it is looked at.
    let Ok(entries) = rustix::fs::Dir::read_from(dir) else { return };
    for entry in entries.map_while(Result::ok) {
        let name = OsString::from(OsStr::from_bytes(entry.file_name().to_bytes()));
        if name == "." || name == ".." {
            continue;
        }
        let inner = path.join(&name);
        if entry.file_type() == FileType::Directory
            && let Ok(down) = open_dir(dir, &name)
        {
            look_into(&down, &inner, nodes);
        } else if let Ok(stat) = rustix::fs::statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
            nodes.insert(inner, Node { inode: stat.st_ino, changed: None });
        }
    }
}

#[test]
fn each_kind_of_change_is_seen() {
    let base = crate::support::Base::new();
    let dir = open_dir(rustix::fs::CWD, base.path()).unwrap();
    std::fs::create_dir_all(base.path().join("d/e")).unwrap();
    std::fs::write(base.path().join("d/f"), "f").unwrap();
    let seen = |change: &dyn Fn(&Path)| {
        let (moment, before) = (last_change(&dir), Picture::take(&dir));
        change(base.path());
        before.difference(moment, &Picture::take(&dir))
    };
    assert!(seen(&|_| {}).is_none());
    let by_one_call = |difference: Option<Difference>| difference.unwrap().in_flight;
    assert!(!by_one_call(seen(&|base| std::fs::write(base.join("new"), "").unwrap())));
    assert!(by_one_call(seen(&|base| std::fs::create_dir(base.join("d/e/g")).unwrap())));
    assert!(by_one_call(seen(&|base| std::fs::write(base.join("d/e/h"), "").unwrap())));
    assert!(by_one_call(seen(&|base| std::fs::remove_file(base.join("d/f")).unwrap())));
    assert!(!by_one_call(seen(&|base| std::fs::remove_dir_all(base.join("d/e")).unwrap())));
    assert!(!by_one_call(seen(
        &|base| std::fs::rename(base.join("new"), base.join("d/f")).unwrap()
    )));
    let began = std::time::Instant::now();
    // Again and again, since the file system's clock may be a coarse one.
    let (moment, before) = (last_change(&dir), Picture::take(&dir));
    while before.difference(moment, &Picture::take(&dir)).is_none() {
        assert!(began.elapsed().as_secs() < 5, "what came and went is not seen");
        std::fs::write(base.path().join("x"), "").unwrap();
        std::fs::remove_file(base.path().join("x")).unwrap();
    }
}
