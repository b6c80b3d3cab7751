//! Changes of files that are made only over what was read.

use std::path::PathBuf;

use ringfence_platform::{ErrorKind, Mutation, Parents, Precondition, Snapshot};

use crate::change::{Change, Judged};
use crate::error::{Code, Error, Result};
use crate::request::{Outcome, Request};
use crate::text::{Edit, MAX_TEXT_BYTES, Read, Version};

/// How often a change is made anew because somebody else was faster.
const MOST_ATTEMPTS: usize = 16;

/// A request for a change of one file.
#[derive(Debug)]
pub(crate) struct Guarded<'r, 'c> {
    pub(crate) change: &'r Change<'c>,
    pub(crate) request: &'r Request,
    pub(crate) raw: &'r PathBuf,
}

/// Why an attempt has come to nothing.
#[derive(Debug)]
enum Failure {
    /// What was read is not what was there when it was to be written.
    Raced(Error),
    /// It would be so again.
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl<'c> Guarded<'_, 'c> {
    /// Reads, edits and writes back; only what the caller has `seen`, if they say what that is.
    pub(crate) fn edit(
        &self,
        judged: Judged<'c, 1>,
        edit: &Edit,
        seen: Option<&Version>,
    ) -> Result<Outcome> {
        self.until_nobody_is_faster(judged, |mut judged| {
            let (path, snapshot) = self.open(&mut judged, seen)?;
            let unedited = |why| Error::unedited(self.change.op, path.clone(), why);
            let read = Read::all(snapshot, MAX_TEXT_BYTES).map_err(|why| unedited(why.into()))?;
            if seen.is_some_and(|seen| !seen.is(&read)) {
                return Err(self.stale(path).into());
            }
            // What cannot be edited is written back as it is: whether the file may be changed at
            // all is said first, and does not depend on what is in it.
            let (contents, replaced) = match read.edited(edit) {
                Ok((contents, replaced)) => (contents, Ok(replaced)),
                Err(why) => (read.bytes.clone(), Err(unedited(why))),
            };
            let made = self.write(judged, &contents, &read.precondition())?;
            let Outcome::Changed { path, receipt } = made else { return Ok(made) };
            Ok(Outcome::Edited { path, receipt, replaced: replaced? })
        })
    }

    /// Replaces what the caller has seen by `contents`.
    pub(crate) fn replace(
        &self,
        judged: Judged<'c, 1>,
        contents: &[u8],
        seen: &Version,
    ) -> Result<Outcome> {
        self.until_nobody_is_faster(judged, |mut judged| {
            let (path, snapshot) = self.open(&mut judged, Some(seen))?;
            let unread = |why| Error::unedited(self.change.op, path.clone(), why);
            match seen.precondition(snapshot).map_err(unread)? {
                Some(when) => self.write(judged, contents, &when),
                None => Err(self.stale(path).into()),
            }
        })
    }

    fn open(
        &self,
        judged: &mut Judged<'c, 1>,
        seen: Option<&Version>,
    ) -> Result<(PathBuf, Snapshot)> {
        match self.change.open(judged) {
            Err(Error::Failed { path, kind: ErrorKind::NotFound, .. }) if seen.is_some() => {
                Err(self.stale(path))
            }
            opened => opened,
        }
    }

    fn write(
        &self,
        judged: Judged<'c, 1>,
        contents: &[u8],
        when: &Precondition,
    ) -> Result<Outcome, Failure> {
        let made = self.change.make(judged, |[path], _| {
            let (contents, when) = (contents.to_vec(), when.clone());
            Ok(Mutation::Write { path, contents, when, parents: Parents::Require })
        });
        made.map_err(|error| match error.code() == Code::FsStaleVersion {
            true => Failure::Raced(error),
            false => Failure::Final(error),
        })
    }

    fn until_nobody_is_faster(
        &self,
        mut judged: Judged<'c, 1>,
        attempt: impl Fn(Judged<'c, 1>) -> Result<Outcome, Failure>,
    ) -> Result<Outcome> {
        for last in (0..MOST_ATTEMPTS).rev().map(|left| left == 0) {
            match attempt(judged) {
                Ok(outcome) => return Ok(outcome),
                Err(Failure::Raced(_)) if !last => {}
                Err(Failure::Raced(error) | Failure::Final(error)) => return Err(error),
            }
            judged = self.change.judge(self.request, [self.raw])?;
        }
        unreachable!("the last attempt returns")
    }

    fn stale(&self, path: PathBuf) -> Error {
        Error::Failed { op: self.change.op, path, kind: ErrorKind::Stale, source: None }
    }
}
