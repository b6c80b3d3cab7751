//! Which directory a path leads to now.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ringfence_platform::{self as platform, ErrorKind, Root, TargetKey};

/// A directory: where it is, without a link on the way, and which it is. Both count, as for the
/// workspace of a policy: one that is moved is another place, and so is a second mount of it.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub(super) struct Place {
    path: PathBuf,
    key: TargetKey,
}

/// Why a path leads to no directory.
#[derive(Debug)]
pub(super) struct NoPlace {
    pub(super) kind: ErrorKind,
    /// The system's account of it, where it was asked.
    pub(super) source: Option<platform::Error>,
}

impl Place {
    /// Finds it as a policy finds the working directory of a session.
    pub(super) fn find(path: &Path) -> Result<Self, NoPlace> {
        // No system takes it, and not all say so by an error of its own.
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(NoPlace { kind: ErrorKind::NotFound, source: None });
        }
        match Root::open(path) {
            Ok(root) => Ok(Self { path: root.path().to_owned(), key: root.key() }),
            Err(source) => Err(NoPlace { kind: kind_of(&source, path), source: Some(source) }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Where something that is no directory stands on the way, nothing is at the end of it.
fn kind_of(source: &platform::Error, path: &Path) -> ErrorKind {
    let kind = source.kind();
    if kind == ErrorKind::WrongKind && !path.exists() { ErrorKind::NotFound } else { kind }
}

impl NoPlace {
    /// Whether there is none, and not just none that could be looked at.
    pub(super) fn is_certain(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::NotFound
                | ErrorKind::WrongKind
                | ErrorKind::Loop
                | ErrorKind::InvalidPath
                | ErrorKind::NameTooLong
                | ErrorKind::Denied
        )
    }
}

/// What paths lead to, each looked up once: what is said of several is of one moment.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<PathBuf, Result<Place, NoPlace>>);

impl Places {
    pub(super) fn find(&mut self, path: &Path) -> Result<&Place, &NoPlace> {
        self.0.entry(path.to_owned()).or_insert_with(|| Place::find(path)).as_ref()
    }
}
