//! The kernel resolves: `openat2(2)` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`, Linux 5.6.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::trail::Last;
use super::{Anchor, Place, Resolve, Rules, Scope, Trail};
use crate::dir::{Dir, Hold};
use crate::error::{ErrorKind, Fault, Result};
use crate::path::Name;
use crate::roots::{Root, Roots};
use crate::stat::Kind;

/// How long a lookup that races with renames is tried again. It is only for paths with a `..`,
/// which come from symlinks; three attempts are the most that was seen.
const EAGAIN_DEADLINE: Duration = Duration::from_millis(100);

/// How often a lookup begins anew because directories come and go while it looks.
const MOST_ATTEMPTS: usize = 64;

/// Lookups by the kernel, beneath a directory.
#[derive(Debug)]
pub(crate) struct Openat2(Rules);

impl Openat2 {
    /// Makes the resolver if it does what it says on each of `roots`: finds the root itself, and
    /// refuses the `..` of it.
    pub(crate) fn proven(roots: &Roots, rules: Rules) -> Result<Self> {
        let openat2 = Self(rules);
        for root in roots.iter() {
            let proven = openat2.prove_on(root).map_err(Fault::too_weak);
            proven.map_err(|fault| fault.at("resolve with openat2 on", root.path()))?;
        }
        Ok(openat2)
    }

    fn prove_on(&self, root: &Root) -> Result<(), Fault> {
        let itself = self.open_dir(root, Path::new("."), Hold::Place)?;
        Fault::new(ErrorKind::Unsupported).unless(itself.id()? == root.id)?;
        match (self.0.scope, self.open_dir(root, Path::new(".."), Hold::Place)) {
            (Scope::Ambient, _) => Ok(()),
            (Scope::Beneath, Err(fault)) if fault.kind == ErrorKind::Escape => Ok(()),
            (Scope::Beneath, Err(fault)) => Err(fault),
            (Scope::Beneath, Ok(_)) => Err(Fault::new(ErrorKind::Unsupported)),
        }
    }

    fn call(&self, root: &Root, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let mut resolve = ResolveFlags::NO_MAGICLINKS;
        resolve.set(ResolveFlags::BENEATH, self.0.scope == Scope::Beneath);
        resolve.set(ResolveFlags::NO_XDEV, self.0.no_xdev);
        let mut began = None;
        let mut in_time = || began.get_or_insert_with(Instant::now).elapsed() < EAGAIN_DEADLINE;
        loop {
            match rustix::fs::openat2(&root.dir, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) if in_time() => {}
                done => return done,
            }
        }
    }

    fn open_dir(&self, root: &Root, path: &Path, hold: Hold) -> Result<Dir, Fault> {
        let directory = OFlags::DIRECTORY | OFlags::CLOEXEC;
        hold.open(|access| self.call(root, path, access | directory)).map(Dir).map_err(Fault::found)
    }

    /// The deepest directory of `path` that exists, and the names below it that do not. All of them
    /// must exist on the way that a link has pointed out.
    fn deepest(
        &self,
        root: &Root,
        path: &Path,
        links: usize,
        hold: Hold,
    ) -> Result<(Dir, Vec<Name>), Fault> {
        for _ in 0..MOST_ATTEMPTS {
            let (mut at, mut missing) = (path, Vec::new());
            let dir = loop {
                match self.open_dir(root, at, hold) {
                    Err(fault) if fault.kind == ErrorKind::NotFound && links == 0 => {
                        let both = at.file_name().and_then(Name::new).zip(at.parent());
                        let (name, parent) = both.ok_or(fault)?;
                        missing.insert(0, name);
                        at = parent;
                    }
                    found => break found?,
                }
            };
            let there = missing.first().map_or(Ok(None), |name| dir.look(name))?;
            match there.map(|meta| meta.kind) {
                None => return Ok((dir, missing)),
                // It dangles. Nothing is made through it.
                Some(Kind::Symlink) => return Err(Fault::found(Errno::NOENT)),
                // It was made meanwhile.
                Some(_) => {}
            }
        }
        Err(Fault::new(ErrorKind::Busy))
    }
}

impl Resolve for Openat2 {
    fn pin(&self, root: &Root, trail: &Trail, hold: Hold) -> Result<Place, Fault> {
        let Some(Last { parent, leaf, slash: must_be_dir }) = trail.last() else {
            return Ok(Place::Dir(self.open_dir(root, &trail.path, hold)?));
        };
        let (dir, missing) = self.deepest(root, parent, trail.links, hold)?;
        Ok(Place::Entry(Anchor { dir, missing, leaf, must_be_dir }))
    }

    fn open(&self, root: &Root, path: &Path, flags: OFlags) -> Result<OwnedFd, Fault> {
        self.call(root, path, flags).map_err(Fault::found)
    }

    fn count_links(&self, root: &Root, path: &Path) -> Result<(), Fault> {
        match self.call(root, path, OFlags::PATH | OFlags::CLOEXEC) {
            Err(errno @ Errno::LOOP) => Err(Fault::found(errno)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn rules(&self) -> Rules {
        self.0
    }
}
