//! A question, as a permission request to the client.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SessionId, ToolCallLocation, ToolCallUpdate, ToolCallUpdateFields,
};

use super::calls::kind;
use super::markdown::verbatim;
use crate::policy::{Answer, Approval, Approver, Question, Subject};

/// The option that lets the one call run.
const ALLOW: &str = "allow-once";
/// The option that does not.
const REJECT: &str = "reject-once";

/// Asks the client of one session, for the calls of that session.
///
/// There are two answers, to allow the call once and to reject it once, and no other is taken for
/// consent. A request that the client cancels is [`Approval::Cancelled`]; where the connection is
/// lost, or the answer is an error or none of the two, it is [`Approval::Unavailable`].
///
/// A question without a call, or of another session, is none of its client's. It goes to the next
/// approver; without one it is [`Approval::Unavailable`].
///
/// The thread of a call waits for the answer, so it must not be one that the connection runs on.
#[derive(Debug)]
pub struct PermissionRequests {
    client: ConnectionTo<Client>,
    session: SessionId,
    next: Option<Arc<dyn Approver>>,
}

impl PermissionRequests {
    /// Asks `client` for the calls of `session`, which the [`Session`](crate::Session) is to be
    /// called too.
    #[must_use]
    pub fn new(client: ConnectionTo<Client>, session: SessionId) -> Self {
        Self { client, session, next: None }
    }

    /// Who is asked what is none of the client's.
    #[must_use]
    pub fn or_else(mut self, next: Arc<dyn Approver>) -> Self {
        self.next = Some(next);
        self
    }

    fn is_connected(&self) -> bool {
        !self.client.is_incoming_closed() && self.client.termination().is_none()
    }

    async fn request(&self, call: &str, question: &Question) -> Approval {
        let asked = ToolCallUpdate::new(call.to_owned(), asked(question));
        let options = [
            (ALLOW, "Allow once", PermissionOptionKind::AllowOnce),
            (REJECT, "Reject", PermissionOptionKind::RejectOnce),
        ];
        let options = options.map(|(id, name, kind)| PermissionOption::new(id, name, kind));
        let request = RequestPermissionRequest::new(self.session.clone(), asked, options.into());
        match self.client.send_request(request).block_task().await {
            Ok(response) => approval(&response.outcome),
            Err(_) => Approval::Unavailable,
        }
    }
}

impl Approver for PermissionRequests {
    fn ask<'a>(&'a self, question: &'a Question) -> Answer<'a> {
        match (&question.call, &self.next) {
            (Some(call), _) if *question.session == *self.session.0 => {
                Answer::later(self.request(call, question))
            }
            (_, Some(next)) => next.ask(question),
            (_, None) => Approval::Unavailable.into(),
        }
    }

    fn reaches_a_person(&self) -> bool {
        self.is_connected() || self.next.as_ref().is_some_and(|next| next.reaches_a_person())
    }
}

fn approval(outcome: &RequestPermissionOutcome) -> Approval {
    match outcome {
        RequestPermissionOutcome::Cancelled => Approval::Cancelled,
        RequestPermissionOutcome::Selected(selected) => match &*selected.option_id.0 {
            ALLOW => Approval::AllowedOnce,
            REJECT => Approval::Rejected,
            _ => Approval::Unavailable,
        },
        _ => Approval::Unavailable,
    }
}

/// The call as a person is to judge it. What a model has written is quoted.
fn asked(question: &Question) -> ToolCallUpdateFields {
    let Question { tool, from, to, subject, justification, diff, .. } = question;
    let (title, place) = described(subject);
    let mut text = format!(
        "in {from} mode this is not allowed; {to} is asked for, once\n\
         the reason given: {justification:?}\n{title}\n{place}"
    );
    if let Some(diff) = diff {
        text.push_str(&format!("\n{diff}"));
    }
    let fields = ToolCallUpdateFields::new().title(title).content(vec![verbatim(&text)]);
    fields
        .kind(kind(tool.as_deref().unwrap_or_default()))
        .locations(location(subject).map(|path| vec![ToolCallLocation::new(path)]))
}

/// What would be done, and where that is.
fn described(subject: &Subject) -> (String, String) {
    match subject {
        Subject::Operation { op, path, place } => {
            (format!("{op} {path:?}"), format!("which is {place:?}"))
        }
        Subject::Command { command, workdir } => {
            (format!("run {command:?}"), format!("in {workdir:?}"))
        }
    }
}

fn location(subject: &Subject) -> Option<&Path> {
    match subject {
        Subject::Operation { place, .. } => Some(place),
        Subject::Command { .. } => None,
    }
}
