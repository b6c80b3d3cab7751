//! Where a path leads once its symlinks are followed, by text alone.
//!
//! A hint: it may be out of date at once, and nothing is decided by it. Whoever acts on it asks the
//! fence, which resolves the path again.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use ringfence_platform::ErrorKind;

/// As many as the fence follows.
const MOST_LINKS: usize = 40;

/// The absolute path without symlinks of the place that `path` names or would name.
///
/// What does not exist keeps its spelling, and a dangling symlink is followed to where it points.
/// The text of a magic link of `/proc` is taken as an ordinary path.
///
/// # Errors
///
/// [`ErrorKind::Loop`] for too many symlinks, [`ErrorKind::WrongKind`] if a file is used as a
/// directory.
pub(crate) fn physical(path: &Path) -> Result<PathBuf, ErrorKind> {
    let mut place = PathBuf::new();
    let mut ahead = Vec::new();
    let mut links = 0;
    push(&mut ahead, path);
    while let Some(step) = ahead.pop() {
        let next = place.join(&step);
        match Path::new(&step).components().next() {
            Some(Component::ParentDir) => {
                place.pop();
                continue;
            }
            Some(Component::Normal(_)) => {}
            Some(Component::RootDir | Component::Prefix(_)) => {
                place = next;
                continue;
            }
            Some(Component::CurDir) | None => continue,
        }
        match std::fs::read_link(&next) {
            Ok(_) if links == MOST_LINKS => return Err(ErrorKind::Loop),
            Ok(text) => {
                links += 1;
                push(&mut ahead, &text);
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(ErrorKind::WrongKind);
            }
            Err(_) => place = next,
        }
    }
    Ok(place)
}

fn push(ahead: &mut Vec<OsString>, path: &Path) {
    ahead.extend(path.components().rev().map(|step| step.as_os_str().to_owned()));
}
