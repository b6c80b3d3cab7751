//! A private file for what does not fit in memory.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// A file that only this user may read and write, and that goes when this is dropped.
#[derive(Debug)]
pub struct SpillFile(NamedTempFile);

impl SpillFile {
    /// Makes one in the first of `places` where that is possible.
    ///
    /// # Errors
    ///
    /// As of the last of them; [`io::ErrorKind::NotFound`] if there is none.
    pub fn create(places: &[PathBuf]) -> io::Result<Self> {
        let mut result = Err(io::ErrorKind::NotFound.into());
        for place in places {
            result = Builder::new().prefix("ringfence-").suffix(".out").tempfile_in(place);
            if result.is_ok() {
                break;
            }
        }
        result.map(Self)
    }

    /// Writes all of `bytes` at its end.
    ///
    /// # Errors
    ///
    /// As `write(2)`; a part may have been written.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
