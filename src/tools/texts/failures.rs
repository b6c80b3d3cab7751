//! What a model is told of what was refused or failed.

use std::error::Error as StdError;
use std::path::Path;

use crate::error::{Code, Denial, Error};
use crate::mode::Mode;

use super::super::arguments::{Unpaired, Violation};
use super::super::failure::Failure;
use super::super::key::Key;
use super::super::schema::{Pair, WIDER};
use super::super::tool::Tool;
use super::super::window::PastEnd;

/// What a tool of files does.
const OPERATION: &str = "operation";

/// What a shell does.
pub(super) const COMMAND: &str = "command";

/// What may be said of a wider mode.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Standing {
    pub(in super::super) pair: Pair,
    pub(in super::super) asking: Asking,
}

impl Standing {
    fn may_ask(self) -> bool {
        self.pair == Pair::Advertised && self.asking == Asking::Reaches
    }
}

/// Whether a question could reach a person.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) enum Asking {
    Reaches,
    Nobody,
}

/// What failed, on which path, and what to do about it. Paths are quoted, so that nothing in them
/// can be taken for anything else.
pub(in super::super) fn failure(failure: &Failure, standing: Standing) -> String {
    match failure {
        Failure::Cancelled { name } => format!("{name:?} was cancelled, so nothing was done"),
        Failure::NoTool { name, tools } => {
            let tools: Vec<_> = tools.iter().map(|tool| tool.as_str()).collect();
            format!("there is no tool {name:?}; there are: {}", tools.join(", "))
        }
        Failure::NoJob { tool, job } => {
            format!("{tool} did nothing: this session has no job {job:?}")
        }
        Failure::Invalid { tool, violations } => {
            let violations = violations.iter().map(|violation| format!("\n- {}", told(violation)));
            let violations: String = violations.collect();
            format!("the arguments of {tool} are not valid, so nothing was done:{violations}")
        }
        Failure::Unsupported { tool } => format!(
            "{tool} has no wider mode to run in, so nothing was done; retry without `{}` and `{}`",
            Key::SandboxPermissions,
            Key::Justification
        ),
        Failure::Unpaired { tool, why } => {
            format!("{tool} did nothing: {}", unpaired(*why))
        }
        Failure::PastEnd { tool, path, past } => past_end(*tool, path, past),
        Failure::Refused { error: Error::Denied(denial), .. } => denied(denial, standing),
        Failure::Refused { tool, path, error } => refused(*tool, path, error),
    }
}

fn told(violation: &Violation) -> String {
    match violation {
        Violation::NoObject { found } => format!("they must be an object and are {found}"),
        Violation::Missing { key } => format!("`{key}` is missing"),
        Violation::Type { key, expected, found } => {
            format!("`{key}` must be {expected} and is {found}")
        }
        Violation::Range { key, most: Some(most) } => {
            format!("`{key}` must be an integer from 1 to {most}")
        }
        Violation::Range { key, most: None } => format!("`{key}` must be an integer from 1 up"),
        Violation::NotPositive { key } => format!("`{key}` must be a number above 0"),
        Violation::NoMode { key } => {
            format!("`{key}` must be one of {}", WIDER.map(quoted).join(", "))
        }
        Violation::Blank { key } => format!("`{key}` must not be blank"),
        Violation::Empty { key } => format!("`{key}` must not be empty"),
        Violation::Nul { key } => format!("`{key}` must not have a NUL in it"),
        Violation::Same => format!(
            "`{}` must be another text than `{}`, and not in its line ends alone",
            Key::NewString,
            Key::OldString
        ),
    }
}

fn quoted(mode: Mode) -> String {
    format!("{:?}", mode.as_str())
}

fn unpaired(why: Unpaired) -> String {
    let (permissions, justification) = (Key::SandboxPermissions, Key::Justification);
    match why {
        Unpaired::Missing => {
            format!("`{permissions}` needs a `{justification}` for the user; retry with both")
        }
        Unpaired::Alone => {
            format!(
                "`{justification}` is only for `{permissions}`; retry with both or with neither"
            )
        }
        Unpaired::Blank => {
            format!("`{justification}` must tell the user why `{permissions}` is needed; retry so")
        }
    }
}

fn past_end(tool: Tool, path: &Path, PastEnd { offset, total }: &PastEnd) -> String {
    let (one, many) = match tool {
        Tool::Read | Tool::Write | Tool::Edit | Tool::Bash | Tool::BashOutput | Tool::BashKill => {
            ("line", "lines")
        }
        Tool::List => ("entry", "entries"),
    };
    let what = if *total == 1 { one } else { many };
    format!("cannot {tool} {path:?} from {one} {offset}: it has {total} {what}")
}

/// The first line of a denial, which says the mode and nothing else.
pub(super) fn marker(mode: Mode) -> String {
    format!("[sandbox: file access denied under {mode} mode]")
}

/// How what was denied may be asked for, where that could help.
pub(super) fn hint(
    subject: &str,
    mode: Mode,
    narrowest: Option<Mode>,
    standing: Standing,
) -> Option<String> {
    let narrowest = narrowest.filter(|wider| *wider > mode && standing.may_ask())?;
    Some(format!(
        "this exact {subject} may be retried once, in this turn, with `{}` set to {} and a `{}`; \
         the user will be asked",
        Key::SandboxPermissions,
        quoted(narrowest),
        Key::Justification
    ))
}

fn denied(denial: &Denial, standing: Standing) -> String {
    let mut lines = vec![marker(denial.mode), denial.to_string()];
    if !denial.roots.is_empty() {
        let roots: Vec<_> = denial.roots.iter().map(|root| format!("{root:?}")).collect();
        lines.push(format!("this mode allows changes beneath: {}", roots.join(", ")));
    }
    lines.extend(hint(OPERATION, denial.mode, denial.narrowest, standing));
    lines.join("\n")
}

fn refused(tool: Tool, path: &Path, error: &Error) -> String {
    let told = with_causes(error);
    let told = match error.op() {
        Some(_) => told,
        None if tool == Tool::Bash => format!("cannot run the command: {told}"),
        None => format!("cannot {tool} {path:?}: {told}"),
    };
    let remains = error.remains().then_some("directories that were made on the way may remain");
    let lines = [Some(told.as_str()), remains, advice(tool, error.code())];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// `error` and what lies beneath it.
fn with_causes(error: &Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    // The fence says the same of a request in its own words, with a path beneath the root.
    let retold = usize::from(matches!(error, Error::Failed { .. }));
    causes.skip(retold).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// What to do about an error, where its own words do not say it.
fn advice(tool: Tool, code: Code) -> Option<&'static str> {
    match code {
        Code::FsPermissionDenied => {
            Some("the host refused this, not the sandbox: a wider mode would not help")
        }
        Code::FsNotRegularFile => Some("it must be a regular file"),
        Code::FsNotDirectory => Some("it must be a directory"),
        Code::FsNotObserved => Some("read the file, then retry"),
        Code::FsStaleVersion => Some("it changed since it was read: read it again, then retry"),
        Code::FsEditNotFound => Some("read the file for its exact text, then retry"),
        Code::FsAmbiguousEdit => {
            Some("give more of the text around the right place, or set `replace_all`")
        }
        Code::FsAborted if tool == Tool::Bash => Some("the command was not run"),
        Code::FsAborted => Some("the file is as it was"),
        Code::SandboxUnavailable if tool == Tool::Bash => Some(
            "the command cannot be confined, so it was not run; `ringfence doctor` tells what is \
             missing. This is no denial, and no wider mode is to be asked for",
        ),
        Code::SandboxUnavailable => Some(
            "the boundary cannot be held, so nothing more is done; `ringfence doctor` tells \
             what is missing. This is no denial, and no wider mode is to be asked for",
        ),
        Code::SandboxEscalationUnsupported => {
            Some("nothing was done, and asking again does not help: there is no wider mode here")
        }
        Code::SandboxEscalationInvalid => {
            Some("nothing was done; give both the mode and the reason, or neither")
        }
        Code::SandboxEscalationNotWider => Some(
            "nothing was done, and nobody was asked; asking again for this mode does not help: \
             retry without it",
        ),
        Code::SandboxEscalationNoApprover | Code::SandboxEscalationNoAgent => {
            Some("nothing was done, and nobody can be asked; do not ask again")
        }
        Code::SandboxEscalationRejected => Some(
            "nothing was done; the user decided so, or has turned questions off. That is final for \
             this operation: do not ask again",
        ),
        Code::SandboxEscalationCancelled => {
            Some("nothing was done; ask again only if the user tells you to go on")
        }
        Code::SandboxEscalationUnavailable => {
            Some("nothing was done, and nobody has decided; asking once more may help")
        }
        Code::FsSandboxDenied
        | Code::FsNotFound
        | Code::FsNotText
        | Code::FsTooLarge
        | Code::FsIoError
        | Code::PolicyInvalid
        | Code::InvalidArgs
        | Code::WorkspaceSessionMismatch
        | Code::WorkspaceUnknown
        | Code::WorkspaceSessionUnknown
        | Code::WorkspaceInconsistent => None,
    }
}
