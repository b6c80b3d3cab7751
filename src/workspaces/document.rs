//! The one JSON document that the registry is.
//!
//! A workspace is stored by its path alone: numbers of devices and inodes are not the same after a
//! reboot. Which directory that is, is looked up whenever it matters.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::fields::{Fields, Unknown};
use super::id::WorkspaceId;
use super::time::Time;
use crate::error::Inconsistency;

const INITIALIZED: &str = "initialized";
const WORKSPACE_IDS: &str = "workspaceIds";
const ARCHIVED: &str = "archivedSessionIds";
const WORKSPACES: &str = "workspaces";
const PATH: &str = "path";
const TITLE: &str = "title";
const SESSION_IDS: &str = "sessionIds";
const CREATED_AT: &str = "createdAt";
const UPDATED_AT: &str = "updatedAt";

/// What the list of the workspaces has to be.
const IDS: &str = "a list of UUIDs in lower case";

/// All that is known. What it says agrees with itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    /// Whether the list was built from the sessions that there were.
    pub(super) initialized: bool,
    /// Each id of `records`, in the order of the list.
    pub(super) ids: Vec<WorkspaceId>,
    pub(super) archived: Vec<String>,
    pub(super) records: BTreeMap<WorkspaceId, Record>,
    unknown: Unknown,
}

/// One workspace.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Canonical when it was stored, and never rewritten.
    pub(super) path: String,
    pub(super) title: String,
    pub(super) sessions: Vec<String>,
    pub(super) created: Time,
    pub(super) updated: Time,
    unknown: Unknown,
}

impl Document {
    /// What `text` says, if that is consistent.
    pub(super) fn parse(text: &str) -> Result<Self, Inconsistency> {
        let mut fields = Fields::of_document(text)?;
        let initialized = fields.take(INITIALIZED, "a boolean")?;
        let ids: Vec<String> = fields.take(WORKSPACE_IDS, IDS)?;
        let ids: Option<Vec<_>> = ids.iter().map(|id| id.parse().ok()).collect();
        let ids = ids.ok_or_else(|| fields.wrong(WORKSPACE_IDS, IDS))?;
        let archived = fields.take(ARCHIVED, "a list of texts")?;
        let records = records(fields.take_object(WORKSPACES)?)?;
        let document = Self { initialized, ids, archived, records, unknown: fields.rest() };
        document.check_ids()?;
        document.check_sessions()?;
        Ok(document)
    }

    pub(super) fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("names and texts can be written");
        text.push('\n');
        text
    }

    fn check_ids(&self) -> Result<(), Inconsistency> {
        let mut listed = HashSet::new();
        for id in &self.ids {
            if !listed.insert(id) {
                return Err(Inconsistency::ListedTwice { workspace: id.to_string() });
            }
            if !self.records.contains_key(id) {
                return Err(Inconsistency::NotDescribed { workspace: id.to_string() });
            }
        }
        match self.records.keys().find(|id| !listed.contains(id)) {
            Some(id) => Err(Inconsistency::NotListed { workspace: id.to_string() }),
            None => Ok(()),
        }
    }

    fn check_sessions(&self) -> Result<(), Inconsistency> {
        let mut found = HashMap::new();
        for id in &self.ids {
            for session in &self.records[id].sessions {
                if let Some(first) = found.insert(session, id) {
                    let (first, second) = (first.to_string(), id.to_string());
                    return Err(Inconsistency::SessionTwice {
                        session: session.clone(),
                        first,
                        second,
                    });
                }
            }
        }
        let mut archived = HashSet::new();
        match self.archived.iter().find(|session| !archived.insert(*session)) {
            Some(session) => Err(Inconsistency::ArchivedTwice { session: session.clone() }),
            None => Ok(()),
        }
    }
}

fn records(mut fields: Fields) -> Result<BTreeMap<WorkspaceId, Record>, Inconsistency> {
    let mut records = BTreeMap::new();
    while let Some(name) = fields.first() {
        let id = name.parse().map_err(|_| fields.wrong(&name, "named by a UUID in lower case"))?;
        records.insert(id, Record::read(fields.take_object(&name)?)?);
    }
    Ok(records)
}

impl Record {
    /// A workspace without sessions, made now.
    pub(super) fn new(path: String, title: String) -> Self {
        let now = Time::now();
        let (created, updated) = (now.clone(), now);
        Self { path, title, sessions: Vec::new(), created, updated, unknown: Unknown::default() }
    }

    fn read(mut fields: Fields) -> Result<Self, Inconsistency> {
        let path: String = fields.take(PATH, "an absolute path")?;
        if !Path::new(&path).is_absolute() {
            return Err(fields.wrong(PATH, "an absolute path"));
        }
        let title = fields.take(TITLE, "a text")?;
        let sessions = fields.take(SESSION_IDS, "a list of texts")?;
        let [created, updated] = [CREATED_AT, UPDATED_AT].map(|name| {
            let text = fields.take(name, "an ISO 8601 time")?;
            Time::parse(text).ok_or_else(|| fields.wrong(name, "an ISO 8601 time"))
        });
        let (created, updated) = (created?, updated?);
        Ok(Self { path, title, sessions, created, updated, unknown: fields.rest() })
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(INITIALIZED, &self.initialized)?;
        let ids: Vec<_> = self.ids.iter().map(ToString::to_string).collect();
        map.serialize_entry(WORKSPACE_IDS, &ids)?;
        map.serialize_entry(ARCHIVED, &self.archived)?;
        map.serialize_entry(WORKSPACES, &Records(self))?;
        self.unknown.serialize(&mut map)?;
        map.end()
    }
}

/// The workspaces by id, in the order of the list.
struct Records<'d>(&'d Document);

impl Serialize for Records<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(Document { ids, records, .. }) = self;
        serializer.collect_map(ids.iter().map(|id| (id.to_string(), &records[id])))
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(PATH, &self.path)?;
        map.serialize_entry(TITLE, &self.title)?;
        map.serialize_entry(SESSION_IDS, &self.sessions)?;
        map.serialize_entry(CREATED_AT, self.created.as_str())?;
        map.serialize_entry(UPDATED_AT, self.updated.as_str())?;
        self.unknown.serialize(&mut map)?;
        map.end()
    }
}
