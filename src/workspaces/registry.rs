//! The registry: each operation reads the file anew, and writes it only as it was read.

use std::path::Path;

use ringfence_platform::{Confinement, Resolution};

use super::answer::Workspace;
use super::current::Current;
use super::document::Document;
use super::id::WorkspaceId;
use super::membership::{SessionHeader, Sessions};
use super::state::{Replaced, StateFile};
use crate::error::{Error, Inconsistency, Result};
use crate::text::Version;

/// How often a change is made anew because another process was faster. With each time one of them
/// has got on.
const MOST_ATTEMPTS: usize = 1_000;

/// A durable list of known workspaces and of the sessions that belong to them, for any number of
/// processes at once. It grants nothing: no policy reads it.
///
/// It is one JSON document in one file. Nothing of it is held in memory: an operation reads it, and
/// a change replaces what it has read or begins anew, so none is lost, and a crash leaves the file
/// as it was before a change or after it. Fields that are not known are kept. A file that is no
/// document, or contradicts itself, is refused and stays as it is.
///
/// A workspace is a directory: two are the same if both lead to one canonical path and one
/// directory, as the workspaces of two sessions are. A session belongs to one if it is attached to
/// it and works there. Others are in no answer, and the next change drops them, also those of a
/// workspace whose directory is missing.
///
/// # Errors
///
/// Every operation fails with [`Code::WorkspaceInconsistent`](crate::Code::WorkspaceInconsistent)
/// where the file does not agree with itself, and as a file is read or written by a session.
///
/// # Examples
///
/// ```
/// use ringfence::{Sessions, Workspaces};
/// # let here = std::env::current_dir()?.join(format!("target/doc-ws-{}", std::process::id()));
/// let workspaces = Workspaces::open(here.join("state/workspaces.json"))?;
/// assert!(workspaces.list(Sessions::Unread)?.is_empty());
/// let made = workspaces.create("src", Sessions::Unread)?;
/// assert_eq!(made.title, "src");
/// assert_eq!(workspaces.create("src/../src", Sessions::Unread)?.id, made.id);
/// # std::fs::remove_dir_all(&here)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Workspaces {
    state: StateFile,
}

impl Workspaces {
    /// The registry in the file `state`. Nothing is read or made yet; the first change makes the
    /// file, and the directories on the way.
    ///
    /// # Errors
    ///
    /// [`Code::FsNotFound`](crate::Code::FsNotFound) if the path cannot name a file.
    pub fn open(state: impl AsRef<Path>) -> Result<Self> {
        Ok(Self { state: StateFile::at(state.as_ref())? })
    }

    #[doc(hidden)]
    /// Writes by this kind of fence and no other.
    #[must_use]
    pub fn exactly(self, resolution: Resolution, confinement: Confinement) -> Self {
        Self { state: self.state.exactly(resolution, confinement) }
    }

    /// The file, as an absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.state.path()
    }

    /// All workspaces, in the order of the list.
    ///
    /// # Errors
    ///
    /// As every operation.
    pub fn list(&self, sessions: Sessions<'_>) -> Result<Vec<Workspace>> {
        Ok(self.read(sessions)?.0.all())
    }

    /// The workspace on the directory that `path` leads to, by whatever spelling. Where it leads to
    /// none, the one with this very path.
    ///
    /// # Errors
    ///
    /// [`Code::WorkspaceUnknown`](crate::Code::WorkspaceUnknown) if there is none.
    pub fn at(&self, path: impl AsRef<Path>, sessions: Sessions<'_>) -> Result<Workspace> {
        let (mut current, _) = self.read(sessions)?;
        let id = current.at(path.as_ref())?;
        current.one(id)
    }

    /// The workspace of this id.
    ///
    /// # Errors
    ///
    /// [`Code::WorkspaceUnknown`](crate::Code::WorkspaceUnknown) if there is none.
    pub fn get(&self, id: WorkspaceId, sessions: Sessions<'_>) -> Result<Workspace> {
        self.read(sessions)?.0.one(id)
    }

    /// Builds the list from all stored sessions, at the first start: one workspace for each
    /// directory that they work in, the newest first, and so its sessions. One whose directory
    /// cannot be found is left out. What is in the list already stays first. At any later start
    /// nothing is changed.
    ///
    /// # Errors
    ///
    /// As every operation.
    pub fn initialize(&self, headers: &[SessionHeader]) -> Result<Vec<Workspace>> {
        let sessions = Sessions::All(headers);
        let change = |current: &mut Current<'_>| {
            current.initialize(headers);
            Ok(())
        };
        Ok(self.change(sessions, change)?.0.all())
    }

    /// Adds the directory at `path` as the first of the list, called as its last component. If it
    /// is known already, by whatever spelling, it stays as it is.
    ///
    /// # Errors
    ///
    /// [`Code::FsNotFound`](crate::Code::FsNotFound) if nothing is there,
    /// [`Code::FsNotDirectory`](crate::Code::FsNotDirectory) if it is no directory,
    /// [`Code::FsIoError`](crate::Code::FsIoError) if its canonical path is not UTF-8, which the
    /// file cannot hold.
    pub fn create(&self, path: impl AsRef<Path>, sessions: Sessions<'_>) -> Result<Workspace> {
        let change = |current: &mut Current<'_>| current.create(path.as_ref());
        let (mut current, id) = self.change(sessions, change)?;
        current.one(id)
    }

    /// Gives a workspace another title.
    ///
    /// # Errors
    ///
    /// [`Code::WorkspaceUnknown`](crate::Code::WorkspaceUnknown) if there is none of this id.
    pub fn rename(
        &self,
        id: WorkspaceId,
        title: &str,
        sessions: Sessions<'_>,
    ) -> Result<Workspace> {
        self.change(sessions, |current| current.rename(id, title))?.0.one(id)
    }

    /// Takes a workspace off the list, and returns it as it was. Its directory and its sessions
    /// stay.
    ///
    /// # Errors
    ///
    /// [`Code::WorkspaceUnknown`](crate::Code::WorkspaceUnknown) if there is none of this id.
    pub fn remove(&self, id: WorkspaceId, sessions: Sessions<'_>) -> Result<Workspace> {
        Ok(self.change(sessions, |current| current.remove(id))?.1)
    }

    /// Puts these workspaces first, in this order. The others come behind them as they did, so one
    /// that was added meanwhile is not lost. Of an id that is given twice the first place counts.
    ///
    /// # Errors
    ///
    /// [`Code::WorkspaceUnknown`](crate::Code::WorkspaceUnknown) if there is none of one of the
    /// ids, and then nothing is changed.
    pub fn reorder(&self, first: &[WorkspaceId], sessions: Sessions<'_>) -> Result<Vec<Workspace>> {
        Ok(self.change(sessions, |current| current.reorder(first))?.0.all())
    }

    /// Attaches a session to the workspace it works in, as its first. It leaves any other.
    ///
    /// # Errors
    ///
    /// [`Code::WorkspaceUnknown`](crate::Code::WorkspaceUnknown) if there is no such workspace,
    /// [`Code::WorkspaceSessionUnknown`](crate::Code::WorkspaceSessionUnknown) if the session has
    /// no header, [`Code::WorkspaceSessionMismatch`](crate::Code::WorkspaceSessionMismatch) if it
    /// does not work there, and [`Error::reason`] says why.
    pub fn attach(
        &self,
        id: WorkspaceId,
        session: &str,
        headers: &[SessionHeader],
    ) -> Result<Workspace> {
        let change = |current: &mut Current<'_>| current.attach(id, session);
        self.change(Sessions::All(headers), change)?.0.one(id)
    }

    /// Archives a session. It stays in its workspace, if it is in one.
    ///
    /// # Errors
    ///
    /// [`Code::WorkspaceSessionUnknown`](crate::Code::WorkspaceSessionUnknown) if it has no header.
    pub fn archive(&self, session: &str, headers: &[SessionHeader]) -> Result<()> {
        self.change(Sessions::All(headers), |current| current.archive(session)).map(drop)
    }

    /// Takes a session out of the archive.
    ///
    /// # Errors
    ///
    /// As [`archive`](Self::archive).
    pub fn restore(&self, session: &str, headers: &[SessionHeader]) -> Result<()> {
        self.change(Sessions::All(headers), |current| current.restore(session)).map(drop)
    }

    /// The registry as it is now, and what the file was seen to be, if it was there.
    fn read<'h>(&self, sessions: Sessions<'h>) -> Result<(Current<'h>, Option<Version>)> {
        let inconsistent =
            |why| Error::Inconsistent { path: self.path().to_owned(), why: Box::new(why) };
        let text = match self.state.read() {
            Err(Error::NotText { why, .. }) => Err(inconsistent(Inconsistency::NotText(why))),
            read => read,
        }?;
        let document = text.as_ref().map(|text| Document::parse(&text.text)).transpose();
        let document = document.map_err(inconsistent)?.unwrap_or_default();
        let current = Current::of(document, sessions).map_err(inconsistent)?;
        Ok((current, text.map(|text| text.version)))
    }

    /// Makes a change to what the file says now, and anew to what it says then if another process
    /// was faster. Where nothing changes, nothing is written.
    fn change<'h, T>(
        &self,
        sessions: Sessions<'h>,
        change: impl Fn(&mut Current<'h>) -> Result<T>,
    ) -> Result<(Current<'h>, T)> {
        let mut writer = None;
        for last in (0..MOST_ATTEMPTS).rev().map(|left| left == 0) {
            let (mut current, seen) = self.read(sessions)?;
            let before = current.document.to_json();
            let done = change(&mut current)?;
            if current.document.to_json() == before {
                return Ok((current, done));
            }
            current.drop_strangers();
            let writer = match &writer {
                Some(opened) => opened,
                None => writer.insert(self.state.writer()?),
            };
            match writer.replace(seen, current.document.to_json())? {
                Replaced::Yes => return Ok((current, done)),
                Replaced::SomebodyWasFaster(error) if last => return Err(error),
                Replaced::SomebodyWasFaster(_) => {}
            }
        }
        unreachable!("the last attempt returns")
    }
}
