//! From a path to a pinned place beneath a root. All that tells one backend from another.

mod openat2;
mod trail;
mod walk;

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::path::Arg;

use crate::assurance::Options;
use crate::dir::{Dir, Hold, Meta, mount_id};
use crate::error::{ErrorKind, Fault};
use crate::path::Name;
use crate::roots::Root;
use crate::stat::{Follow, Kind, TargetKey};

pub(crate) use openat2::Openat2;
pub(crate) use trail::Trail;
pub(crate) use walk::Walk;

/// Turns a path into a pinned place beneath a root, following every symlink but one in the last
/// place.
pub(crate) trait Resolve: fmt::Debug + Send + Sync {
    /// Pins the deepest directory on the way that exists.
    fn pin(&self, root: &Root, trail: &Trail, hold: Hold) -> Result<Place, Fault>;

    /// Opens what `path` leads to, a symlink in the last place followed, by
    /// [`READ`](crate::dir::READ) and perhaps more.
    fn open(&self, root: &Root, path: &Path, flags: OFlags) -> Result<OwnedFd, Fault>;

    /// Fails if more symlinks are on the way of the whole of `path`, the last place included, than
    /// are followed. Only where they are not counted from one step to the next.
    fn count_links(&self, _root: &Root, _path: &Path) -> Result<(), Fault> {
        Ok(())
    }

    /// What a lookup may do here.
    fn rules(&self) -> Rules;
}

impl dyn Resolve {
    /// Goes where `path` leads, and looks at the entry that it comes to.
    pub(crate) fn lead(
        &self,
        root: &Root,
        path: &Path,
        follow: Follow,
    ) -> Result<(Place, Option<Meta>), Fault> {
        let mut trail = Trail::starting_at(path.to_owned())?;
        loop {
            let anchor = match self.pin(root, &trail, Hold::Place)? {
                Place::Entry(anchor) if anchor.missing.is_empty() => anchor,
                place @ (Place::Entry(_) | Place::Dir(_)) => return Ok((place, None)),
            };
            match self.rules().look(&anchor.dir, &anchor.leaf)? {
                Some(link) if link.kind == Kind::Symlink && follow == Follow::Yes => {
                    trail.follow(self, root, &anchor.dir, &anchor.leaf, &link)?;
                }
                found => return Ok((Place::Entry(anchor), found)),
            }
        }
    }
}

/// As many symlinks as the kernel follows in one path, path_resolution(7).
const MOST_LINKS: usize = 40;

/// What a lookup may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) scope: Scope,
    pub(crate) no_xdev: bool,
    /// Whether a link that somebody else left in a sticky directory that everybody may write to is
    /// followed: `fs.protected_symlinks` in proc_sys_fs(5).
    pub(crate) foreign_links: bool,
}

impl Rules {
    pub(crate) fn new(scope: Scope, options: Options) -> Self {
        // A setting that cannot be read is the stricter one.
        let protected = std::fs::read("/proc/sys/fs/protected_symlinks");
        let foreign_links = protected.is_ok_and(|setting| setting.trim_ascii() == b"0");
        Self { scope, no_xdev: options.no_xdev, foreign_links }
    }

    /// Fails if the symlink that is met in `dir`, one of `links` by now, is not to be followed.
    fn admit_link(&self, dir: &Dir, links: usize) -> Result<(), Fault> {
        let is_admitted = links <= MOST_LINKS && !dir.has_magic_links()?;
        Fault::found(Errno::LOOP).unless(is_admitted)
    }

    /// What is at `name` in `dir`, not followed.
    pub(crate) fn look(&self, dir: &Dir, name: &Name) -> Result<Option<Meta>, Fault> {
        let found = dir.look(name)?;
        if found.is_some() {
            self.crosses_nothing(dir, dir, name.as_os_str())?;
        }
        Ok(found)
    }

    /// Fails if what is at `path` of `to` is on another mount than `from` and that is not to be.
    fn crosses_nothing(&self, from: &Dir, to: &Dir, path: impl Arg) -> Result<(), Fault> {
        if !self.no_xdev {
            return Ok(());
        }
        let mounts = [mount_id(from, "")?, mount_id(to, path)?];
        Fault::new(ErrorKind::Unsupported).unless(!mounts.contains(&None))?;
        Fault::found(Errno::XDEV).unless(mounts[0] == mounts[1])
    }
}

/// A place that has been found: nothing is left to resolve but one name in one directory.
#[derive(Debug)]
pub(crate) enum Place {
    /// The directory itself: a root, or where a link leads whose text ends in `..`.
    Dir(Dir),
    /// An entry of a directory.
    Entry(Anchor),
}

/// The deepest directory on the way that exists, held open; the names still missing below it; and
/// the name to act on.
#[derive(Debug)]
pub(crate) struct Anchor {
    pub(crate) dir: Dir,
    pub(crate) missing: Vec<Name>,
    pub(crate) leaf: Name,
    /// Whether a symlink's text asked for a directory here by a slash at its end.
    pub(crate) must_be_dir: bool,
}

impl Anchor {
    /// The names from the directory to the entry, of which all but the last are missing.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.missing.iter().chain([&self.leaf])
    }

    /// The place of the entry, whether or not anything is there.
    pub(crate) fn key(&self) -> Result<TargetKey, Fault> {
        let rest: PathBuf = self.names().map(Name::as_os_str).collect();
        Ok(TargetKey::entry(self.dir.id()?, rest))
    }

    /// Where that is by now, in the kernel's own words.
    pub(crate) fn place(&self) -> Option<PathBuf> {
        let dir = self.dir.place()?;
        Some(self.names().fold(dir, |place, name| place.join(name.as_os_str())))
    }
}

/// How far a path may lead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scope {
    /// Beneath the root, at every step.
    Beneath,
    /// Anywhere: the root is `/`.
    Ambient,
}
