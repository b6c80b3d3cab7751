//! Why a call of a tool failed, for a program to decide on.

use std::path::PathBuf;

use crate::error::{Code, Error};

use super::arguments::{Unaccepted, Unpaired, Violation};
use super::tool::Tool;
use super::window::PastEnd;

/// Why a call of a tool failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was cancelled before anything of it was looked at.
    Cancelled { name: String },
    /// No tool of this name is there; those that are.
    NoTool { name: String, tools: Vec<Tool> },
    /// No job of this name is there.
    NoJob { tool: Tool, job: String },
    /// Its arguments are not what it takes.
    Invalid { tool: Tool, violations: Vec<Violation> },
    /// A wider mode was asked for where none can be.
    Unsupported { tool: Tool },
    /// A wider mode and its reason do not come together.
    Unpaired { tool: Tool, why: Unpaired },
    /// The first line or entry that was asked for is not there.
    PastEnd { tool: Tool, path: PathBuf, past: PastEnd },
    /// The request was refused or failed. The path is as the model spelled it.
    Refused { tool: Tool, path: PathBuf, error: Error },
}

impl Failure {
    pub(super) fn unaccepted(tool: Tool, why: Unaccepted) -> Self {
        match why {
            Unaccepted::Invalid(violations) => Self::Invalid { tool, violations },
            Unaccepted::Unsupported => Self::Unsupported { tool },
            Unaccepted::Unpaired(why) => Self::Unpaired { tool, why },
        }
    }

    pub(super) fn code(&self) -> Code {
        match self {
            Self::Cancelled { .. } => Code::FsAborted,
            Self::NoTool { .. } | Self::NoJob { .. } | Self::Invalid { .. } => Code::InvalidArgs,
            Self::Unsupported { .. } => Code::SandboxEscalationUnsupported,
            Self::Unpaired { .. } => Code::SandboxEscalationInvalid,
            Self::PastEnd { .. } => Code::FsNotFound,
            Self::Refused { error, .. } => error.code(),
        }
    }

    /// The token that says more than the code, where there is one.
    pub(super) fn reason(&self) -> Option<String> {
        match self {
            Self::Unpaired { why, .. } => Some(why.as_str().to_owned()),
            Self::Refused { error, .. } => error.reason().map(|reason| reason.to_string()),
            Self::Cancelled { .. }
            | Self::NoTool { .. }
            | Self::NoJob { .. }
            | Self::Invalid { .. }
            | Self::Unsupported { .. }
            | Self::PastEnd { .. } => None,
        }
    }
}
