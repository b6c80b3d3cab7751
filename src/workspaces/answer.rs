//! What is told of a workspace.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use super::id::WorkspaceId;

/// A workspace of the registry, as it was when somebody asked. That it is known grants nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Its directory: canonical when it was added, and never rewritten.
    pub path: PathBuf,
    /// What people call it.
    pub title: String,
    /// Whether its directory is there.
    pub status: WorkspaceStatus,
    /// The sessions that belong to it and are not archived, newest first.
    pub sessions: Vec<String>,
    /// Those that are archived.
    pub archived: Vec<String>,
    /// When it was added.
    pub created_at: SystemTime,
    /// When its title or its sessions last changed.
    pub updated_at: SystemTime,
}

/// Whether the directory of a workspace is there. `Display` gives the stable token.
///
/// The path decides: where the directory was moved away it is missing, and one that was put in its
/// place since is the workspace.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum WorkspaceStatus {
    /// There is a directory at its path.
    Ok,
    /// There is none, or none that could be opened.
    MissingDir,
}

impl fmt::Display for WorkspaceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::MissingDir => "missing-dir",
        })
    }
}
