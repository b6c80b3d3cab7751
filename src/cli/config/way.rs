//! Which directories a path leads through, and whether one of them may be written by an agent.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use ringfence::{Mode, Root, TempAreas, writable_roots};

/// As many symlinks as any system follows.
const MOST_LINKS: usize = 40;

/// The first directory on the way to `path` that workspace-write in `workspace` may change: who can
/// exchange an entry there chooses what is read. Directories are compared by identity.
pub(super) fn writable(path: &Path, workspace: &Path) -> Result<Option<PathBuf>, ringfence::Error> {
    let roots = writable_roots(Mode::WorkspaceWrite, workspace, &TempAreas::from_env())?;
    let roots: Vec<_> = roots.iter().flat_map(|roots| roots.iter()).collect();
    let is_writable = |dir: &PathBuf| {
        // What cannot be opened cannot be told apart from one that is writable.
        let Ok(dir) = Root::open(dir) else { return true };
        roots.iter().any(|root| root.contains(&dir).unwrap_or(true))
    };
    Ok(directories(path).into_iter().find(is_writable))
}

/// Each directory in which a name is looked up on the way to `path`, links included.
fn directories(path: &Path) -> Vec<PathBuf> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (mut place, mut ahead, mut links, mut met) = (PathBuf::new(), Vec::new(), 0, Vec::new());
    push(&mut ahead, &absolute);
    while let Some(step) = ahead.pop() {
        let next = place.join(&step);
        match Path::new(&step).components().next() {
            Some(Component::ParentDir) => {
                place.pop();
            }
            Some(Component::Normal(_)) => {
                if !met.contains(&place) {
                    met.push(place.clone());
                }
                match std::fs::read_link(&next) {
                    Ok(text) if links < MOST_LINKS => {
                        links += 1;
                        push(&mut ahead, &text);
                    }
                    Ok(_) | Err(_) => place = next,
                }
            }
            Some(Component::RootDir | Component::Prefix(_)) => place = next,
            Some(Component::CurDir) | None => {}
        }
    }
    met
}

fn push(ahead: &mut Vec<OsString>, path: &Path) {
    ahead.extend(path.components().rev().map(|step| step.as_os_str().to_owned()));
}
