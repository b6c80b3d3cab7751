//! What is told of a change: one decision and one outcome. Never contents.

use std::path::PathBuf;
use std::time::Duration;

use ringfence_platform::{Receipt, Roots};

use crate::error::{Denial, Error, Layer};
use crate::mode::Mode;
use crate::request::{Outcome, Request};

const AUDIT: &str = "ringfence::audit";

macro_rules! event {
    ($($field:tt)*) => { tracing::info!(target: AUDIT, $($field)*) };
}

/// The span that a request's events are in.
pub(crate) fn request(request: &Request, mode: Mode) -> tracing::Span {
    let path = request.paths().next().unwrap_or("".as_ref());
    tracing::info_span!(target: AUDIT, "request", op = %request.op(), ?path, %mode)
}

pub(crate) fn decided(roots: Option<&Roots>, refusal: Option<&Error>) {
    match refusal {
        None => {
            let roots: Vec<_> = roots.into_iter().flat_map(Roots::iter).map(|r| r.path()).collect();
            event!(event = "policy/decided", decision = "allow", ?roots);
        }
        Some(error) => {
            let denial = denial(error);
            let roots: &[PathBuf] = denial.map_or(&[], |denial| &denial.roots);
            let reason = denial.map(|denial| match denial.by {
                Layer::Mode => "mode",
                Layer::Roots | Layer::LinkText | Layer::Resolution(_) | Layer::Confinement(_) => {
                    "containment"
                }
            });
            let narrowest = denial.and_then(|denial| denial.narrowest).map(Mode::as_str);
            let code = error.code();
            event!(event = "policy/decided", decision = "deny", %code, reason, ?roots, narrowest);
        }
    }
}

pub(crate) fn ended(request: &Request, result: &Result<Outcome, Error>, elapsed: Duration) {
    let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    match result {
        Ok(Outcome::Changed { receipt, .. } | Outcome::Edited { receipt, .. }) => {
            done(request, receipt, elapsed_us);
        }
        Ok(Outcome::Opened { .. } | Outcome::Text { .. } | Outcome::Listed { .. }) => {}
        Err(error) => {
            let (code, os_error) = (error.code(), error.os_error().map(ToString::to_string));
            event!(event = "change/failed", %code, os_error, elapsed_us);
        }
    }
}

fn done(request: &Request, receipt: &Receipt, elapsed_us: u64) {
    let bytes = match request {
        Request::Write { contents, .. } | Request::Replace { contents, .. } => Some(contents.len()),
        Request::Read { .. }
        | Request::ReadText { .. }
        | Request::List { .. }
        | Request::Edit { .. }
        | Request::CreateDir { .. }
        | Request::Remove { .. }
        | Request::Rename { .. }
        | Request::Symlink { .. } => None,
    };
    let Receipt { effect, enforcement, cas, not_kept, parents_created, .. } = receipt;
    let not_kept: Vec<_> = not_kept.iter().map(ToString::to_string).collect();
    event!(
        event = "change/done",
        %effect,
        level = %enforcement,
        %cas,
        bytes,
        elapsed_us,
        ?not_kept,
        parents_created,
    );
}

fn denial(error: &Error) -> Option<&Denial> {
    match error {
        Error::Denied(denial) => Some(denial),
        Error::Failed { .. }
        | Error::Unreadable { .. }
        | Error::EditNotFound { .. }
        | Error::AmbiguousEdit { .. }
        | Error::NotText { .. }
        | Error::TooLarge { .. }
        | Error::WrongFence { .. }
        | Error::Unavailable { .. }
        | Error::PolicyInvalid { .. } => None,
    }
}
