//! Which change of a fence a request asks for.

use std::path::PathBuf;

use ringfence_platform::{self as platform, LinkText, Mutation, Parents, RootedPath};

use crate::audit::Record;
use crate::change::Change;
use crate::error::Result;
use crate::request::{Outcome, Request};
use crate::texts::Wanted;

/// Has the one change made that `change` is about, and says to `record` what was decided.
pub(crate) fn make(change: &Change<'_>, record: &mut Record) -> Result<Outcome> {
    let request = change.request;
    if let Some(wanted) = Wanted::of(request) {
        let judged = record.decided(change.policy, change.judge([wanted.path()]))?;
        return wanted.make(change, judged);
    }
    match request {
        Request::Write { path, contents, when, parents } => {
            one(change, record, [path], |[path], passable| {
                let (contents, when) = (contents.clone(), when.clone());
                Ok(Mutation::Write { path, contents, when, parents: both(*parents, passable) })
            })
        }
        Request::CreateDir { path, parents } => one(change, record, [path], |[path], passable| {
            Ok(Mutation::CreateDir { path, parents: both(*parents, passable) })
        }),
        Request::Remove { path, what } => {
            one(change, record, [path], |[path], _| Ok(Mutation::Remove { path, what: *what }))
        }
        Request::Rename { from, to, when } => one(change, record, [from, to], |[from, to], _| {
            Ok(Mutation::Rename { from, to, when: when.clone() })
        }),
        Request::Symlink { path, text } => one(change, record, [path], |[path], _| {
            Ok(Mutation::Symlink { path, text: LinkText::new(text)? })
        }),
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

fn one<const N: usize>(
    change: &Change<'_>,
    record: &mut Record,
    raw: [&PathBuf; N],
    mutation: impl Fn([RootedPath; N], Parents) -> platform::Result<Mutation>,
) -> Result<Outcome> {
    let judged = record.decided(change.policy, change.judge(raw))?;
    let (path, receipt) = change.make(judged, mutation)?;
    Ok(Outcome::Changed { path, receipt })
}

/// Directories are made where the caller asks for them and the way allows it.
fn both(asked: Parents, passable: Parents) -> Parents {
    match passable {
        Parents::Create => asked,
        Parents::Require => Parents::Require,
    }
}
