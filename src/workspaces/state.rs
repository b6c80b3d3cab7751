//! The file that the registry is in: read whole, and replaced as it was read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ringfence_platform::{Confinement, Durability, ErrorKind, Parents, Resolution, Root};

use crate::error::{Code, Error, Result};
use crate::mode::Mode;
use crate::policy::{Settings, TempAreas};
use crate::request::{Op, Outcome, Request, WriteIntent};
use crate::service::PolicyService;
use crate::session::Session;
use crate::text::{Text, Version};

/// What the sessions are called in the audit that the file is read and written by.
const NAME: &str = "workspaces";

/// The file. It is written through a session of its own, around its directory.
#[derive(Clone, Debug)]
pub(super) struct StateFile {
    path: PathBuf,
    dir: PathBuf,
    name: OsString,
    /// This fence and no other.
    kind: Option<(Resolution, Confinement)>,
}

/// Writes the file, behind one fence however often.
#[derive(Debug)]
pub(super) struct Writer {
    session: Session,
    name: OsString,
}

/// Whether the file was replaced.
#[derive(Debug)]
pub(super) enum Replaced {
    Yes,
    /// It is not as it was seen.
    SomebodyWasFaster(Error),
}

impl StateFile {
    pub(super) fn at(path: &Path) -> Result<Self> {
        let absolute = std::path::absolute(path).ok();
        let parts = absolute.as_deref().and_then(|path| {
            Some((path.to_owned(), path.parent()?.to_owned(), path.file_name()?.to_owned()))
        });
        let (path, dir, name) = parts.ok_or_else(|| Error::Failed {
            op: Op::Read,
            path: path.to_owned(),
            kind: ErrorKind::InvalidPath,
            source: None,
        })?;
        Ok(Self { path, dir, name, kind: None })
    }

    pub(super) fn exactly(self, resolution: Resolution, confinement: Confinement) -> Self {
        Self { kind: Some((resolution, confinement)), ..self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it; nothing where it is not there.
    pub(super) fn read(&self) -> Result<Option<Text>> {
        if !self.is_there(&self.dir)? {
            return Ok(None);
        }
        let session = self.session(&self.dir, Mode::ReadOnly)?;
        match session.perform(Request::ReadText { path: self.name.clone().into() }) {
            Ok(Outcome::Text { text, .. }) => Ok(Some(text)),
            Ok(other) => unreachable!("a text is answered by a text and not by {other:?}"),
            Err(error) if error.code() == Code::FsNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes its directory, and what it can be written with.
    pub(super) fn writer(&self) -> Result<Writer> {
        self.make_dir()?;
        let session = self.session(&self.dir, Mode::WorkspaceWrite)?;
        Ok(Writer { session, name: self.name.clone() })
    }

    /// Makes the directory, from the first above it that is there.
    fn make_dir(&self) -> Result<()> {
        for above in self.dir.ancestors() {
            if self.is_there(above)? {
                let missing = self.dir.strip_prefix(above).unwrap_or(&self.dir);
                if missing.as_os_str().is_empty() {
                    return Ok(());
                }
                let session = self.session(above, Mode::WorkspaceWrite)?;
                let (path, parents) = (missing.to_owned(), Parents::Create);
                return session.perform(Request::CreateDir { path, parents }).map(drop);
            }
        }
        Ok(())
    }

    /// Whether a directory is there.
    fn is_there(&self, dir: &Path) -> Result<bool> {
        match Root::open(dir) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::Failed {
                op: Op::Read,
                path: self.path.clone(),
                kind: error.kind(),
                source: Some(error),
            }),
        }
    }

    fn session(&self, dir: &Path, mode: Mode) -> Result<Session> {
        let mut settings = Settings::default()
            .workspace(dir)
            .mode(mode)
            .temps(TempAreas::none())
            .durability(Durability::Full);
        if let Some((resolution, confinement)) = self.kind {
            settings = settings.exactly(resolution, confinement);
        }
        PolicyService::load(settings)?.session().name(NAME).open()
    }
}

impl Writer {
    /// Replaces what was seen, and makes the file where nothing was.
    pub(super) fn replace(&self, seen: Option<Version>, text: String) -> Result<Replaced> {
        let intent = seen.map_or(WriteIntent::CreateIfAbsent, WriteIntent::ReplaceIfVersion);
        let path = self.name.clone().into();
        match self.session.perform(Request::WriteText { path, text, intent }) {
            Ok(_) => Ok(Replaced::Yes),
            Err(error) if matches!(error.code(), Code::FsStaleVersion | Code::FsNotObserved) => {
                Ok(Replaced::SomebodyWasFaster(error))
            }
            Err(error) => Err(error),
        }
    }
}
