//! Which writable root a path is under, and how it is spelled beneath it.
//!
//! Everything found here is a hint. The fence resolves the path again when it acts, so a wrong or
//! raced hint is refused there and can do no harm.

use std::path::{Path, PathBuf};

use ringfence_platform::{
    self as platform, ErrorKind, Follow, Parents, RelPath, Root, RootedPath, Roots,
};

use crate::error::Error;
use crate::physical::physical;
use crate::reader::ReadOnly;
use crate::request::Op;

/// A place as the caller spelled it and as a fence takes it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Target {
    /// Absolute and normalised by text; what people see.
    pub(crate) shown: PathBuf,
    /// The same place beneath a root.
    pub(crate) at: RootedPath,
    /// Whether missing directories on the way may be made: not where `shown` leads through a
    /// symlink that dangles.
    pub(crate) parents: Parents,
}

/// Finds targets beneath one set of roots. Where there is none, the kind of error is that which a
/// fence would give: [`ErrorKind::Escape`] for what leads beneath no root, as far as can be seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim<'a> {
    pub(crate) reader: &'a ReadOnly,
    pub(crate) roots: &'a Roots,
    pub(crate) op: Op,
}

impl Aim<'_> {
    /// The target of `shown`. Nothing is looked at where the spelling already says the root.
    pub(crate) fn take(&self, shown: PathBuf) -> Result<Target, ErrorKind> {
        match self.locate(&shown) {
            Some(at) => Ok(Target { shown, at, parents: Parents::Create }),
            None => self.through_links(shown),
        }
    }

    /// The target of `shown` once the symlinks on the way are followed.
    pub(crate) fn through_links(&self, shown: PathBuf) -> Result<Target, ErrorKind> {
        // One that cannot be computed counts as none.
        let loops = |kind| if kind == ErrorKind::Loop { kind } else { ErrorKind::Escape };
        let at = self.locate(&self.place(&shown).map_err(loops)?).ok_or(ErrorKind::Escape)?;
        let parents = self.parents(&shown)?;
        Ok(Target { shown, at, parents })
    }

    /// Where the operation would act on `shown`, by the text of the symlinks on the way.
    pub(crate) fn place(&self, shown: &Path) -> Result<PathBuf, ErrorKind> {
        match (self.follow(), shown.parent(), shown.file_name()) {
            (Follow::No, Some(parent), Some(name)) => {
                physical(parent).map(|parent| parent.join(name))
            }
            (Follow::No | Follow::Yes, _, _) => physical(shown),
        }
    }

    /// The root that `place` is beneath.
    pub(crate) fn root_of(&self, place: &Path) -> Option<&Root> {
        let at = self.locate(place)?;
        self.roots.iter().find(|root| root.id() == at.root)
    }

    fn locate(&self, path: &Path) -> Option<RootedPath> {
        self.by_components(path).or_else(|| self.by_identity(path))
    }

    fn by_components(&self, path: &Path) -> Option<RootedPath> {
        self.roots.iter().find_map(|root| rooted(root, path.strip_prefix(root.path()).ok()?))
    }

    /// By an ancestor that *is* a root, whatever it is called there.
    fn by_identity(&self, path: &Path) -> Option<RootedPath> {
        path.ancestors().find_map(|place| {
            let follow = if place == path { self.follow() } else { Follow::Yes };
            let key = self.reader.stat(place, follow).ok()?.key;
            let root = self.roots.iter().find(|root| root.key() == key)?;
            rooted(root, path.strip_prefix(place).ok()?)
        })
    }

    /// Looks for a dangling symlink in `shown`: only the deepest entry that exists can be one.
    fn parents(&self, shown: &Path) -> Result<Parents, ErrorKind> {
        let Some(entry) = shown.ancestors().find(|place| self.exists(place)) else {
            return Ok(Parents::Require);
        };
        match self.reader.stat(entry, Follow::Yes) {
            Ok(stat) if stat.found.is_some() => Ok(Parents::Create),
            Err(error) if error.kind() == ErrorKind::Loop => match physical(entry) {
                Ok(place) if self.exists(&place) => Ok(Parents::Create),
                // A magic link whose text names nothing: a pipe, a deleted file.
                _ => Err(ErrorKind::NotFound),
            },
            // As mkdir(2), which makes nothing through a symlink.
            _ if self.op == Op::CreateDir && entry == shown => Err(ErrorKind::AlreadyExists),
            _ => Ok(Parents::Require),
        }
    }

    /// Whether the operation is about what a symlink in the last place leads to.
    fn follow(&self) -> Follow {
        match self.op {
            Op::Read
            | Op::ReadText
            | Op::Stat
            | Op::List
            | Op::Write
            | Op::Edit
            | Op::CreateDir => Follow::Yes,
            Op::Remove | Op::Rename | Op::Symlink | Op::Run => Follow::No,
        }
    }

    fn exists(&self, place: &Path) -> bool {
        self.reader.stat(place, Follow::No).is_ok_and(|stat| stat.found.is_some())
    }
}

fn rooted(root: &Root, beneath: &Path) -> Option<RootedPath> {
    let path = match beneath.as_os_str().is_empty() {
        true => RelPath::root(),
        false => RelPath::new(beneath).ok()?,
    };
    Some(RootedPath::new(root.id(), path))
}

/// What `error` means for the place that was asked for. A file that is used as a directory on the
/// way there is no kind of target, so nothing is found.
pub(crate) fn failed(op: Op, shown: PathBuf, error: platform::Error) -> Error {
    let wrong = ErrorKind::WrongKind;
    let blocked = error.kind() == wrong && physical(&shown).is_err_and(|kind| kind == wrong);
    let kind = if blocked { ErrorKind::NotFound } else { error.kind() };
    Error::Failed { op, path: shown, kind, source: Some(error) }
}
