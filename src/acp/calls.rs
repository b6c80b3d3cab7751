//! Calls of tools, as a client shows them.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    Diff, ToolCall, ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use super::markdown::verbatim;
use crate::session::Session;
use crate::tools::ToolResult;

/// Tells of a call that is about to be made, with the arguments as the model gave them. The id is
/// also that of the [`CallContext`](crate::CallContext), so that a question is about this call.
#[must_use]
pub fn call_begun(
    id: impl Into<ToolCallId>,
    tool: &str,
    arguments: &Value,
    session: &Session,
) -> ToolCall {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let path = text("file_path").or_else(|| text("path"));
    // The protocol has absolute paths alone.
    let location = path.zip(session.workspace().ok()).map(|(path, base)| base.join(path));
    let title = match path.or_else(|| text("command")) {
        Some(subject) => format!("{} {subject:?}", tool.escape_debug()),
        None => tool.escape_debug().to_string(),
    };
    ToolCall::new(id, title)
        .name(tool.to_owned())
        .kind(kind(tool))
        .locations(location.map(ToolCallLocation::new).into_iter().collect())
        .raw_input(arguments.clone())
}

/// Tells that the call is being made.
#[must_use]
pub fn call_running(id: impl Into<ToolCallId>) -> ToolCallUpdate {
    ToolCallUpdate::new(id, ToolCallUpdateFields::new().status(ToolCallStatus::InProgress))
}

/// Tells what came of the call: what a model reads, verbatim, after what differs if that was asked
/// for; and the value. A call that is an error has failed, and so has a command that was cut off.
#[must_use]
pub fn call_ended(id: impl Into<ToolCallId>, result: &ToolResult) -> ToolCallUpdate {
    let ToolResult { is_error, text, value, .. } = result;
    let failed = *is_error || value["aborted"] == true;
    let status = if failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    let mut content: Vec<_> = diffs(value).map(ToolCallContent::Diff).collect();
    content.push(verbatim(text));
    let mut fields =
        ToolCallUpdateFields::new().status(status).content(content).raw_output(value.clone());
    if let Some(path) = path(value) {
        let line = value["diff"]["hunks"][0]["after"]["first"].as_u64();
        let line = line.and_then(|line| u32::try_from(line).ok());
        fields = fields.locations(vec![ToolCallLocation::new(path).line(line)]);
    }
    ToolCallUpdate::new(id, fields)
}

/// Which kind of tool a client shows.
pub(super) fn kind(tool: &str) -> ToolKind {
    match tool {
        "read" | "bash_output" => ToolKind::Read,
        "list" => ToolKind::Search,
        "write" | "edit" => ToolKind::Edit,
        "bash" | "bash_kill" => ToolKind::Execute,
        _ => ToolKind::Other,
    }
}

/// The file that a value is about. A likeness of one is none.
fn path(value: &Value) -> Option<PathBuf> {
    let path = value["path"].as_str()?;
    value.get("path_hex").is_none().then(|| path.into())
}

/// A change for each place that differs, with the lines around it.
fn diffs(value: &Value) -> impl Iterator<Item = Diff> {
    let hunks = value["diff"]["hunks"].as_array().into_iter().flatten();
    let is_new = value["operation"] == "create";
    hunks.filter_map(move |hunk| {
        let side = |other: &str| -> String {
            let parts = hunk["parts"].as_array().into_iter().flatten();
            let own = parts.filter(|part| part["kind"] != other);
            own.filter_map(|part| part["text"].as_str()).collect()
        };
        let old = (!is_new).then(|| side("added"));
        Some(Diff::new(path(value)?, side("removed")).old_text(old))
    })
}
