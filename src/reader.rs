//! Reading anywhere, which every mode allows.

use std::path::Path;

use ringfence_platform::{
    self as platform, Cancel, Entry, Fence, Follow, RelPath, Result, RootedPath, Snapshot, Stat,
};

/// A handle that looks at and reads what this user may read, and can change nothing.
///
/// Takes absolute paths without `..`. Symlinks lead where they lead; magic links of `/proc` are not
/// followed. Never blocks on a FIFO.
#[derive(Debug)]
pub(crate) struct ReadOnly(Box<dyn Fence>);

impl ReadOnly {
    /// Opens the handle, which only fails if the root directory cannot be opened.
    pub(crate) fn open() -> Result<Self> {
        platform::unfenced(platform::ambient_authority()).map(Self)
    }

    pub(crate) fn stat(&self, path: &Path, follow: Follow) -> Result<Stat> {
        self.0.stat(&self.rooted(path)?, follow)
    }

    /// Opens a regular file.
    pub(crate) fn open_file(&self, path: &Path) -> Result<Snapshot> {
        self.0.open(&self.rooted(path)?)
    }

    pub(crate) fn list(&self, path: &Path, cancel: &Cancel) -> Result<Vec<Entry>> {
        self.0.list(&self.rooted(path)?, cancel)
    }

    fn rooted(&self, path: &Path) -> Result<RootedPath> {
        let root = self.0.roots().iter().next().expect("it was opened on one");
        let beneath = path.strip_prefix(root.path()).unwrap_or(path);
        let whole = beneath.as_os_str().is_empty();
        let beneath = if whole { RelPath::root() } else { RelPath::new(beneath)? };
        Ok(RootedPath::new(root.id(), beneath))
    }
}
