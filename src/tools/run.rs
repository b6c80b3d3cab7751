//! One call of a tool: what it asks of the session, and what came of that.

use std::path::{Path, PathBuf};

use ringfence_platform::{Effect, Kind};

use crate::call::{Call, Guard};
use crate::error::Error;
use crate::policy::Escalation;
use crate::request::{Entry, Op, Outcome, Request, WriteIntent};
use crate::session::Session;
use crate::text::{DiffLimits, TextStream};

use super::answer::{Answer, Change, Found, Listed, Operation};
use super::arguments::{Arguments, Wider};
use super::context::CallContext;
use super::failure::Failure;
use super::limits::Limits;
use super::listing::Page;
use super::looks::Looks;
use super::texts;
use super::tool::Tool;
use super::window::{Frame, PastEnd, Window, Windowing};

/// How often a file that changes while it is read is read again.
const MOST_READS: usize = 3;

/// One call of a tool whose arguments are accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    pub(super) tool: Tool,
    pub(super) session: &'a Session,
    pub(super) context: &'a CallContext,
    pub(super) limits: &'a Limits,
    pub(super) guard: Guard,
    /// Whether a change tells what differs.
    pub(super) diff: Option<DiffLimits>,
    pub(super) looks: &'a Looks,
}

impl Run<'_> {
    pub(super) fn answer(&self, arguments: Arguments) -> Result<Answer, Failure> {
        match arguments {
            Arguments::Read { path, offset, limit } => self.read(path, offset, limit),
            Arguments::Write { path, content: text, wider } => {
                let intent = WriteIntent::Any;
                self.change(Request::WriteText { path, text, intent }, wider)
            }
            Arguments::Edit { path, edit, wider } => {
                self.change(Request::Edit { path, edit, seen: None }, wider)
            }
            Arguments::List { path, offset, limit } => self.list(path, offset, limit),
            Arguments::Bash { command, wider } => self.command(command, wider),
            Arguments::BashOutput { job } => self.look(job),
            Arguments::BashKill { job } => self.kill(job),
        }
    }

    /// Shows a part of a text. One that does not stand still is read again, and is shown all the
    /// same in the end.
    fn read(&self, raw: PathBuf, offset: u64, limit: usize) -> Result<Answer, Failure> {
        let Limits { read_max_line_length: chars, read_max_bytes: bytes, .. } = *self.limits;
        for left in (0..MOST_READS).rev() {
            let outcome = self.outcome(Request::StreamText { path: raw.clone() }, None)?;
            let Outcome::Stream { path, key, mut stream } = outcome else {
                unreachable!("a stream")
            };
            let mark = texts::cut_mark(chars);
            let frame = Frame { offset, lines: limit, bytes, chars, mark };
            let window = self.window(&path, &mut stream, frame)?;
            let version = stream.version().expect("it was read to its end");
            if version.is_none() && left > 0 {
                continue;
            }
            if self.guard == Guard::Observation {
                self.session.saw(key, version.clone());
            }
            return Ok(Answer::Lines { path, window });
        }
        unreachable!("the last read returns")
    }

    /// Reads to the end, whatever is shown of it: all of it is to be text, and is what was seen.
    fn window(
        &self,
        path: &Path,
        stream: &mut TextStream,
        frame: Frame,
    ) -> Result<Window, Failure> {
        let op = Op::ReadText;
        let mut windowing = Windowing::new(frame);
        for chunk in stream {
            let chunk = chunk.map_err(|why| Error::unedited(op, path.to_owned(), why.into()));
            windowing.push(&chunk.map_err(|error| self.refused(path, error))?);
        }
        windowing.finish().map_err(|past| self.past_end(path, past))
    }

    fn change(&self, request: Request, wider: Option<Wider>) -> Result<Answer, Failure> {
        let outcome = self.outcome(request, wider)?;
        let Outcome::Written { path, receipt, replaced, diff, .. } = outcome else {
            unreachable!("a text that was written")
        };
        let operation = match receipt.effect {
            Effect::Created => Operation::Create,
            Effect::Replaced => Operation::Update,
            Effect::Unchanged => Operation::Unchanged,
            Effect::Removed | Effect::Renamed | Effect::Exchanged | _ => {
                unreachable!("a text is written")
            }
        };
        let not_kept = receipt.not_kept;
        Ok(Answer::Change(Change { path, operation, replaced, not_kept, diff }))
    }

    fn list(&self, path: PathBuf, offset: u64, limit: usize) -> Result<Answer, Failure> {
        let call = self.call(Request::List { path }, None);
        let outcome = self.made(call.following(Page::range(offset, limit)))?;
        let Outcome::Listed { path, entries } = outcome else { unreachable!("a listing") };
        let entries = entries.into_iter().map(listed).collect();
        let page = Page::of(entries, offset, limit);
        let page = page.map_err(|past| self.past_end(&path, past))?;
        Ok(Answer::Entries { path, page })
    }

    fn outcome(&self, request: Request, wider: Option<Wider>) -> Result<Outcome, Failure> {
        self.made(self.call(request, wider))
    }

    fn made(&self, call: Call) -> Result<Outcome, Failure> {
        let path = call.request.paths().next().map(Path::to_owned).unwrap_or_default();
        self.session.call(call).map_err(|error| self.refused(&path, error))
    }

    fn call(&self, request: Request, wider: Option<Wider>) -> Call {
        let CallContext { call_id, cancel, .. } = self.context.clone();
        let mut call = Call::new(request).tool(self.tool.as_str()).cancel(cancel);
        if let Some(id) = call_id {
            call = call.id(id);
        }
        if let Some(Wider { to, justification }) = wider {
            call = call.escalate(Escalation { to, justification });
        }
        if let Some(limits) = self.diff {
            call = call.with_diff(limits);
        }
        match self.guard {
            Guard::Observation => call.observed(),
            Guard::Request => call,
        }
    }

    pub(super) fn refused(&self, path: &Path, error: Error) -> Failure {
        Failure::Refused { tool: self.tool, path: path.to_owned(), error }
    }

    fn past_end(&self, path: &Path, past: PastEnd) -> Failure {
        Failure::PastEnd { tool: self.tool, path: path.to_owned(), past }
    }
}

/// An entry and what it leads to.
fn listed(Entry { name, target, .. }: Entry) -> Listed {
    let kind = match target {
        Some((Kind::File, stamp)) => Found::File { size: stamp.size() },
        Some((Kind::Dir, _)) => Found::Directory,
        Some((Kind::Symlink | Kind::Other | _, _)) | None => Found::Other,
    };
    Listed { name, kind }
}

#[cfg(test)]
mod tests {
    use ringfence_platform::Cancel;

    use super::*;
    use crate::error::Code;

    #[test]
    fn a_read_that_is_cancelled_on_the_way_shows_nothing() {
        let session = Session::builder().workspace(env!("CARGO_MANIFEST_DIR")).build().unwrap();
        let context = CallContext { cancel: Cancel::new(), ..CallContext::default() };
        let run = Run {
            tool: Tool::Read,
            session: &session,
            context: &context,
            limits: &Limits::default(),
            guard: Guard::Observation,
            diff: None,
            looks: &Looks::default(),
        };
        let frame = || Frame { offset: 1, lines: 1, bytes: 99, chars: 9, mark: String::new() };
        let open = || {
            let opened = run.outcome(Request::StreamText { path: "Cargo.toml".into() }, None);
            let Ok(Outcome::Stream { path, stream, .. }) = opened else { panic!("a stream") };
            (path, stream)
        };
        let ((path, mut whole), (_, mut cut_off)) = (open(), open());
        assert!(run.window(&path, &mut whole, frame()).is_ok());
        context.cancel.cancel();
        let error = run.window(&path, &mut cut_off, frame()).unwrap_err();
        assert_eq!(error.code(), Code::FsAborted);
    }
}
