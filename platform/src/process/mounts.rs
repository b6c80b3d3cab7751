//! What is mounted where for a command, looked up anew for each.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::command::Restrictions;
use crate::dir::{Dir, Hold, place};
use crate::error::Fault;
use crate::path::{Name, RootedPath};
use crate::roots::{Root, Roots};
use crate::stat::{FileId, Kind};

/// The most that is bound. bubblewrap takes a time that grows with the square: seconds for these.
const MOST: usize = 1_000;

/// What every command has of its own: safe devices, empty shared memory, its own processes. In
/// `/dev` nothing can be made, so that what is written there does not vanish unseen.
const OWN: [&str; 8] =
    ["--dev", "/dev", "--tmpfs", "/dev/shm", "--remount-ro", "/dev", "--proc", "/proc"];

/// Root owns the settings of the kernel, and needs no capability to write them.
const SETTINGS: [&str; 2] = ["--remount-ro", "/proc"];

/// The mounts of a command: everything read-only, but beneath the roots, and there what is protected
/// read-only again.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    /// As bubblewrap is told of them.
    words: Vec<OsString>,
    /// What has to be at each path.
    pinned: Vec<(PathBuf, FileId)>,
}

impl Mounts {
    /// Those that hold a command to `restrictions`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Unsupported`] if mounts cannot hold it: a protected path leads over a
    /// symlink, or there are too many. As lookups fail.
    pub(super) fn of(restrictions: &Restrictions) -> io::Result<Self> {
        let mut mounts = Self::default();
        let roots = restrictions.roots.iter().flat_map(Roots::iter);
        let roots: Vec<_> =
            roots.map(|root| Ok((place_of(&root.dir)?, root))).collect::<io::Result<_>>()?;
        let is_whole = |(at, _): &(PathBuf, &Root)| at == Path::new("/");
        let everything = if roots.iter().any(is_whole) { "--bind" } else { "--ro-bind" };
        mounts.bind(everything, Path::new("/"));
        mounts.words.extend(OWN.map(OsString::from));
        if geteuid().is_root() {
            mounts.words.extend(SETTINGS.map(OsString::from));
        }
        for (at, root) in &roots {
            if at != Path::new("/") {
                mounts.bind("--bind", at);
            }
            mounts.pinned.push((at.clone(), root.id));
        }
        mounts.protect(&roots, restrictions.protected())?;
        if mounts.pinned.len() > MOST {
            return Err(lacks(format!("more than {MOST} directories and files to be bound")));
        }
        Ok(mounts)
    }

    /// As bubblewrap is told of them.
    pub(super) fn words(&self) -> impl Iterator<Item = OsString> + '_ {
        self.words.iter().cloned()
    }

    /// What has to be at each path, once all is mounted.
    pub(super) fn pinned(&self) -> &[(PathBuf, FileId)] {
        &self.pinned
    }

    fn bind(&mut self, how: &str, at: &Path) {
        self.words.extend([how.into(), at.into(), at.into()]);
    }

    /// Binds each protected path that exists, and what lies above it beneath its root: a mount point
    /// cannot be renamed, so neither can be moved away.
    fn protect(&mut self, roots: &[(PathBuf, &Root)], protected: &[RootedPath]) -> io::Result<()> {
        let (mut above, mut held) = (BTreeMap::new(), Vec::new());
        for (at, root) in roots {
            let own = protected.iter().filter(|place| place.root == root.id());
            for path in outermost(own.map(|place| place.path.as_path())) {
                let Some(mut steps) = steps(root, at, path)? else { continue };
                held.extend(steps.pop());
                above.extend(steps.into_iter().skip(1));
            }
        }
        // Sorted, so that what lies above is bound first.
        for (how, places) in [("--bind", above.into_iter().collect()), ("--ro-bind", held)] {
            for (at, id) in places {
                self.bind(how, &at);
                self.pinned.push((at, id));
            }
        }
        Ok(())
    }
}

/// Those that lie beneath no other.
fn outermost<'a>(protected: impl Iterator<Item = &'a Path>) -> Vec<&'a Path> {
    let mut sorted: Vec<_> = protected.collect();
    sorted.sort_unstable();
    let mut outermost: Vec<&Path> = Vec::new();
    for path in sorted {
        if !outermost.last().is_some_and(|last| path.starts_with(last)) {
            outermost.push(path);
        }
    }
    outermost
}

/// The root, which is `at`, and each step from there to `path`; nothing if that is missing.
fn steps(root: &Root, at: &Path, path: &Path) -> io::Result<Option<Vec<(PathBuf, FileId)>>> {
    let mut steps = vec![(at.to_owned(), root.id)];
    let mut dir: Option<Dir> = None;
    let mut at = at.to_owned();
    let failed = |fault: Fault| io::Error::other(fault.at("protect", path));
    let mut names = path.iter().filter_map(Name::new).peekable();
    while let Some(name) = names.next() {
        let Some(found) = dir.as_ref().unwrap_or(&root.dir).look(&name).map_err(failed)? else {
            return Ok(None);
        };
        if found.kind == Kind::Symlink {
            let path = path.display();
            return Err(lacks(format!("a protected path leads over a symbolic link: {path}")));
        }
        at.push(name.as_os_str());
        steps.push((at.clone(), found.id()));
        if names.peek().is_some() {
            if found.kind != Kind::Dir {
                return Ok(None);
            }
            let next = dir.as_ref().unwrap_or(&root.dir).enter(&name, Hold::Place);
            dir = Some(next.map_err(failed)?);
        }
    }
    Ok(Some(steps))
}

/// Where a directory is by now.
pub(super) fn place_of(dir: impl AsFd) -> io::Result<PathBuf> {
    place(dir).ok_or_else(|| lacks("where a directory is cannot be told".to_owned()))
}

fn lacks(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}
