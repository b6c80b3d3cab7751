//! Sessions on a stage, one for each kind of fence.

use std::path::Path;

use ringfence::{Durability, Mode, Session, SessionBuilder, TempAreas};

use super::{FenceKind, Stage, Tree, offered};

/// A session in `workspace` that may write nowhere beside it, by this kind of fence.
pub(crate) fn builder_in(workspace: &Path, mode: Mode, kind: FenceKind) -> SessionBuilder {
    Session::builder()
        .workspace(workspace)
        .temps(TempAreas::none())
        .mode(mode)
        .durability(Durability::None)
        .exactly(kind.resolution, kind.confinement)
}

/// The same in workspace-write, opened.
pub(crate) fn session_in(workspace: &Path, kind: FenceKind) -> Session {
    builder_in(workspace, Mode::WorkspaceWrite, kind).build().unwrap()
}

/// Runs `test` with a session on each fence that this host offers, each on a stage of its own.
pub(crate) fn each_session_on(tree: &Tree, test: impl Fn(&Stage, &Session)) {
    for kind in offered() {
        let stage = Stage::new(tree);
        test(&stage, &session_in(stage.root(), *kind));
    }
}
