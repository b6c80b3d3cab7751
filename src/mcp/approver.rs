//! A person at the client, who is asked.

use ringfence::{Answer, Approval, Approver, Question};
use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, ClientResult, ElicitRequest, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::question;

/// Asks by a form that the client shows.
#[derive(Debug)]
pub(super) struct Elicitation {
    peer: Peer<RoleServer>,
    runtime: Handle,
}

impl Elicitation {
    /// Somebody to ask, if the client can show a form. It is called on the runtime.
    pub(super) fn by(peer: &Peer<RoleServer>, client: &ClientCapabilities) -> Option<Self> {
        let elicitation = client.elicitation.as_ref()?;
        // Naming nothing is older than forms having a name.
        let shows_forms = elicitation.form.is_some() || elicitation.url.is_none();
        shows_forms.then(|| Self { peer: peer.clone(), runtime: Handle::current() })
    }
}

impl Approver for Elicitation {
    fn ask<'a>(&'a self, question: &'a Question) -> Answer<'a> {
        let Ok(form) = question::form(question) else { return Approval::Unavailable.into() };
        let (answer, answered) = oneshot::channel();
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
        self.runtime.spawn(ask(self.peer.clone(), request, answer));
        Answer::later(async { answered.await.unwrap_or(Approval::Unavailable) })
    }
}

/// Asks, and takes the question back if nobody waits for the answer any more.
async fn ask(
    peer: Peer<RoleServer>,
    request: ServerRequest,
    mut answer: oneshot::Sender<Approval>,
) {
    let asking = peer.send_cancellable_request(request, PeerRequestOptions::no_options());
    let Ok(mut asked) = asking.await else { return };
    let approval = tokio::select! {
        result = &mut asked.rx => match result {
            Ok(Ok(ClientResult::ElicitResult(result))) => question::approval(&result),
            Ok(Ok(_) | Err(_)) | Err(_) => Approval::Unavailable,
        },
        () = answer.closed() => {
            // The client that cannot be told is gone.
            drop(asked.cancel(Some("the call was cancelled".to_owned())).await);
            return;
        }
    };
    // The call may have been given up by now.
    let _ = answer.send(approval);
}
