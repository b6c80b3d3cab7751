//! This process resolves: name by name, from descriptor to descriptor, as the kernel would.
//!
//! No step follows a symlink: a link's text is read and walked in its turn, so an exchange of a
//! directory for a link while the walk is under way can only make it fail. What a walk cannot see
//! is that a directory it has passed was moved away, and `..` of that would lead astray. So the
//! place it arrives at is proved in the end, by the identity of the directories above it: from the
//! pinned directory up, until one is the root. The proof is by descriptor and never by the
//! spelling, which lies as soon as somebody renames.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::trail::Last;
use super::{Anchor, Place, Resolve, Rules, Scope, Trail};
use crate::dir::{Dir, Hold};
use crate::error::{ErrorKind, Fault};
use crate::path::Name;
use crate::roots::Root;
use crate::stat::{Follow, Kind};

/// Lookups by this process.
#[derive(Debug)]
pub(crate) struct Walk(pub(crate) Rules);

impl Walk {
    /// Goes down `path`, all of whose components are directories or links to such, after `links`
    /// have been followed already. Gives the deepest directory that exists, how many levels it is
    /// below the root by the way it was come to, and the names below it that do not exist. Each
    /// entry on the way, those of links too, is told to `passing` before it is looked at.
    pub(crate) fn descend(
        &self,
        root: &Root,
        path: &Path,
        mut links: usize,
        mut passing: impl FnMut(&Dir, &Name) -> Result<(), Fault>,
    ) -> Result<(Dir, usize, Vec<Name>), Fault> {
        let (mut dir, mut depth) = (root.dir.again(Hold::Place)?, 0_usize);
        let is_free = self.0.scope == Scope::Ambient;
        // Still to go, the next one last; those of a link above those of the path it is on.
        let mut ahead: Vec<_> = steps(path, false).collect();
        while let Some((step, of_link)) = ahead.pop() {
            match step.as_bytes() {
                b".." => {
                    Fault::found(Errno::XDEV).unless(depth > 0 || is_free)?;
                    (dir, depth) = (dir.parent(Hold::Place)?, depth.saturating_sub(1));
                    continue;
                }
                b"" | b"." => continue,
                _ => {}
            }
            let name = Name::new(&step).ok_or_else(|| Fault::new(ErrorKind::InvalidPath))?;
            passing(&dir, &name)?;
            match dir.enter(&name, Hold::Place) {
                Ok(down) => {
                    self.0.crosses_nothing(&dir, &down, "")?;
                    (dir, depth) = (down, depth + 1);
                }
                // Nothing is to be made where a link dangles, or where `..` would lead.
                Err(fault) if fault.kind == ErrorKind::NotFound && !of_link => {
                    let rest = ahead.iter().rev().map(|(step, _)| Name::new(step));
                    let missing = [Some(name)].into_iter().chain(rest).collect::<Option<_>>();
                    return Ok((dir, depth, missing.ok_or(fault)?));
                }
                Err(fault) if fault.kind == ErrorKind::WrongKind => {
                    let met = dir.look(&name)?;
                    fault.unless(met.is_some_and(|meta| meta.kind == Kind::Symlink))?;
                    links += 1;
                    self.0.admit_link(&dir, links)?;
                    let Some(text) = dir.read_link(&name)? else {
                        // A directory has taken its place.
                        ahead.push((step, of_link));
                        continue;
                    };
                    if text.has_root() {
                        Fault::found(Errno::XDEV).unless(is_free)?;
                        (dir, depth) = (Dir::open_ambient(Path::new("/"))?, 0);
                    }
                    ahead.extend(steps(&text, true));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok((dir, depth, Vec::new()))
    }
}

impl Resolve for Walk {
    fn pin(&self, root: &Root, trail: &Trail, hold: Hold) -> Result<Place, Fault> {
        let last = trail.last();
        let parent = last.as_ref().map_or(trail.path.as_path(), |last| last.parent);
        let (there, depth, missing) = self.descend(root, parent, trail.links, |_, _| Ok(()))?;
        let may_lack = trail.links == 0 && last.is_some();
        Fault::found(Errno::NOENT).unless(may_lack || missing.is_empty())?;
        let dir = if hold == Hold::Place { there } else { there.again(hold)? };
        Fault::found(Errno::XDEV).unless(dir.is_beneath_by(depth, root.id)?)?;
        Ok(match last {
            None => Place::Dir(dir),
            Some(Last { leaf, slash, .. }) => {
                Place::Entry(Anchor { dir, missing, leaf, must_be_dir: slash })
            }
        })
    }

    fn open(&self, root: &Root, path: &Path, flags: OFlags) -> Result<OwnedFd, Fault> {
        match (self as &dyn Resolve).lead(root, path, Follow::Yes)? {
            (Place::Dir(dir), _) => dir.open_itself(),
            (Place::Entry(_), None) => Err(Fault::found(Errno::NOENT)),
            (Place::Entry(Anchor { dir, leaf, must_be_dir: true, .. }), Some(_)) => {
                dir.open(&leaf, flags | OFlags::DIRECTORY)
            }
            (Place::Entry(Anchor { dir, leaf, .. }), Some(_)) => dir.open(&leaf, flags),
        }
    }

    fn rules(&self) -> Rules {
        self.0
    }
}

/// The components of `text`, the first one last, each with whether it is of a link.
fn steps(text: &Path, of_link: bool) -> impl Iterator<Item = (OsString, bool)> {
    let components = text.as_os_str().as_bytes().rsplit(|&byte| byte == b'/');
    components.map(move |name| (OsString::from_vec(name.to_owned()), of_link))
}
