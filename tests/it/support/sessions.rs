//! Sessions on a stage, one for each kind of fence.

use std::path::Path;

use ringfence::{Durability, Mode, Session, TempAreas};

use super::{FenceKind, Stage, Tree, offered};

/// A session that may write beneath `workspace` and nowhere else, by this kind of fence.
pub(crate) fn session_in(workspace: &Path, kind: FenceKind) -> Session {
    Session::builder()
        .workspace(workspace)
        .temps(TempAreas::none())
        .mode(Mode::WorkspaceWrite)
        .durability(Durability::None)
        .exactly(kind.resolution, kind.confinement)
        .build()
        .unwrap()
}

/// Runs `test` with a session on each fence that this host offers, each on a stage of its own.
pub(crate) fn each_session_on(tree: &Tree, test: impl Fn(&Stage, &Session)) {
    for kind in offered() {
        let stage = Stage::new(tree);
        test(&stage, &session_in(stage.root(), *kind));
    }
}
