//! What a person is asked, as a form of one choice.

use ringfence::{Approval, Question, Subject};
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema,
};
use serde_json::json;

const DECISION: &str = "decision";
const ALLOW: &str = "allow once";
const REJECT: &str = "reject";

/// The form for `question`.
pub(super) fn form(question: &Question) -> Result<ElicitRequestParams, &'static str> {
    let choice = EnumSchema::builder(vec![ALLOW.to_owned(), REJECT.to_owned()]).build();
    let requested_schema =
        ElicitationSchema::builder().required_enum_schema(DECISION, choice).build()?;
    let message = asked(question);
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The question as a person reads it. What a model has written is quoted, and what is judged
/// stands last, next to the answer.
fn asked(question: &Question) -> String {
    let Question { from, to, subject, justification, tool, call, .. } = question;
    let named = |name: &Option<String>| name.as_ref().map_or("-".to_owned(), |n| format!("{n:?}"));
    let (tool, call) = (named(tool), named(call));
    let what = described(subject);
    format!(
        "ringfence: in {from} mode this is not allowed; {to} is asked for, once\n\
         tool {tool}, call {call}\n\
         the reason given: {justification:?}\n{what}"
    )
}

fn described(subject: &Subject) -> String {
    match subject {
        Subject::Operation { op, path, place } => format!("{op} {path:?}\nwhich is {place:?}"),
        Subject::Command { command, workdir } => format!("run {command:?}\nin {workdir:?}"),
        _ => "something that this version cannot describe".to_owned(),
    }
}

/// What the person has said by it. Nothing but the one choice allows.
pub(super) fn approval(result: &ElicitResult) -> Approval {
    let chosen = |choice| result.content == Some(json!({ DECISION: choice }));
    match result.action {
        ElicitationAction::Accept if chosen(ALLOW) => Approval::AllowedOnce,
        ElicitationAction::Accept if chosen(REJECT) => Approval::Rejected,
        ElicitationAction::Decline => Approval::Rejected,
        ElicitationAction::Cancel => Approval::Cancelled,
        ElicitationAction::Accept | _ => Approval::Unavailable,
    }
}
