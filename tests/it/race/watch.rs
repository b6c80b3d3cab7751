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
        // A path that only one picture has is an entry; one that both have, a directory with it.
        let in_both = |path: &Path| self.0.contains_key(path) && after.0.contains_key(path);
        let (directories, entries): (Vec<&PathBuf>, Vec<&PathBuf>) =
            changed.iter().partition(|path| in_both(path));
        let in_itself = top(after) != Some(first)
            || entries.iter().any(|path| path.parent() == Some(Path::new("")));
        Some(Difference {
            in_flight: !in_itself && directories.len() <= 1 && entries.len() <= 1,
            paths: format!("{changed:?}"),
        })
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
