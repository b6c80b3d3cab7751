//! An agent without a model, over the Agent Client Protocol: what a prompt has are the calls of
//! tools themselves. Everything that a client sees of the policy comes from the library.

mod conversation;
mod conversations;
mod prompt;
mod stdio;
mod threads;

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use ringfence::acp::protocol::schema::ProtocolVersion;
use ringfence::acp::protocol::v1::ConnectionTo;
use ringfence::acp::protocol::v1::schema::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, Implementation, InitializeRequest,
    InitializeResponse, NewSessionRequest, PromptRequest, SessionCapabilities,
    SessionCloseCapabilities, SetSessionModeRequest,
};
use ringfence::acp::protocol::{
    self as acp, Agent, Client, ConnectTo, on_receive_notification, on_receive_request,
};
use ringfence::{PolicyService, Presets, ToolSet};
use tokio::runtime::Builder;

use conversations::Conversations;
use stdio::Stdio;

/// Tells why no session may be in a directory, if so.
pub(crate) type CheckDirectory = Box<dyn Fn(&Path) -> Result<(), String> + Send + Sync>;

/// What is served.
pub(crate) struct Options {
    /// The policy of every session.
    pub(crate) service: Arc<PolicyService>,
    /// What a session can be switched between.
    pub(crate) presets: Arc<Presets>,
    /// What can be called.
    pub(crate) tools: ToolSet,
    /// Where a session may be.
    pub(crate) check_directory: CheckDirectory,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, presets, tools, .. } = self;
        f.debug_tuple("Options").field(service).field(presets).field(tools).finish()
    }
}

/// Serves one client on standard input and output until it disconnects, and returns when all that
/// it has called has ended.
///
/// # Errors
///
/// If no thread can be started, or the streams fail; [`io::ErrorKind::BrokenPipe`] if the client
/// no longer reads.
pub(crate) fn serve(options: Options) -> io::Result<()> {
    let runtime = Builder::new_current_thread().build()?;
    let conversations = Arc::new(Conversations::new(options));
    let (transport, written) = Stdio::open()?;
    let served = runtime.block_on(connect(&conversations, transport));
    conversations.end();
    written.wait()?;
    served.map_err(io::Error::other)
}

/// Answers one client. What blocks is done on threads of its own, so that this goes on taking
/// cancellations and answers.
async fn connect(
    all: &Arc<Conversations>,
    transport: impl ConnectTo<Agent> + 'static,
) -> acp::Result<()> {
    let [opening, prompting, switching, closing] = [(); 4].map(|()| Arc::clone(all));
    let [cancelling, disconnected] = [(); 2].map(|()| Arc::clone(all));
    Agent
        .v1()
        .name("ringfence")
        .on_receive_request(
            async move |_: InitializeRequest, responder, _| responder.respond(introduction()),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, client: ConnectionTo<Client>| {
                opening.open(request, responder, client);
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, _| prompting.prompt(request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, _| {
                responder.respond_with_result(switching.set_mode(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, _| {
                responder.respond_with_result(closing.close(&request))
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notice: CancelNotification, _| {
                cancelling.cancel(&notice.session_id);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_close(async move |_| {
            disconnected.cancel_all();
            Ok(())
        })
        .connect_to(transport)
        .await
}

fn introduction() -> InitializeResponse {
    let sessions = SessionCapabilities::new().close(SessionCloseCapabilities::new());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(AgentCapabilities::new().session_capabilities(sessions))
        .agent_info(Implementation::new("ringfence", env!("CARGO_PKG_VERSION")))
}
