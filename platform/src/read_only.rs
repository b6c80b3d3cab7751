//! Reading anywhere, which every mode allows.

use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, Fault, Result};
use crate::fence::{Enforcement, Options, Resolution};
use crate::local::Local;
use crate::resolve::{Openat2, Scope, Walk};
use crate::roots::{Root, Roots};
use crate::stat::{Entry, Follow, Snapshot, Stat};

/// A handle that looks at and reads what this user may read, and can change nothing.
///
/// Takes absolute paths without `..`. Symlinks lead where they lead; magic links of `/proc` are not
/// followed. Never blocks on a FIFO.
#[derive(Debug)]
pub struct ReadOnly {
    roots: Roots,
    reader: Reader,
    /// For hints only.
    by_text: Walk,
}

#[derive(Debug)]
enum Reader {
    Openat2(Local<Openat2>),
    Walk(Local<Walk>),
}

impl ReadOnly {
    /// Opens the handle.
    ///
    /// # Errors
    ///
    /// Only if the root directory cannot be opened.
    pub fn open() -> Result<Self> {
        let roots = Roots::open(["/"])?;
        let (options, level) = (Options::default(), Enforcement::Unfenced);
        let reader = match Openat2::proven(&roots, Scope::Ambient, options) {
            Ok(resolver) => {
                let local = Local::new(roots.clone(), resolver, Resolution::Openat2, level)?;
                Reader::Openat2(local)
            }
            Err(_) => {
                let resolver = Walk::new(Scope::Ambient, options);
                Reader::Walk(Local::new(roots.clone(), resolver, Resolution::Walk, level)?)
            }
        };
        Ok(Self { roots, reader, by_text: Walk::new(Scope::ByText, options) })
    }

    /// As [`Fence::stat`](crate::Fence::stat), on an absolute path.
    ///
    /// # Errors
    ///
    /// As there, but that nothing is an escape.
    pub fn stat(&self, path: &Path, follow: Follow) -> Result<Stat> {
        self.with("look at", path, |root, beneath| match &self.reader {
            Reader::Openat2(local) => local.place(root, beneath, follow),
            Reader::Walk(local) => local.place(root, beneath, follow),
        })
    }

    /// As [`Fence::open`](crate::Fence::open), on an absolute path.
    ///
    /// # Errors
    ///
    /// As there, but that nothing is an escape.
    pub fn open_file(&self, path: &Path) -> Result<Snapshot> {
        self.with("open", path, |root, beneath| match &self.reader {
            Reader::Openat2(local) => local.snapshot(root, beneath),
            Reader::Walk(local) => local.snapshot(root, beneath),
        })
    }

    /// As [`Fence::list`](crate::Fence::list), on an absolute path.
    ///
    /// # Errors
    ///
    /// As there, but that nothing is an escape.
    pub fn list(&self, path: &Path) -> Result<Vec<Entry>> {
        self.with("list", path, |root, beneath| match &self.reader {
            Reader::Openat2(local) => local.entries(root, beneath),
            Reader::Walk(local) => local.entries(root, beneath),
        })
    }

    /// The absolute path without symlinks of the place that `path` names or would name. What does
    /// not exist keeps its spelling, and a dangling symlink is followed to where it points. The
    /// text of a magic link is taken as an ordinary path.
    ///
    /// The answer is a hint: it may be out of date at once. Nothing is to be decided by it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Loop`] for more than 40 symlinks, [`ErrorKind::WrongKind`] if a file is used as
    /// a directory.
    pub fn physical(&self, path: &Path) -> Result<PathBuf> {
        self.with("look up", path, |root, beneath| {
            Ok(Path::new("/").join(self.by_text.physical(root, beneath)?))
        })
    }

    fn with<T>(
        &self,
        op: &'static str,
        path: &Path,
        act: impl FnOnce(&Root, &Path) -> Result<T, Fault>,
    ) -> Result<T> {
        let beneath = path.strip_prefix("/").ok();
        let both = self.roots.iter().next().zip(beneath);
        let both = both.ok_or_else(|| Fault::new(ErrorKind::InvalidPath));
        both.and_then(|(root, beneath)| act(root, beneath)).map_err(|fault| fault.at(op, path))
    }
}
