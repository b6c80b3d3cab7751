//! Texts that are written or edited: only over what was seen, and again if somebody was faster.

use std::path::PathBuf;

use ringfence_platform::{
    Effect, ErrorKind, Lost, Mutation, Parents, Precondition, Receipt, RootedPath, Snapshot,
};

use crate::aiming::{Aiming, passable};
use crate::change::{Change, Judged};
use crate::error::{Code, Error, Result};
use crate::request::{Op, Outcome, Request, WriteIntent};
use crate::target::Target;
use crate::text::{self, Diff, DiffLimits, Edit, Read, TextTerms, Unedited, Version};

/// How often a change is made anew because somebody else was faster.
const MOST_ATTEMPTS: usize = 16;

/// A request to write or edit one text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'r> {
    Text { path: &'r PathBuf, text: &'r str, intent: &'r WriteIntent },
    Edit { path: &'r PathBuf, edit: &'r Edit, seen: Option<&'r Version> },
}

/// What would be written, after everything that there is to read for it was read.
#[derive(Debug)]
pub(crate) struct Draft {
    contents: Vec<u8>,
    when: Precondition,
    parents: Parents,
    replaced: Option<usize>,
    /// A mark stands before the old text and not before the new one.
    drops_bom: bool,
    /// The bytes that it is compared with, where that is wanted and they can be read.
    before: Option<Vec<u8>>,
    /// Why it is not written after all. Said last: whether the file may be changed at all does not
    /// depend on what is in it.
    unwritten: Option<Error>,
}

/// What would be written, once nothing that can be seen keeps it from being written.
#[derive(Debug)]
pub(crate) struct Rehearsed {
    pub(crate) draft: Draft,
    pub(crate) target: Target,
    /// Where that would be, if it can be told.
    pub(crate) place: Option<PathBuf>,
}

impl<'r> Wanted<'r> {
    /// What `request` wants, if it is about a text.
    pub(crate) fn of(request: &'r Request) -> Option<Self> {
        match request {
            Request::WriteText { path, text, intent } => Some(Self::Text { path, text, intent }),
            Request::Edit { path, edit, seen } => {
                Some(Self::Edit { path, edit, seen: seen.as_ref() })
            }
            Request::Read { .. }
            | Request::ReadText { .. }
            | Request::StreamText { .. }
            | Request::ReadBytes { .. }
            | Request::Resolve { .. }
            | Request::Stat { .. }
            | Request::List { .. }
            | Request::Write { .. }
            | Request::CreateDir { .. }
            | Request::Remove { .. }
            | Request::Rename { .. }
            | Request::Symlink { .. } => None,
        }
    }

    pub(crate) fn path(&self) -> &'r PathBuf {
        match self {
            Self::Text { path, .. } | Self::Edit { path, .. } => path,
        }
    }

    /// Reads what is to be replaced, and says what would be written. Changes nothing.
    fn draft(
        &self,
        aiming: &Aiming<'_>,
        target: &mut [Target; 1],
        terms: TextTerms<'_>,
    ) -> Result<Draft> {
        match self {
            Self::Text { text, intent, .. } => replace(aiming, target, text, intent, terms),
            Self::Edit { edit, seen, .. } => amend(aiming, target, edit, *seen, terms),
        }
    }

    /// Looks at everything that would make it fail, as far as reading can tell.
    pub(crate) fn rehearse(&self, aiming: &Aiming<'_>, terms: TextTerms<'_>) -> Result<Rehearsed> {
        let mut target = aiming.targets([self.path()])?;
        let draft = self.draft(aiming, &mut target, terms)?;
        let (draft, place) = draft.rehearsed(aiming, &mut target)?;
        let [target] = target;
        Ok(Rehearsed { draft, target, place })
    }

    /// Writes it. What has changed since it was read is read again.
    pub(crate) fn make<'c>(
        &self,
        change: &Change<'c>,
        mut judged: Judged<'c, 1>,
    ) -> Result<Outcome> {
        for last in (0..MOST_ATTEMPTS).rev().map(|left| left == 0) {
            let draft = self.draft(&judged.aiming, &mut judged.targets, change.texts)?;
            let draft = match draft.unwritten {
                Some(_) => {
                    let rehearsed = draft.rehearsed(&judged.aiming, &mut judged.targets);
                    rehearsed.map(|(draft, _)| draft)
                }
                None => Ok(draft),
            };
            let made = draft.and_then(|draft| {
                let write = |[path]: [_; 1], passable| Ok(draft.mutation(path, passable));
                let (path, receipt) = change.make(judged, write)?;
                Ok(draft.outcome(path, receipt, change.texts.diff))
            });
            match made {
                Err(error) if error.code() == Code::FsStaleVersion && !last => {}
                made => return made,
            }
            judged = change.judge([self.path()])?;
        }
        unreachable!("the last attempt returns")
    }
}

impl Draft {
    /// The draft of what is not written, though what is there is as `when` says.
    fn unwritten(when: Precondition, why: Error) -> Self {
        Self {
            contents: Vec::new(),
            when,
            parents: Parents::Require,
            replaced: None,
            drops_bom: false,
            before: None,
            unwritten: Some(why),
        }
    }

    /// The draft, if it would be written, and where that would be, if that can be told.
    fn rehearsed(
        self,
        aiming: &Aiming<'_>,
        target: &mut [Target; 1],
    ) -> Result<(Self, Option<PathBuf>)> {
        let place = aiming.until_it_hits(target, |fence, targets| {
            fence.rehearse(&self.mutation(targets[0].at.clone(), passable(targets)))
        })?;
        match self.unwritten {
            Some(why) => Err(why),
            None => Ok((self, place)),
        }
    }

    fn mutation(&self, path: RootedPath, passable: Parents) -> Mutation {
        let parents = match passable {
            Parents::Create => self.parents,
            Parents::Require => Parents::Require,
        };
        let (contents, when) = (self.contents.clone(), self.when.clone());
        Mutation::Write { path, contents, when, parents }
    }

    /// What differs from before, where that is wanted and can be told.
    pub(crate) fn diff(&self, limits: Option<DiffLimits>) -> Option<Diff> {
        let after = std::str::from_utf8(&self.contents).ok()?;
        Diff::between(self.before.as_deref()?, after, limits?)
    }

    fn outcome(self, path: PathBuf, mut receipt: Receipt, limits: Option<DiffLimits>) -> Outcome {
        if self.drops_bom && receipt.effect == Effect::Replaced {
            receipt.not_kept.push(Lost::Bom);
        }
        let version = match receipt.after {
            Some(stamp) => Version::written(stamp, &self.contents),
            None => Version::changing(),
        };
        let (diff, replaced) = (self.diff(limits), self.replaced);
        Outcome::Written { path, receipt, version, replaced, diff }
    }
}

/// The draft of a whole new text.
fn replace(
    aiming: &Aiming<'_>,
    target: &mut [Target; 1],
    text: &str,
    intent: &WriteIntent,
    terms: TextTerms<'_>,
) -> Result<Draft> {
    // The start of the old file says whether it has a mark, and all of it what differs.
    let most = terms.diff.map_or(text::BOM.len(), |limits| limits.max_bytes.saturating_add(1));
    let (when, before) = match intent {
        WriteIntent::CreateIfAbsent => (Precondition::Absent, Some(Vec::new())),
        // One that cannot be read can be replaced all the same, where the fence lets it. Nothing
        // is told of what was in it.
        WriteIntent::Any => (Precondition::None, start_if_readable(aiming, target, most)),
        WriteIntent::ReplaceIfVersion(seen) => {
            let (path, snapshot) = open_seen(aiming, target)?;
            let unread = |why| Error::unedited(aiming.op, path.clone(), why);
            let start = text::start(&snapshot, most).map_err(Unedited::Failed).map_err(unread)?;
            match seen.precondition(snapshot, terms.cancel).map_err(unread)? {
                Some(when) => (when, Some(start)),
                None => return Err(stale(aiming.op, path)),
            }
        }
    };
    let had_bom = before.as_ref().is_some_and(|before| before.starts_with(text::BOM));
    let path = &target[0].shown;
    let too_large = text::check_size(text.len() as u64, terms.most_bytes).err();
    Ok(Draft {
        contents: text.as_bytes().to_vec(),
        when,
        parents: Parents::Create,
        replaced: None,
        drops_bom: had_bom && !text.as_bytes().starts_with(text::BOM),
        before,
        unwritten: too_large.map(|why| Error::unedited(aiming.op, path.clone(), why)),
    })
}

/// The draft of a text with a part replaced.
fn amend(
    aiming: &Aiming<'_>,
    target: &mut [Target; 1],
    edit: &Edit,
    seen: Option<&Version>,
    terms: TextTerms<'_>,
) -> Result<Draft> {
    let (path, snapshot) = match seen {
        Some(_) => open_seen(aiming, target)?,
        None => aiming.open(target)?,
    };
    let (stamp, limit) = (snapshot.stamp, terms.most_bytes);
    let opened = Precondition::Matches { stamp, digest: None };
    let unedited = |why| Error::unedited(aiming.op, path.clone(), why);
    if let Err(why) = text::check_size(stamp.size(), limit) {
        // Whether it is what was seen is told first, and can be said of a file of any size.
        let when = match seen {
            Some(seen) => seen.precondition(snapshot, terms.cancel).map_err(unedited)?,
            None => Some(opened),
        };
        let when = when.ok_or_else(|| stale(aiming.op, path.clone()))?;
        return Ok(Draft::unwritten(when, unedited(why)));
    }
    let read = match Read::all(snapshot, limit, terms.cancel).map_err(Unedited::from) {
        Ok(read) => read,
        // It has grown since it was opened, so it is not what was opened.
        Err(why @ Unedited::TooLarge { .. }) => {
            return Ok(Draft::unwritten(opened, unedited(why)));
        }
        Err(why) => return Err(unedited(why)),
    };
    if seen.is_some_and(|seen| !seen.is(&read)) {
        return Err(stale(aiming.op, path));
    }
    let when = read.precondition();
    let (contents, replaced) = match read.edited(edit, limit) {
        Ok((contents, replaced)) => (contents, Some(replaced)),
        Err(why) => return Ok(Draft::unwritten(when, unedited(why))),
    };
    let (parents, before) = (Parents::Require, terms.diff.map(|_| read.bytes));
    Ok(Draft { contents, when, parents, replaced, drops_bom: false, before, unwritten: None })
}

/// The first bytes of what is there, and none where nothing is. Nothing if it cannot be read.
fn start_if_readable(
    aiming: &Aiming<'_>,
    target: &mut [Target; 1],
    most: usize,
) -> Option<Vec<u8>> {
    match aiming.open(target) {
        Ok((_, snapshot)) => text::start(&snapshot, most).ok(),
        Err(Error::Failed { kind: ErrorKind::NotFound, .. }) => Some(Vec::new()),
        Err(_) => None,
    }
}

/// Opens what was seen. If it is gone, it is no longer what was seen.
fn open_seen(aiming: &Aiming<'_>, target: &mut [Target; 1]) -> Result<(PathBuf, Snapshot)> {
    match aiming.open(target) {
        Err(Error::Failed { path, kind: ErrorKind::NotFound, .. }) => Err(stale(aiming.op, path)),
        opened => opened,
    }
}

fn stale(op: Op, path: PathBuf) -> Error {
    Error::Failed { op, path, kind: ErrorKind::Stale, source: None }
}
