//! The registry as it was read, what is told of it, and the changes that are made to it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::answer::{Workspace, WorkspaceStatus};
use super::document::{Document, Record};
use super::id::WorkspaceId;
use super::membership::{Belonging, SessionHeader, Sessions, by_id};
use super::place::{Place, Places};
use super::time::Time;
use crate::error::{Error, Inconsistency, Mismatch, Result};

/// One state of the registry, and what the paths in it led to when it was read.
#[derive(Debug)]
pub(super) struct Current<'h> {
    pub(super) document: Document,
    places: Places,
    /// By id, if they were read.
    headers: Option<HashMap<&'h str, &'h SessionHeader>>,
}

impl<'h> Current<'h> {
    /// Takes up a document, if no two workspaces in it are one directory.
    pub(super) fn of(document: Document, sessions: Sessions<'h>) -> Result<Self, Inconsistency> {
        let headers = match sessions {
            Sessions::All(headers) => Some(by_id(headers)),
            Sessions::Unread => None,
        };
        let mut places = Places::default();
        check_directories(&document, &mut places)?;
        Ok(Self { document, places, headers })
    }

    /// All workspaces, in the order of the list.
    pub(super) fn all(&mut self) -> Vec<Workspace> {
        let ids = self.document.ids.clone();
        ids.into_iter().filter_map(|id| self.one(id).ok()).collect()
    }

    pub(super) fn one(&mut self, id: WorkspaceId) -> Result<Workspace> {
        let record = self.document.records.get(&id).ok_or_else(|| unknown(id))?;
        let status = match self.places.find(Path::new(&record.path)) {
            Ok(_) => WorkspaceStatus::Ok,
            Err(_) => WorkspaceStatus::MissingDir,
        };
        let record = record.clone();
        let members = record
            .sessions
            .into_iter()
            .filter(|session| self.belonging(&record.path, session) == Some(Belonging::Member));
        let members: Vec<_> = members.collect();
        let is_archived = |session: &String| self.document.archived.contains(session);
        let (archived, sessions) = members.into_iter().partition(is_archived);
        Ok(Workspace {
            id,
            path: PathBuf::from(record.path),
            title: record.title,
            status,
            sessions,
            archived,
            created_at: record.created.at(),
            updated_at: record.updated.at(),
        })
    }

    /// The workspace on the directory that `path` leads to; where it leads to none, the one that
    /// has this path.
    pub(super) fn at(&mut self, path: &Path) -> Result<WorkspaceId> {
        let found = match Place::find(path) {
            Ok(place) => self.on(&place),
            Err(_) => std::path::absolute(path).ok().and_then(|path| self.spelled(&path)),
        };
        found.ok_or_else(|| Error::WorkspaceUnknown { workspace: path.display().to_string() })
    }

    /// The workspace on the directory at `path`, which is added if there is none.
    pub(super) fn create(&mut self, path: &Path) -> Result<WorkspaceId> {
        let place = Place::find(path).map_err(|none| Error::NotWorkspace {
            path: path.to_owned(),
            kind: none.kind,
            source: none.source,
        })?;
        if let Some(known) = self.on(&place) {
            return Ok(known);
        }
        let unspellable = || Error::UnspellableWorkspace { path: place.path().to_owned() };
        let record = described(&place).ok_or_else(unspellable)?;
        let id = WorkspaceId::random();
        self.document.ids.insert(0, id);
        self.document.records.insert(id, record);
        Ok(id)
    }

    pub(super) fn rename(&mut self, id: WorkspaceId, title: &str) -> Result<()> {
        let record = self.record(id)?;
        if record.title != title {
            title.clone_into(&mut record.title);
            record.updated = Time::now();
        }
        Ok(())
    }

    /// Takes it off the list, and says what it was.
    pub(super) fn remove(&mut self, id: WorkspaceId) -> Result<Workspace> {
        let removed = self.one(id)?;
        self.document.ids.retain(|other| *other != id);
        self.document.records.remove(&id);
        Ok(removed)
    }

    /// Puts these first, in this order.
    pub(super) fn reorder(&mut self, first: &[WorkspaceId]) -> Result<()> {
        if let Some(id) = first.iter().find(|id| !self.document.records.contains_key(id)) {
            return Err(unknown(*id));
        }
        let mut placed = HashSet::new();
        let all = first.iter().chain(&self.document.ids).copied();
        self.document.ids = all.filter(|id| placed.insert(*id)).collect();
        Ok(())
    }

    /// Lists a session, in no other workspace from now on.
    pub(super) fn attach(&mut self, id: WorkspaceId, session: &str) -> Result<()> {
        let path = self.record(id)?.path.clone();
        let belonging = self.belonging(&path, session).ok_or_else(|| nobody(session))?;
        match belonging {
            Belonging::Member => {}
            Belonging::Stranger(why) => return Err(mismatch(id, session, why)),
            Belonging::Unsure => return Err(mismatch(id, session, Mismatch::Unresolvable)),
        }
        for (other, record) in &mut self.document.records {
            let is_listed = record.sessions.iter().any(|listed| listed == session);
            if is_listed == (*other == id) {
                continue;
            }
            if is_listed {
                record.sessions.retain(|listed| listed != session);
            } else {
                record.sessions.insert(0, session.to_owned());
            }
            record.updated = Time::now();
        }
        Ok(())
    }

    pub(super) fn archive(&mut self, session: &str) -> Result<()> {
        self.header(session).ok_or_else(|| nobody(session))?;
        if !self.document.archived.iter().any(|archived| archived == session) {
            self.document.archived.push(session.to_owned());
        }
        Ok(())
    }

    pub(super) fn restore(&mut self, session: &str) -> Result<()> {
        self.header(session).ok_or_else(|| nobody(session))?;
        self.document.archived.retain(|archived| archived != session);
        Ok(())
    }

    /// Builds the list from the sessions that there are, unless that was done. What is listed
    /// already stays before what is added.
    pub(super) fn initialize(&mut self, headers: &[SessionHeader]) {
        if self.document.initialized {
            return;
        }
        self.document.initialized = true;
        let records = self.document.records.values();
        let listed = records.flat_map(|record| record.sessions.iter().cloned());
        let mut listed: HashSet<String> = listed.collect();
        let mut newest_first: Vec<_> = headers.iter().collect();
        newest_first.sort_by_key(|header| Reverse(header.created_at));
        for header in newest_first {
            let Ok(place) = self.places.of_session(header).cloned() else { continue };
            if !listed.contains(&header.id) && self.list(&place, header) {
                listed.insert(header.id.clone());
            }
        }
    }

    /// Lists a session that works at `place` behind those that are there. Nothing where the path
    /// cannot be written down.
    fn list(&mut self, place: &Place, header: &SessionHeader) -> bool {
        let id = match self.on(place) {
            Some(id) => id,
            None => {
                let Some(record) = described(place) else { return false };
                let id = WorkspaceId::random();
                self.document.ids.push(id);
                self.document.records.insert(id, record);
                id
            }
        };
        if let Some(record) = self.document.records.get_mut(&id) {
            record.sessions.push(header.id.clone());
            record.updated = Time::now();
        }
        true
    }

    /// Takes from each workspace the sessions that do not belong to it.
    pub(super) fn drop_strangers(&mut self) {
        for id in self.document.ids.clone() {
            let Some(record) = self.document.records.get(&id) else { continue };
            let (path, mut sessions) = (record.path.clone(), record.sessions.clone());
            sessions.retain(|session| !self.is_stranger(&path, session));
            if let Some(record) = self.document.records.get_mut(&id)
                && record.sessions.len() != sessions.len()
            {
                record.sessions = sessions;
                record.updated = Time::now();
            }
        }
    }

    fn is_stranger(&mut self, path: &str, session: &str) -> bool {
        match self.belonging(path, session) {
            Some(Belonging::Stranger(_)) => true,
            Some(Belonging::Member | Belonging::Unsure) => false,
            // It is gone, if anybody has looked.
            None => self.headers.is_some(),
        }
    }

    /// Whether a session belongs to the workspace at `path`, if it is stored.
    fn belonging(&mut self, path: &str, session: &str) -> Option<Belonging> {
        let header = self.header(session)?;
        Some(self.places.belonging(Path::new(path), header))
    }

    fn header(&self, session: &str) -> Option<&'h SessionHeader> {
        self.headers.as_ref()?.get(session).copied()
    }

    fn record(&mut self, id: WorkspaceId) -> Result<&mut Record> {
        self.document.records.get_mut(&id).ok_or_else(|| unknown(id))
    }

    /// The workspace on this directory.
    fn on(&mut self, place: &Place) -> Option<WorkspaceId> {
        let Self { document: Document { records, .. }, places, .. } = self;
        let mut records = records.iter();
        let found = records
            .find(|(_, record)| places.find(Path::new(&record.path)).is_ok_and(|own| own == place));
        found.map(|(id, _)| *id)
    }

    fn spelled(&self, path: &Path) -> Option<WorkspaceId> {
        let mut records = self.document.records.iter();
        records.find(|(_, record)| Path::new(&record.path) == path).map(|(id, _)| *id)
    }
}

/// No two workspaces are one directory. Of those that are missing the paths are all there is to
/// compare.
fn check_directories(document: &Document, places: &mut Places) -> Result<(), Inconsistency> {
    let mut found: HashMap<(PathBuf, Option<Place>), WorkspaceId> = HashMap::new();
    for id in &document.ids {
        let spelled = Path::new(&document.records[id].path);
        let place = places.find(spelled).ok().cloned();
        let path = place.as_ref().map_or(spelled, Place::path).to_owned();
        if let Some(first) = found.insert((path.clone(), place), *id) {
            let (first, second) = (first.to_string(), id.to_string());
            return Err(Inconsistency::OneDirectory { first, second, path });
        }
    }
    Ok(())
}

/// A workspace on `place`, called as its last component. Nothing if its path is no text.
fn described(place: &Place) -> Option<Record> {
    let path = place.path().to_str()?;
    let title = place.path().file_name().and_then(|name| name.to_str()).unwrap_or(path);
    Some(Record::new(path.to_owned(), title.to_owned()))
}

fn unknown(id: WorkspaceId) -> Error {
    Error::WorkspaceUnknown { workspace: id.to_string() }
}

fn nobody(session: &str) -> Error {
    Error::SessionUnknown { session: session.to_owned() }
}

fn mismatch(id: WorkspaceId, session: &str, why: Mismatch) -> Error {
    Error::SessionMismatch { session: session.to_owned(), workspace: id.to_string(), why }
}
