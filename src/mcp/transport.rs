//! Standard input and output as what the protocol's messages come and go by.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;

use super::end::End;
use super::inbox::Inbox;
use super::input::{self, Lines};
use super::lines::Line;
use super::message::{self, Fault, Incoming, Request};
use super::output::{Closed, Output};

/// A message on its way out.
type Sending = Pin<Box<dyn Future<Output = Result<(), Closed>> + Send>>;

/// Whether the two sides have agreed on a protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Before,
    Agreed,
}

/// Standard input and output, a message a line.
///
/// What is no message is answered here, and so is what the library behind it would end for.
pub(super) struct Stdio {
    lines: Lines,
    output: Output,
    inbox: Inbox,
    phase: Phase,
    /// What is said of a message that is none. Nothing is read until it is written.
    telling: Option<Sending>,
    disconnected: Arc<End>,
}

impl Stdio {
    /// Takes both streams. `disconnected` is set when one of them ends.
    pub(super) fn open(disconnected: Arc<End>) -> std::io::Result<Self> {
        Ok(Self {
            lines: input::open()?,
            output: Output::open()?,
            inbox: Inbox::new(),
            phase: Phase::Before,
            telling: None,
            disconnected,
        })
    }

    /// The next message. It can be given up at any moment, and nothing is lost.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(telling) = &mut self.telling {
                let told = telling.await;
                self.telling = None;
                told.ok()?;
            }
            let turn = tokio::select! {
                biased;
                () = self.output.closed() => return None,
                line = self.lines.recv() => self.look_at(line?),
                next = self.inbox.next() => next.map(Some),
            };
            match turn {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(fault) => self.telling = Some(Box::pin(self.output.send(fault.line()))),
            }
        }
    }

    /// What is to be handed on of a line at once.
    fn look_at(&mut self, line: Line) -> Result<Option<ClientJsonRpcMessage>, Fault> {
        match message::read(line) {
            Incoming::Blank => Ok(None),
            Incoming::Fault(fault) => Err(fault),
            Incoming::Request(request) => self.asked(request),
            // Nothing was asked, and nothing is under way.
            Incoming::Answer(_) | Incoming::Notification(_) if self.phase == Phase::Before => {
                Ok(None)
            }
            Incoming::Answer(message) => Ok(Some(*message)),
            Incoming::Notification(message) => Ok(self.notified(*message)),
        }
    }

    fn asked(&mut self, request: Request) -> Result<Option<ClientJsonRpcMessage>, Fault> {
        match (self.phase, &*request.method) {
            (Phase::Before, "initialize") => {
                let message = request.parse()?;
                if is_initialize(&message) {
                    self.phase = Phase::Agreed;
                }
                Ok(Some(message))
            }
            (Phase::Before, "ping" | "server/discover") => request.parse().map(Some),
            (Phase::Before, _) => {
                Err(Fault::invalid(Some(request.id), "the first request is initialize"))
            }
            (Phase::Agreed, "initialize") => {
                Err(Fault::invalid(Some(request.id), "it is initialized already"))
            }
            (Phase::Agreed, _) => self.inbox.take(request).map(|()| None),
        }
    }

    fn notified(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        let JsonRpcMessage::Notification(notification) = &message else { return Some(message) };
        let ClientNotification::CancelledNotification(cancelled) = &notification.notification
        else {
            return Some(message);
        };
        let is_under_way = cancelled.params.request_id.as_ref().map(|id| self.inbox.cancel(id));
        is_under_way.unwrap_or(false).then_some(message)
    }
}

fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, ClientRequest::InitializeRequest(_))
}

/// The request that a message answers.
fn answers(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = Closed;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Closed>> + Send + 'static {
        let slot = answers(&message).and_then(|id| self.inbox.answered(id));
        let line = message::line(&message).inspect_err(|error| tracing::error!(%error, "unsaid"));
        let sending = line.map(|line| self.output.send(line));
        async move {
            let sent = match sending {
                Ok(sending) => sending.await,
                // It cannot be said, and the connection is still there.
                Err(_) => Ok(()),
            };
            drop(slot);
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let next = self.next().await;
        if next.is_none() {
            self.disconnected.set();
        }
        next
    }

    async fn close(&mut self) -> Result<(), Closed> {
        self.output.finish().await;
        Ok(())
    }
}
