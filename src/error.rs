//! What the caller should do about a request that was refused or failed.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::PathBuf;

use ringfence_platform::process::NoRunner;
use ringfence_platform::{Confinement, Enforcement, ErrorKind, Resolution};

use crate::mode::Mode;
use crate::request::Op;
use crate::text::{NotText, Unedited};

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refused or failed request. [`code`](Self::code) is the stable part.
///
/// The text names the operation, the path as the caller spelled it, and what was wrong. What to do
/// about it is added by the surface that shows it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The policy refuses: the mode, or a place that is beneath no writable root.
    #[error("{0}")]
    Denied(Denial),
    /// The host refused, or the call failed.
    #[error("cannot {op} {path:?}: {}", What(*kind, source.as_ref()))]
    Failed {
        /// What was asked for.
        op: Op,
        /// The path it failed on.
        path: PathBuf,
        /// What was wrong.
        kind: ErrorKind,
        /// The fence's own account of it, where a fence was asked.
        source: Option<ringfence_platform::Error>,
    },
    /// A file was opened and could not be read.
    #[error("cannot {op} {path:?}: it could not be read")]
    Unreadable {
        /// What was asked for.
        op: Op,
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// The text to replace is not in the file.
    #[error("cannot edit {path:?}: the text to replace is not in it")]
    EditNotFound {
        /// The file.
        path: PathBuf,
    },
    /// The text to replace is in the file more than once.
    #[error("cannot edit {path:?}: the text to replace is in it {matches} times")]
    AmbiguousEdit {
        /// The file.
        path: PathBuf,
        /// How often; overlapping occurrences count.
        matches: usize,
    },
    /// The file is not text.
    #[error("cannot {op} {path:?}: {why}")]
    NotText {
        /// What was asked for.
        op: Op,
        /// The file.
        path: PathBuf,
        /// What it is that is no text.
        why: NotText,
    },
    /// The file is larger than is taken as text.
    #[error("cannot {op} {path:?}: it has {size} bytes, and {limit} is the most")]
    TooLarge {
        /// What was asked for.
        op: Op,
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The largest that is taken, in bytes.
        limit: u64,
    },
    /// The owner of the session has not read what it would change.
    #[error("cannot {op} {path:?}: it has not been read")]
    NotObserved {
        /// What was asked for.
        op: Op,
        /// The file.
        path: PathBuf,
    },
    /// A wider mode was asked for and not given. Nothing was changed.
    #[error("{0}")]
    Escalation(Unescalated),
    /// The fence is not the one that the grant is for, so nothing was done.
    #[error("cannot {op} {path:?}: the fence is not on the roots that were granted")]
    WrongFence {
        /// What was asked for.
        op: Op,
        /// The path it was asked for.
        path: PathBuf,
    },
    /// The boundary cannot be held on this host as hard as was required.
    #[error("a boundary with {required} enforcement or better cannot be held here")]
    Unavailable {
        /// The weakest enforcement that would have been accepted.
        required: Enforcement,
        /// Why there is none, if the host said so.
        source: Option<ringfence_platform::Error>,
    },
    /// Nothing here can confine a command as is required. It was not run.
    #[error("{0}")]
    NoRunner(NoRunner),
    /// What confines a command could not be set up. It was not run.
    #[error("the command could not be confined, so it was not run")]
    RunnerFailed {
        /// What went wrong.
        source: io::Error,
    },
    /// The workspace is no longer where it was opened: it was moved, or another is there now.
    #[error(
        "the workspace {path:?} was moved or replaced; nothing is changed until it is reopened"
    )]
    WorkspaceMoved {
        /// Where it was opened.
        path: PathBuf,
    },
    /// The policy service was closed.
    #[error("no policy is loaded, so nothing is done")]
    NoPolicy,
    /// The process was forked after the session was opened, which does not work in the child.
    #[error("the session belongs to another process, which this one was forked from")]
    Forked,
    /// A setting of the policy is not one that can be held.
    #[error("invalid {setting} {found:?}: expected {expected}")]
    PolicyInvalid {
        /// Which setting.
        setting: &'static str,
        /// What it has to be.
        expected: &'static str,
        /// What it is.
        found: PathBuf,
    },
    /// What is at a path cannot be a workspace of the registry.
    #[error("cannot make {path:?} a workspace: {}", What(*kind, source.as_ref()))]
    NotWorkspace {
        /// The path.
        path: PathBuf,
        /// What was wrong.
        kind: ErrorKind,
        /// The system's own account of it, where it was asked.
        source: Option<ringfence_platform::Error>,
    },
    /// The path of a directory cannot be written into the state file of the registry.
    #[error("cannot make {path:?} a workspace: its path is not UTF-8")]
    UnspellableWorkspace {
        /// The canonical path.
        path: PathBuf,
    },
    /// The registry has no such workspace.
    #[error("the registry has no workspace {workspace:?}")]
    WorkspaceUnknown {
        /// Its id or its path, as the caller gave it.
        workspace: String,
    },
    /// Nobody has stored a session of this id.
    #[error("no session {session:?} is stored")]
    SessionUnknown {
        /// Its id.
        session: String,
    },
    /// The session does not belong to the workspace, so it is not attached to it.
    #[error("session {session:?} does not belong to workspace {workspace}: {why}")]
    SessionMismatch {
        /// The id of the session.
        session: String,
        /// The id of the workspace.
        workspace: String,
        /// Why it does not.
        why: Mismatch,
    },
    /// The state file of the registry contradicts itself, or is none. It was left as it is.
    #[error("the workspaces in {path:?} are inconsistent: {why}")]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        why: Box<Inconsistency>,
    },
}

/// Why a session does not belong to a workspace.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Its header has no working directory.
    #[error("it has no working directory")]
    NoCwd,
    /// Its working directory is relative, is not there or cannot be entered.
    #[error("its working directory cannot be found")]
    Unresolvable,
    /// Its working directory is something else by now.
    #[error("its working directory is no directory")]
    NotDirectory,
    /// It works in another directory.
    #[error("it works in {cwd:?}")]
    Elsewhere {
        /// In which, canonical.
        cwd: PathBuf,
    },
}

/// What is wrong in the state file of the registry: the first thing that was found.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Inconsistency {
    /// It is no text.
    #[error("{0}")]
    NotText(NotText),
    /// It is not one JSON document.
    #[error("it is no JSON from line {line}, column {column} on")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column in it, in bytes.
        column: usize,
    },
    /// Something in it is missing or of another type.
    #[error("{field} has to be {expected}")]
    Type {
        /// What.
        field: String,
        /// What it has to be.
        expected: &'static str,
    },
    /// A name is twice in one object.
    #[error("{field} is there twice")]
    FieldTwice {
        /// Which.
        field: String,
    },
    /// An id is twice in `workspaceIds`.
    #[error("workspace {workspace} is listed twice")]
    ListedTwice {
        /// The id.
        workspace: String,
    },
    /// An id is in `workspaces` and not in `workspaceIds`.
    #[error("workspace {workspace} is not listed in workspaceIds")]
    NotListed {
        /// The id.
        workspace: String,
    },
    /// An id is in `workspaceIds` and not in `workspaces`.
    #[error("workspace {workspace} is listed and not in workspaces")]
    NotDescribed {
        /// The id.
        workspace: String,
    },
    /// Two workspaces are one directory.
    #[error("workspaces {first} and {second} are one directory, {path:?}")]
    OneDirectory {
        /// The id of one.
        first: String,
        /// The id of the other.
        second: String,
        /// The directory: canonical, or as both spell it where it is missing.
        path: PathBuf,
    },
    /// A session is in two workspaces, or twice in one.
    #[error("session {session:?} is in workspace {first} and again in {second}")]
    SessionTwice {
        /// The id of the session.
        session: String,
        /// The id of the workspace that has it first.
        first: String,
        /// The id of the one that has it again.
        second: String,
    },
    /// A session is twice in `archivedSessionIds`.
    #[error("session {session:?} is archived twice")]
    ArchivedTwice {
        /// The id of the session.
        session: String,
    },
}

/// Why a call does not run in a wider mode. Nothing was changed and nothing was run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Unescalated {
    /// It is not offered for this.
    #[error("no wider mode is offered for this call")]
    Unsupported,
    /// A mode was named without a reason.
    #[error("a wider mode needs a justification")]
    MissingJustification,
    /// A reason was given for no mode.
    #[error("a justification was given, and no mode that it is for")]
    UnpairedJustification,
    /// The reason says nothing.
    #[error("the justification is blank")]
    BlankJustification,
    /// The mode is no wider than the one in force.
    #[error("{to} is no wider than {from}, which is in force")]
    NotWider {
        /// The mode in force.
        from: Mode,
        /// The mode that was asked for.
        to: Mode,
    },
    /// There is nobody to ask.
    #[error("nobody can be asked for a wider mode here")]
    NoApprover,
    /// The call is of no agent, so there is no way to ask.
    #[error("the call belongs to no agent that a question could be put for")]
    NoAgent,
    /// The person said no.
    #[error("the answer was no")]
    Rejected,
    /// Questions are turned off, so nobody was shown it.
    #[error("questions are turned off, so the answer is no")]
    ApprovalsOff,
    /// The call was cancelled before the person answered.
    #[error("the question was cancelled before it was answered")]
    Cancelled,
    /// The question did not reach anybody.
    #[error("the question did not reach anybody who could answer it")]
    Unavailable,
}

/// A refusal by the policy, with what would have sufficed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Denial {
    /// What was asked for.
    pub op: Op,
    /// The path that was refused.
    pub path: PathBuf,
    /// The mode it was judged under.
    pub mode: Mode,
    /// Where that mode may write.
    pub roots: Vec<PathBuf>,
    /// The narrowest mode that would have sufficed, if one would; none for a writable root itself
    /// and the whole volume. Under a mode that allows no change this is judged by the spelling
    /// alone, since nothing is looked at; but for a tool, whose path was looked at before.
    pub narrowest: Option<Mode>,
    /// Who refused.
    pub by: Layer,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, path, mode, by, .. } = self;
        write!(f, "cannot {op} {path:?} in {mode} mode: ")?;
        match by {
            Layer::Mode => f.write_str("the mode allows no change"),
            Layer::Roots if self.roots.contains(path) => {
                f.write_str("it is a writable root itself")
            }
            Layer::Roots => f.write_str("no writable root contains it"),
            Layer::Protected => f.write_str("it is protected, or on the way to a protected place"),
            Layer::LinkText => f.write_str("a symlink with an absolute text is made in no mode"),
            Layer::Resolution(_) => {
                write!(f, "the fence ({by}) found that it leads out of the writable roots")
            }
            Layer::Confinement(_) => {
                write!(f, "the confined thread ({by}) found it moved out of the writable roots")
            }
        }
    }
}

/// Which layer refused. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// The mode, which allows no change at all.
    Mode,
    /// The set of writable roots, of which none is there.
    Roots,
    /// The fence, which leaves a protected place as it is.
    Protected,
    /// Nobody: a symlink with such a text is made in no mode.
    LinkText,
    /// The fence, while it resolved the path.
    Resolution(Resolution),
    /// The acting thread, which the kernel keeps from writing elsewhere.
    Confinement(Confinement),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode => f.pad("mode"),
            Self::Roots => f.pad("roots"),
            Self::Protected => f.pad("protected"),
            Self::LinkText => f.pad("link_text"),
            Self::Resolution(resolution) => resolution.fmt(f),
            Self::Confinement(confinement) => confinement.fmt(f),
        }
    }
}

/// What an error means, for a program to decide on. `Display` gives its stable string.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The policy refuses: mode or containment.
    FsSandboxDenied,
    /// The host refuses, not the sandbox: a wider mode would not help.
    FsPermissionDenied,
    /// Nothing is there, or the path can name nothing.
    FsNotFound,
    /// A directory, FIFO, socket or device where a file is needed.
    FsNotRegularFile,
    /// Something else where a directory is needed.
    FsNotDirectory,
    /// Something is there that was required to be absent.
    FsNotObserved,
    /// What is there is not the version that was required.
    FsStaleVersion,
    /// The file is not text.
    FsNotText,
    /// The file is larger than a limit.
    FsTooLarge,
    /// The text to replace is not there.
    FsEditNotFound,
    /// The text to replace is there more than once.
    FsAmbiguousEdit,
    /// Any other failure of the system; [`Error::reason`] says more.
    FsIoError,
    /// The caller cancelled.
    FsAborted,
    /// The boundary cannot be held, so nothing is done.
    SandboxUnavailable,
    /// A setting of the policy is not valid.
    PolicyInvalid,
    /// The arguments of a tool are not what it takes.
    InvalidArgs,
    /// No wider mode is offered for the call.
    SandboxEscalationUnsupported,
    /// The mode and its justification do not go together; [`Error::reason`] says more.
    SandboxEscalationInvalid,
    /// The mode is no wider than the one in force.
    SandboxEscalationNotWider,
    /// There is nobody to ask.
    SandboxEscalationNoApprover,
    /// There is no agent to ask for.
    SandboxEscalationNoAgent,
    /// A person said no, or has turned questions off.
    SandboxEscalationRejected,
    /// The call was cancelled before a person answered.
    SandboxEscalationCancelled,
    /// The question reached nobody.
    SandboxEscalationUnavailable,
    /// The session does not belong to the workspace; [`Error::reason`] says more.
    WorkspaceSessionMismatch,
    /// The registry has no such workspace.
    WorkspaceUnknown,
    /// No such session is stored.
    WorkspaceSessionUnknown,
    /// The state file of the registry contradicts itself.
    WorkspaceInconsistent,
}

impl Code {
    /// The stable string.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FsSandboxDenied => "FS_SANDBOX_DENIED",
            Self::FsPermissionDenied => "FS_PERMISSION_DENIED",
            Self::FsNotFound => "FS_NOT_FOUND",
            Self::FsNotRegularFile => "FS_NOT_REGULAR_FILE",
            Self::FsNotDirectory => "FS_NOT_DIRECTORY",
            Self::FsNotObserved => "FS_NOT_OBSERVED",
            Self::FsStaleVersion => "FS_STALE_VERSION",
            Self::FsNotText => "FS_NOT_TEXT",
            Self::FsTooLarge => "FS_TOO_LARGE",
            Self::FsEditNotFound => "FS_EDIT_NOT_FOUND",
            Self::FsAmbiguousEdit => "FS_AMBIGUOUS_EDIT",
            Self::FsIoError => "FS_IO_ERROR",
            Self::FsAborted => "FS_ABORTED",
            Self::SandboxUnavailable => "SANDBOX_UNAVAILABLE",
            Self::PolicyInvalid => "POLICY_INVALID",
            Self::InvalidArgs => "INVALID_ARGS",
            Self::SandboxEscalationUnsupported => "SANDBOX_ESCALATION_UNSUPPORTED",
            Self::SandboxEscalationInvalid => "SANDBOX_ESCALATION_INVALID",
            Self::SandboxEscalationNotWider => "SANDBOX_ESCALATION_NOT_WIDER",
            Self::SandboxEscalationNoApprover => "SANDBOX_ESCALATION_NO_APPROVER",
            Self::SandboxEscalationNoAgent => "SANDBOX_ESCALATION_NO_AGENT",
            Self::SandboxEscalationRejected => "SANDBOX_ESCALATION_REJECTED",
            Self::SandboxEscalationCancelled => "SANDBOX_ESCALATION_CANCELLED",
            Self::SandboxEscalationUnavailable => "SANDBOX_ESCALATION_UNAVAILABLE",
            Self::WorkspaceSessionMismatch => "WORKSPACE_SESSION_MISMATCH",
            Self::WorkspaceUnknown => "WORKSPACE_UNKNOWN",
            Self::WorkspaceSessionUnknown => "WORKSPACE_SESSION_UNKNOWN",
            Self::WorkspaceInconsistent => "WORKSPACE_INCONSISTENT",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What lies behind [`Code::FsIoError`], [`Code::SandboxEscalationInvalid`] or
/// [`Code::WorkspaceSessionMismatch`]. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// More symlinks on the way than are followed.
    Loop,
    /// A name or the path is longer than the system takes.
    NameTooLong,
    /// No space is left.
    NoSpace,
    /// A quota is used up.
    Quota,
    /// Something holds it.
    Busy,
    /// The file system cannot do it.
    Unsupported,
    /// Anything else; see the source.
    Other,
    /// A wider mode was asked for without a justification.
    MissingJustification,
    /// A justification was given without a mode.
    UnpairedJustification,
    /// The justification is blank.
    BlankJustification,
    /// The session has no working directory.
    NoCwd,
    /// The working directory of the session cannot be found.
    Unresolvable,
    /// The working directory of the session is no directory.
    NotDirectory,
    /// The session works in another directory.
    Elsewhere,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Loop => "loop",
            Self::NameTooLong => "name_too_long",
            Self::NoSpace => "no_space",
            Self::Quota => "quota",
            Self::Busy => "busy",
            Self::Unsupported => "unsupported",
            Self::Other => "other",
            Self::MissingJustification => "missing_justification",
            Self::UnpairedJustification => "unpaired_justification",
            Self::BlankJustification => "blank_justification",
            Self::NoCwd => "no_cwd",
            Self::Unresolvable => "unresolvable",
            Self::NotDirectory => "not_directory",
            Self::Elsewhere => "elsewhere",
        })
    }
}

impl Error {
    pub(crate) fn unedited(op: Op, path: PathBuf, why: Unedited) -> Self {
        match why {
            Unedited::Failed(source) => Self::Unreadable { op, path, source },
            Unedited::TooLarge { size, limit } => Self::TooLarge { op, path, size, limit },
            Unedited::NotText(why) => Self::NotText { op, path, why },
            Unedited::Cancelled => {
                Self::Failed { op, path, kind: ErrorKind::Cancelled, source: None }
            }
            Unedited::NotFound => Self::EditNotFound { path },
            Unedited::Ambiguous { matches } => Self::AmbiguousEdit { path, matches },
        }
    }

    /// What the error means.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Denied(_) => Code::FsSandboxDenied,
            Self::Failed { op, kind, .. } => failed(*op, *kind, self.not_empty()),
            Self::Unreadable { .. } => Code::FsIoError,
            Self::EditNotFound { .. } => Code::FsEditNotFound,
            Self::AmbiguousEdit { .. } => Code::FsAmbiguousEdit,
            Self::NotText { .. } => Code::FsNotText,
            Self::TooLarge { .. } => Code::FsTooLarge,
            Self::NotObserved { .. } => Code::FsNotObserved,
            Self::Escalation(why) => why.code(),
            Self::WrongFence { .. }
            | Self::Unavailable { .. }
            | Self::NoRunner(_)
            | Self::RunnerFailed { .. }
            | Self::WorkspaceMoved { .. }
            | Self::NoPolicy
            | Self::Forked => Code::SandboxUnavailable,
            Self::PolicyInvalid { .. } => Code::PolicyInvalid,
            // What would be refused of a directory that is to be listed.
            Self::NotWorkspace { kind, .. } => failed(Op::List, *kind, false),
            Self::UnspellableWorkspace { .. } => Code::FsIoError,
            Self::WorkspaceUnknown { .. } => Code::WorkspaceUnknown,
            Self::SessionUnknown { .. } => Code::WorkspaceSessionUnknown,
            Self::SessionMismatch { .. } => Code::WorkspaceSessionMismatch,
            Self::Inconsistent { .. } => Code::WorkspaceInconsistent,
        }
    }

    /// What lies behind [`Code::FsIoError`], [`Code::SandboxEscalationInvalid`] or
    /// [`Code::WorkspaceSessionMismatch`]; nothing for any other code.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Unreadable { .. } => Some(Reason::Other),
            Self::Failed { kind, .. } | Self::NotWorkspace { kind, .. } => {
                (self.code() == Code::FsIoError).then(|| reason(*kind))
            }
            Self::Escalation(why) => why.reason(),
            Self::UnspellableWorkspace { .. } => Some(Reason::Unsupported),
            Self::SessionMismatch { why, .. } => Some(why.reason()),
            Self::Denied(_)
            | Self::EditNotFound { .. }
            | Self::AmbiguousEdit { .. }
            | Self::NotText { .. }
            | Self::TooLarge { .. }
            | Self::NotObserved { .. }
            | Self::WrongFence { .. }
            | Self::Unavailable { .. }
            | Self::NoRunner(_)
            | Self::RunnerFailed { .. }
            | Self::WorkspaceMoved { .. }
            | Self::NoPolicy
            | Self::Forked
            | Self::PolicyInvalid { .. }
            | Self::WorkspaceUnknown { .. }
            | Self::SessionUnknown { .. }
            | Self::Inconsistent { .. } => None,
        }
    }

    /// The operation that was asked for, if the error came after one was.
    #[must_use]
    pub fn op(&self) -> Option<Op> {
        match self {
            Self::Denied(Denial { op, .. })
            | Self::Failed { op, .. }
            | Self::Unreadable { op, .. }
            | Self::NotText { op, .. }
            | Self::TooLarge { op, .. }
            | Self::NotObserved { op, .. }
            | Self::WrongFence { op, .. } => Some(*op),
            Self::EditNotFound { .. } | Self::AmbiguousEdit { .. } => Some(Op::Edit),
            Self::Escalation(_)
            | Self::Unavailable { .. }
            | Self::NoRunner(_)
            | Self::RunnerFailed { .. }
            | Self::WorkspaceMoved { .. }
            | Self::NoPolicy
            | Self::Forked
            | Self::PolicyInvalid { .. }
            | Self::NotWorkspace { .. }
            | Self::UnspellableWorkspace { .. }
            | Self::WorkspaceUnknown { .. }
            | Self::SessionUnknown { .. }
            | Self::SessionMismatch { .. }
            | Self::Inconsistent { .. } => None,
        }
    }

    /// The system's own error, where there was one.
    #[must_use]
    pub fn os_error(&self) -> Option<&io::Error> {
        std::iter::successors(StdError::source(self), |error| (*error).source())
            .filter_map(|error| error.downcast_ref())
            .last()
    }

    /// Whether something was done that remains: directories that were made for the change, or a
    /// part of a tree that was to be removed.
    #[must_use]
    pub fn remains(&self) -> bool {
        matches!(self, Self::Failed { source: Some(error), .. } if error.remains())
    }

    fn not_empty(&self) -> bool {
        self.os_error().is_some_and(|error| error.kind() == io::ErrorKind::DirectoryNotEmpty)
    }
}

impl Mismatch {
    fn reason(&self) -> Reason {
        match self {
            Self::NoCwd => Reason::NoCwd,
            Self::Unresolvable => Reason::Unresolvable,
            Self::NotDirectory => Reason::NotDirectory,
            Self::Elsewhere { .. } => Reason::Elsewhere,
        }
    }
}

impl Unescalated {
    fn code(self) -> Code {
        match self {
            Self::Unsupported => Code::SandboxEscalationUnsupported,
            Self::MissingJustification | Self::UnpairedJustification | Self::BlankJustification => {
                Code::SandboxEscalationInvalid
            }
            Self::NotWider { .. } => Code::SandboxEscalationNotWider,
            Self::NoApprover => Code::SandboxEscalationNoApprover,
            Self::NoAgent => Code::SandboxEscalationNoAgent,
            Self::Rejected | Self::ApprovalsOff => Code::SandboxEscalationRejected,
            Self::Cancelled => Code::SandboxEscalationCancelled,
            Self::Unavailable => Code::SandboxEscalationUnavailable,
        }
    }

    fn reason(self) -> Option<Reason> {
        match self {
            Self::MissingJustification => Some(Reason::MissingJustification),
            Self::UnpairedJustification => Some(Reason::UnpairedJustification),
            Self::BlankJustification => Some(Reason::BlankJustification),
            Self::Unsupported
            | Self::NotWider { .. }
            | Self::NoApprover
            | Self::NoAgent
            | Self::Rejected
            | Self::ApprovalsOff
            | Self::Cancelled
            | Self::Unavailable => None,
        }
    }
}

fn failed(op: Op, kind: ErrorKind, not_empty: bool) -> Code {
    match kind {
        ErrorKind::Escape | ErrorKind::Protected => Code::FsSandboxDenied,
        ErrorKind::InvalidPath | ErrorKind::NotFound => Code::FsNotFound,
        ErrorKind::AlreadyExists => Code::FsNotObserved,
        ErrorKind::Stale => Code::FsStaleVersion,
        ErrorKind::Denied => Code::FsPermissionDenied,
        ErrorKind::Cancelled => Code::FsAborted,
        ErrorKind::TooWeak | ErrorKind::ConfinementLost => Code::SandboxUnavailable,
        ErrorKind::WrongKind if not_empty => Code::FsIoError,
        ErrorKind::WrongKind => match op {
            Op::List | Op::CreateDir | Op::Run => Code::FsNotDirectory,
            Op::Read
            | Op::ReadText
            | Op::Stat
            | Op::Write
            | Op::Edit
            | Op::Remove
            | Op::Rename
            | Op::Symlink => Code::FsNotRegularFile,
        },
        ErrorKind::Busy
        | ErrorKind::Loop
        | ErrorKind::NameTooLong
        | ErrorKind::NoSpace
        | ErrorKind::Quota
        | ErrorKind::CrossDevice
        | ErrorKind::Unsupported
        | ErrorKind::Io
        | _ => Code::FsIoError,
    }
}

fn reason(kind: ErrorKind) -> Reason {
    match kind {
        ErrorKind::Loop => Reason::Loop,
        ErrorKind::NameTooLong => Reason::NameTooLong,
        ErrorKind::NoSpace => Reason::NoSpace,
        ErrorKind::Quota => Reason::Quota,
        ErrorKind::Busy => Reason::Busy,
        ErrorKind::Unsupported => Reason::Unsupported,
        ErrorKind::Escape
        | ErrorKind::Protected
        | ErrorKind::InvalidPath
        | ErrorKind::NotFound
        | ErrorKind::AlreadyExists
        | ErrorKind::Stale
        | ErrorKind::WrongKind
        | ErrorKind::Denied
        | ErrorKind::CrossDevice
        | ErrorKind::Cancelled
        | ErrorKind::TooWeak
        | ErrorKind::ConfinementLost
        | ErrorKind::Io
        | _ => Reason::Other,
    }
}

/// What was wrong, in the fence's words where a fence was asked.
struct What<'a>(ErrorKind, Option<&'a ringfence_platform::Error>);

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(error) if error.kind() == self.0 => write!(f, "{error:#}"),
            Some(_) | None => self.0.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(op: Op, kind: ErrorKind) -> (Code, Option<String>) {
        let error = Error::Failed { op, path: "/ws/a".into(), kind, source: None };
        (error.code(), error.reason().map(|reason| reason.to_string()))
    }

    #[test]
    fn every_kind_of_failure_has_its_code() {
        for (kind, expected) in [
            (ErrorKind::Escape, Code::FsSandboxDenied),
            (ErrorKind::Protected, Code::FsSandboxDenied),
            (ErrorKind::InvalidPath, Code::FsNotFound),
            (ErrorKind::NotFound, Code::FsNotFound),
            (ErrorKind::AlreadyExists, Code::FsNotObserved),
            (ErrorKind::Stale, Code::FsStaleVersion),
            (ErrorKind::WrongKind, Code::FsNotRegularFile),
            (ErrorKind::Denied, Code::FsPermissionDenied),
            (ErrorKind::Cancelled, Code::FsAborted),
            (ErrorKind::TooWeak, Code::SandboxUnavailable),
            (ErrorKind::ConfinementLost, Code::SandboxUnavailable),
        ] {
            assert_eq!(code(Op::Write, kind), (expected, None), "{kind:?}");
        }
        assert_eq!(code(Op::List, ErrorKind::WrongKind).0, Code::FsNotDirectory);
        assert_eq!(code(Op::CreateDir, ErrorKind::WrongKind).0, Code::FsNotDirectory);
    }

    #[test]
    fn any_other_failure_is_an_io_error_with_a_reason() {
        for (kind, reason) in [
            (ErrorKind::Loop, "loop"),
            (ErrorKind::NameTooLong, "name_too_long"),
            (ErrorKind::NoSpace, "no_space"),
            (ErrorKind::Quota, "quota"),
            (ErrorKind::Busy, "busy"),
            (ErrorKind::Unsupported, "unsupported"),
            (ErrorKind::CrossDevice, "other"),
            (ErrorKind::Io, "other"),
        ] {
            assert_eq!(code(Op::Rename, kind), (Code::FsIoError, Some(reason.into())), "{kind:?}");
        }
    }

    #[test]
    fn a_denial_escapes_control_characters_and_says_who_refused() {
        let denial = Denial {
            op: Op::Write,
            path: "/out\n\u{1b}[2J".into(),
            mode: Mode::WorkspaceWrite,
            roots: vec!["/ws".into()],
            narrowest: Some(Mode::DangerFullAccess),
            by: Layer::Resolution(Resolution::Openat2),
        };
        assert_eq!(
            Error::Denied(denial).to_string(),
            "cannot write \"/out\\n\\u{1b}[2J\" in workspace-write mode: \
             the fence (openat2) found that it leads out of the writable roots"
        );
    }
}
