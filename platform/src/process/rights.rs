//! What this user may do, whatever a policy says.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

/// Whether the host lets this process change `path`: what is in it if it is there, or the entry
/// itself, which needs its directory, if it is not or `of_entry` says so.
///
/// A file that may not even be read is none that a program was about to change. By permissions and
/// mounts; a hint, since what a path names may change at once.
pub fn may_write(path: &Path, of_entry: bool) -> bool {
    let may = |path: &Path| accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    let is_there = std::fs::symlink_metadata(path).is_ok();
    match path.parent() {
        Some(parent) if of_entry || !is_there => may(parent),
        Some(_) | None => {
            may(path) && accessat(CWD, path, Access::READ_OK, AtFlags::EACCESS).is_ok()
        }
    }
}
