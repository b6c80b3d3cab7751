//! Reading anywhere, which every mode allows.

use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, Fault, Result};
use crate::fence::{Fence, Options, ambient_authority, unfenced};
use crate::path::{RelPath, RootedPath};
use crate::resolve::{Scope, Walk};
use crate::roots::Root;
use crate::stat::{Entry, Follow, Snapshot, Stat};

/// A handle that looks at and reads what this user may read, and can change nothing.
///
/// Takes absolute paths without `..`. Symlinks lead where they lead; magic links of `/proc` are not
/// followed. Never blocks on a FIFO.
#[derive(Debug)]
pub struct ReadOnly {
    anywhere: Box<dyn Fence>,
    /// For hints only.
    by_text: Walk,
}

impl ReadOnly {
    /// Opens the handle.
    ///
    /// # Errors
    ///
    /// Only if the root directory cannot be opened.
    pub fn open() -> Result<Self> {
        let by_text = Walk::new(Scope::ByText, Options::default());
        Ok(Self { anywhere: unfenced(ambient_authority())?, by_text })
    }

    /// As [`Fence::stat`], on an absolute path.
    ///
    /// # Errors
    ///
    /// As there, but that nothing is an escape.
    pub fn stat(&self, path: &Path, follow: Follow) -> Result<Stat> {
        self.anywhere.stat(&self.rooted(path)?, follow)
    }

    /// As [`Fence::open`], on an absolute path.
    ///
    /// # Errors
    ///
    /// As there, but that nothing is an escape.
    pub fn open_file(&self, path: &Path) -> Result<Snapshot> {
        self.anywhere.open(&self.rooted(path)?)
    }

    /// As [`Fence::list`], on an absolute path.
    ///
    /// # Errors
    ///
    /// As there, but that nothing is an escape.
    pub fn list(&self, path: &Path) -> Result<Vec<Entry>> {
        self.anywhere.list(&self.rooted(path)?)
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
        let beneath = self.rooted(path)?.path;
        let physical = self.by_text.physical(self.root(), beneath.as_path());
        let absolute = physical.map_err(|fault| fault.at("look up", path))?;
        Ok(Path::new("/").join(absolute))
    }

    fn root(&self) -> &Root {
        self.anywhere.roots().iter().next().expect("it was opened on one")
    }

    fn rooted(&self, path: &Path) -> Result<RootedPath> {
        let refuse = || Fault::new(ErrorKind::InvalidPath).at("look up", path);
        let beneath = path.strip_prefix("/").map_err(|_| refuse())?;
        let is_root = beneath.as_os_str().is_empty();
        let beneath = if is_root { RelPath::root() } else { RelPath::new(beneath)? };
        Ok(RootedPath::new(self.root().id(), beneath))
    }
}
