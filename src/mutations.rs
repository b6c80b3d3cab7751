//! Which change of a fence a request asks for.

use std::path::PathBuf;

use ringfence_platform::{self as platform, LinkText, Mutation, Parents, RootedPath};

use crate::aiming::{Aiming, passable};
use crate::audit::Record;
use crate::change::Change;
use crate::error::Result;
use crate::request::{Outcome, Request};
use crate::text::TextTerms;
use crate::texts::{Rehearsed, Wanted};

/// Has the one change made that `change` is about, and says to `record` what was decided.
pub(crate) fn make(change: &Change<'_>, record: &mut Record) -> Result<Outcome> {
    if let Some(wanted) = Wanted::of(change.request) {
        let judged = record.decided(change.policy, change.judge([wanted.path()]))?;
        return wanted.make(change, judged);
    }
    match ends(change.request) {
        (path, None) => made_at(change, record, [path]),
        (from, Some(to)) => made_at(change, record, [from, to]),
    }
}

fn made_at<const N: usize>(
    change: &Change<'_>,
    record: &mut Record,
    raw: [&PathBuf; N],
) -> Result<Outcome> {
    let judged = record.decided(change.policy, change.judge(raw))?;
    let (path, receipt) = change.make(judged, |at, way| mutation(change.request, &at, way))?;
    Ok(Outcome::Changed { path, receipt })
}

/// Says what would come of the change that `request` asks for, and where it would be, if that can
/// be told. Changes nothing.
pub(crate) fn rehearse(
    request: &Request,
    aiming: &Aiming<'_>,
    texts: TextTerms<'_>,
) -> Result<Option<PathBuf>> {
    if let Some(wanted) = Wanted::of(request) {
        let Rehearsed { place, .. } = wanted.rehearse(aiming, texts)?;
        return Ok(place);
    }
    match ends(request) {
        (path, None) => rehearsed_at(request, aiming, [path]),
        (from, Some(to)) => rehearsed_at(request, aiming, [from, to]),
    }
}

fn rehearsed_at<const N: usize>(
    request: &Request,
    aiming: &Aiming<'_>,
    raw: [&PathBuf; N],
) -> Result<Option<PathBuf>> {
    let mut targets = aiming.targets(raw)?;
    aiming.until_it_hits(&mut targets, |fence, targets| {
        let at = targets.each_ref().map(|target| target.at.clone());
        fence.rehearse(&mutation(request, &at, passable(targets))?)
    })
}

/// The paths of a change that is not about a text.
fn ends(request: &Request) -> (&PathBuf, Option<&PathBuf>) {
    match request {
        Request::Write { path, .. }
        | Request::CreateDir { path, .. }
        | Request::Remove { path, .. }
        | Request::Symlink { path, .. } => (path, None),
        Request::Rename { from, to, .. } => (from, Some(to)),
        Request::WriteText { .. }
        | Request::Edit { .. }
        | Request::Read { .. }
        | Request::ReadText { .. }
        | Request::StreamText { .. }
        | Request::ReadBytes { .. }
        | Request::Resolve { .. }
        | Request::Stat { .. }
        | Request::List { .. } => unreachable!("a text, or no change"),
    }
}

/// The change at these places, of which there is one for each path of `request`.
fn mutation(request: &Request, at: &[RootedPath], passable: Parents) -> platform::Result<Mutation> {
    let path = at[0].clone();
    Ok(match request {
        Request::Write { contents, when, parents, .. } => {
            let (contents, when) = (contents.clone(), when.clone());
            Mutation::Write { path, contents, when, parents: both(*parents, passable) }
        }
        Request::CreateDir { parents, .. } => {
            Mutation::CreateDir { path, parents: both(*parents, passable) }
        }
        Request::Remove { what, .. } => Mutation::Remove { path, what: *what },
        Request::Rename { when, .. } => {
            Mutation::Rename { from: path, to: at[1].clone(), when: when.clone() }
        }
        Request::Symlink { text, .. } => Mutation::Symlink { path, text: LinkText::new(text)? },
        Request::WriteText { .. }
        | Request::Edit { .. }
        | Request::Read { .. }
        | Request::ReadText { .. }
        | Request::StreamText { .. }
        | Request::ReadBytes { .. }
        | Request::Resolve { .. }
        | Request::Stat { .. }
        | Request::List { .. } => unreachable!("a text, or no change"),
    })
}

/// Directories are made where the caller asks for them and the way allows it.
fn both(asked: Parents, passable: Parents) -> Parents {
    match passable {
        Parents::Create => asked,
        Parents::Require => Parents::Require,
    }
}
