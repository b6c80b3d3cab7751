//! A path on its way through symlinks in its last place.
//!
//! The kernel, or the walk, follows links on the way. One in the last place is followed here, so
//! that a lock on the entry can be held while the link is looked at, and so that a new file is made
//! where a dangling link points.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Resolve, Scope};
use rustix::io::Errno;

use crate::dir::{Dir, Meta};
use crate::error::Fault;
use crate::path::{Name, PATH_MAX};
use crate::roots::Root;

/// Where the next attempt begins: the path that was asked for, or what the link there said.
#[derive(Debug)]
pub(crate) struct Trail {
    pub(crate) path: PathBuf,
    /// How many links have been followed. If any, the path is not the one that was asked for.
    pub(crate) links: usize,
}

/// The last component of a path, and what comes before it.
#[derive(Debug)]
pub(crate) struct Last<'p> {
    pub(crate) parent: &'p Path,
    pub(crate) leaf: Name,
    /// The path says by a slash that it must be a directory.
    pub(crate) slash: bool,
}

impl Trail {
    pub(crate) fn starting_at(path: PathBuf) -> Result<Self, Fault> {
        let fits = path.as_os_str().len() < PATH_MAX;
        Fault::found(Errno::NAMETOOLONG).unless(fits).map(|()| Self { path, links: 0 })
    }

    /// The name to act on. Nothing if the path is empty or ends in `.` or `..`: a directory that
    /// has no name here.
    pub(crate) fn last(&self) -> Option<Last<'_>> {
        let bytes = self.path.as_os_str().as_bytes();
        let end = bytes.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
        let trimmed = &bytes[..end];
        let (parent, leaf) = match trimmed.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&trimmed[..slash], &trimmed[slash + 1..]),
            None => (&trimmed[..0], trimmed),
        };
        let leaf = Name::new(OsStr::from_bytes(leaf))?;
        let slash = trimmed.len() < bytes.len();
        Some(Last { parent: Path::new(OsStr::from_bytes(parent)), leaf, slash })
    }

    /// Goes on where the symlink `name` in `dir`, seen as `link`, points.
    pub(crate) fn follow(
        &mut self,
        resolver: &dyn Resolve,
        root: &Root,
        dir: &Dir,
        name: &Name,
        link: &Meta,
    ) -> Result<(), Fault> {
        if self.links == 0 {
            resolver.count_links(root, &self.path)?;
        }
        self.links += 1;
        let rules = resolver.rules();
        rules.admit_link(dir, self.links)?;
        let is_admitted = rules.foreign_links || !is_foreign(&dir.meta()?, link);
        Fault::found(Errno::ACCESS).unless(is_admitted)?;
        // It is something else by now: the same path once more.
        let Some(text) = dir.read_link(name)? else { return Ok(()) };
        let last = self.last();
        let slash = last.as_ref().is_some_and(|last| last.slash);
        Fault::found(Errno::XDEV).unless(text.is_relative() || rules.scope == Scope::Ambient)?;
        let mut next = last.map_or(text.clone(), |last| last.parent.join(&text));
        if slash {
            next.as_mut_os_string().push("/");
        }
        self.path = Self::starting_at(next)?.path;
        Ok(())
    }
}

/// A link that somebody else may have left as a trap, `may_follow_link()` in the kernel.
fn is_foreign(dir: &Meta, link: &Meta) -> bool {
    const STICKY_AND_OPEN: u32 = 0o1002;
    dir.mode & STICKY_AND_OPEN == STICKY_AND_OPEN
        && link.uid != rustix::process::geteuid().as_raw()
        && link.uid != dir.uid
}
