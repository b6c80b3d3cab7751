//! What a model is told of the policy before it calls anything.

use std::path::Path;

use serde_json::Value;

use super::super::key::Key;
use super::failures::Asking;
use crate::approvals::ApprovalPolicy;
use crate::mode::Mode;

/// What files may be changed in this mode, and whether a person may be asked for more.
pub(in super::super) fn standing(
    mode: Mode,
    approvals: ApprovalPolicy,
    asking: Asking,
    workspace: &Path,
) -> String {
    format!("{}\n{}", files(mode, workspace), questions(approvals, asking))
}

fn files(mode: Mode, workspace: &Path) -> String {
    match mode {
        Mode::ReadOnly => format!(
            "The sandbox is in {mode} mode: tools and commands under it change no files. That alone \
             is no reason to refuse a task that needs a change: try the tool, and go by what the \
             denial says."
        ),
        Mode::WorkspaceWrite => {
            // A JSON string, so that nothing in a path can be taken for anything else.
            let root = Value::from(workspace.to_string_lossy());
            format!(
                "The sandbox is in {mode} mode: tools and commands may change files beneath {root}, \
                 and in some temporary areas too."
            )
        }
        Mode::DangerFullAccess => {
            format!("The sandbox is in {mode} mode: it does not restrict which files are changed.")
        }
    }
}

fn questions(approvals: ApprovalPolicy, asking: Asking) -> String {
    match (approvals, asking) {
        (ApprovalPolicy::Ask, Asking::Reaches) => {
            "A question for a wider mode may reach the user. No answer means no.".to_owned()
        }
        (ApprovalPolicy::Ask, Asking::Nobody) => format!(
            "Nobody can be asked for a wider mode here, so do not set `{}`.",
            Key::SandboxPermissions
        ),
        (ApprovalPolicy::Never, _) => format!(
            "Questions for a wider mode are refused by themselves, so do not set `{}`.",
            Key::SandboxPermissions
        ),
    }
}
