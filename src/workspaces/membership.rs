//! Which sessions belong to a workspace.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ringfence_platform::ErrorKind;

use super::place::{NoPlace, Place, Places};
use crate::error::Mismatch;

/// What the embedder has stored of a session. The registry stores none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionHeader {
    /// Its id, which no other session has.
    pub id: String,
    /// The directory that it works in, if any.
    pub cwd: Option<PathBuf>,
    /// When it was begun.
    pub created_at: SystemTime,
}

/// The headers that an operation may go by.
#[derive(Clone, Copy, Debug)]
pub enum Sessions<'h> {
    /// Those of all sessions that are stored: a session without one is gone.
    All(&'h [SessionHeader]),
    /// None were read, so nothing is known of any session: no answer names one, and none is
    /// dropped.
    Unread,
}

/// Whether a session belongs to a workspace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Belonging {
    /// It works in the workspace's directory.
    Member,
    /// It does not.
    Stranger(Mismatch),
    /// A directory could not be looked at.
    Unsure,
}

/// Headers by the ids of their sessions. Of two for one session the first counts.
pub(super) fn by_id(headers: &[SessionHeader]) -> HashMap<&str, &SessionHeader> {
    headers.iter().rev().map(|header| (&*header.id, header)).collect()
}

impl Places {
    /// Where a session works.
    pub(super) fn of_session(&mut self, header: &SessionHeader) -> Result<&Place, Belonging> {
        let stranger = |why| Err(Belonging::Stranger(why));
        match &header.cwd {
            None => stranger(Mismatch::NoCwd),
            // It would depend on where this process works.
            Some(cwd) if !cwd.is_absolute() => stranger(Mismatch::Unresolvable),
            Some(cwd) => self.find(cwd).map_err(not_at),
        }
    }

    /// Whether a session that is listed for the workspace at `path` belongs to it.
    pub(super) fn belonging(&mut self, path: &Path, header: &SessionHeader) -> Belonging {
        let place = match self.of_session(header) {
            Ok(place) => place.clone(),
            Err(none) => return none,
        };
        match self.find(path) {
            Ok(own) if *own == place => Belonging::Member,
            Err(why) if !why.is_certain() => Belonging::Unsure,
            Ok(_) | Err(_) => {
                Belonging::Stranger(Mismatch::Elsewhere { cwd: place.path().to_owned() })
            }
        }
    }
}

fn not_at(why: &NoPlace) -> Belonging {
    if !why.is_certain() {
        Belonging::Unsure
    } else if why.kind == ErrorKind::WrongKind {
        Belonging::Stranger(Mismatch::NotDirectory)
    } else {
        Belonging::Stranger(Mismatch::Unresolvable)
    }
}
