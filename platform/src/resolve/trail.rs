//! A path on its way through symlinks in its last place.
//!
//! The kernel, or the walk, follows links on the way. One in the last place is followed here, so
//! that a lock on the entry can be held while the link is looked at, and so that a new file is made
//! where a dangling link points.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{ForeignLinks, Resolve, Rules, Scope};
use crate::dir::{Dir, Meta};
use crate::error::{ErrorKind, Fault};
use crate::path::{Name, PATH_MAX};
use crate::roots::Root;

/// As many as the kernel follows in one path, path_resolution(7).
pub(crate) const MOST_LINKS: usize = 40;

/// Where the next attempt begins: the path that was asked for, or what the link there said.
#[derive(Debug)]
pub(crate) struct Trail {
    path: PathBuf,
    links: usize,
}

/// The last component of a path, and what comes before it.
#[derive(Debug)]
pub(crate) enum Last<'p> {
    /// A name to act on. `slash` if the path says that it must be a directory.
    Name { parent: &'p Path, leaf: Name, slash: bool },
    /// The path ends in `.` or `..`, or is empty: a directory that has no name here.
    Dir,
}

impl Trail {
    pub(crate) fn starting_at(path: PathBuf) -> Result<Self, Fault> {
        if path.as_os_str().len() >= PATH_MAX {
            return Err(Fault::new(ErrorKind::NameTooLong));
        }
        Ok(Self { path, links: 0 })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How many links have been followed. If any, the path is not the one that was asked for.
    pub(crate) fn links(&self) -> usize {
        self.links
    }

    pub(crate) fn last(&self) -> Last<'_> {
        let bytes = self.path.as_os_str().as_bytes();
        let trimmed = without_end_slashes(bytes);
        let (parent, leaf) = match trimmed.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&trimmed[..slash], &trimmed[slash + 1..]),
            None => (&trimmed[..0], trimmed),
        };
        match Name::new(OsStr::from_bytes(leaf)) {
            Some(leaf) => Last::Name {
                parent: Path::new(OsStr::from_bytes(parent)),
                leaf,
                slash: trimmed.len() < bytes.len(),
            },
            None => Last::Dir,
        }
    }

    /// Goes on where the symlink `name` in `dir`, seen as `link`, points.
    pub(crate) fn follow(
        &mut self,
        resolver: &impl Resolve,
        root: &Root,
        dir: &Dir,
        name: &Name,
        link: &Meta,
    ) -> Result<(), Fault> {
        if self.links == 0 {
            resolver.count_links(root, &self.path)?;
        }
        self.links += 1;
        let Rules { scope, foreign_links, .. } = resolver.rules();
        let magic = scope != Scope::ByText && dir.has_magic_links()?;
        if self.links > MOST_LINKS || magic {
            return Err(Fault::new(ErrorKind::Loop));
        }
        if foreign_links == ForeignLinks::Refused && is_foreign(&dir.meta()?, link) {
            return Err(Fault::new(ErrorKind::Denied));
        }
        // It is something else by now: the same path once more.
        let Some(text) = dir.read_link(name)? else { return Ok(()) };
        let slash = matches!(self.last(), Last::Name { slash: true, .. });
        let mut next = match (text.strip_prefix("/"), scope) {
            (Ok(_), Scope::Beneath) => return Err(Fault::new(ErrorKind::Escape)),
            // By bytes: `strip_prefix` would lose a slash or a dot at the end.
            (Ok(_), Scope::Ambient | Scope::ByText) => {
                PathBuf::from(OsStr::from_bytes(without_start_slashes(text.as_os_str().as_bytes())))
            }
            (Err(_), _) => match self.last() {
                Last::Name { parent, .. } => parent.join(&text),
                Last::Dir => text,
            },
        };
        if slash {
            next.as_mut_os_string().push("/");
        }
        if next.as_os_str().len() >= PATH_MAX {
            return Err(Fault::new(ErrorKind::NameTooLong));
        }
        self.path = next;
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

fn without_end_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    &path[..end]
}

fn without_start_slashes(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|&byte| byte != b'/').unwrap_or(path.len());
    &path[start..]
}
