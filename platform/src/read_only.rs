//! Reading anywhere, which every mode allows.

use std::path::Path;

use crate::error::{ErrorKind, Fault, Result};
use crate::fence::Fence;
use crate::host::{ambient_authority, unfenced};
use crate::path::{RelPath, RootedPath};
use crate::roots::RootId;
use crate::stat::{Entry, Follow, Snapshot, Stat};

/// A handle that looks at and reads what this user may read, and can change nothing.
///
/// Takes absolute paths without `..`. Symlinks lead where they lead; magic links of `/proc` are not
/// followed. Never blocks on a FIFO.
#[derive(Debug)]
pub struct ReadOnly(Box<dyn Fence>);

impl ReadOnly {
    /// Opens the handle.
    ///
    /// # Errors
    ///
    /// Only if the root directory cannot be opened.
    pub fn open() -> Result<Self> {
        Ok(Self(unfenced(ambient_authority())?))
    }

    /// As [`Fence::stat`], on an absolute path.
    ///
    /// # Errors
    ///
    /// As there, but that nothing is an escape.
    pub fn stat(&self, path: &Path, follow: Follow) -> Result<Stat> {
        self.0.stat(&self.rooted(path)?, follow)
    }

    /// As [`Fence::open`], on an absolute path.
    ///
    /// # Errors
    ///
    /// As there, but that nothing is an escape.
    pub fn open_file(&self, path: &Path) -> Result<Snapshot> {
        self.0.open(&self.rooted(path)?)
    }

    /// As [`Fence::list`], on an absolute path.
    ///
    /// # Errors
    ///
    /// As there, but that nothing is an escape.
    pub fn list(&self, path: &Path) -> Result<Vec<Entry>> {
        self.0.list(&self.rooted(path)?)
    }

    fn rooted(&self, path: &Path) -> Result<RootedPath> {
        let refuse = || Fault::new(ErrorKind::InvalidPath).at("look up", path);
        let beneath = path.strip_prefix("/").map_err(|_| refuse())?;
        let is_root = beneath.as_os_str().is_empty();
        let beneath = if is_root { RelPath::root() } else { RelPath::new(beneath)? };
        Ok(RootedPath::new(RootId(0), beneath))
    }
}
