//! A client of the served agent, by the implementation that the agent is made with.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use futures::{sink, stream};
use ringfence::acp::protocol::schema::ProtocolVersion;
use ringfence::acp::protocol::v1::ConnectionTo;
use ringfence::acp::protocol::v1::schema::{
    CancelNotification, InitializeRequest, NewSessionRequest, NewSessionResponse, PromptRequest,
    RequestPermissionRequest, SessionId, SessionNotification, SessionUpdate, SetSessionModeRequest,
    StopReason,
};
use ringfence::acp::protocol::{
    Agent, Client, ConnectTo, Error, Lines, Result, on_receive_notification, on_receive_request,
};
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::Served;

/// What a person answers to a permission request: the whole result, whatever that is.
pub(super) type Says = fn(&RequestPermissionRequest) -> Result<Value>;

/// One client, and all that it was told.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    agent: ConnectionTo<Agent>,
    told: Arc<Mutex<Vec<SessionNotification>>>,
    asked: Arc<Mutex<Vec<RequestPermissionRequest>>>,
}

/// What came of a prompt.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) reason: StopReason,
    /// What its calls came to, in their order.
    pub(super) values: Vec<Value>,
}

/// Serves a client that has an agent in `workspace` and a person who answers, and sees that the
/// agent ends with it.
pub(super) fn with_peer(workspace: &Path, says: Says, scenario: impl AsyncFnOnce(Peer)) {
    let mut served = Served::start(workspace);
    let transport = lines(&mut served);
    let (told, asked) = <(Arc<Mutex<Vec<_>>>, Arc<Mutex<Vec<_>>>)>::default();
    let (tells, asks) = (Arc::clone(&told), Arc::clone(&asked));
    let connection = Client
        .v1()
        .on_receive_notification(
            async move |notice: SessionNotification, _| {
                tells.lock().unwrap().push(notice);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let answer = says(&request);
                asks.lock().unwrap().push(request);
                responder.erase_to_json().respond_with_result(answer)
            },
            on_receive_request!(),
        )
        .connect_with(transport, async |agent| {
            agent.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
            scenario(Peer { agent, told, asked }).await;
            Ok(())
        });
    Builder::new_current_thread().build().unwrap().block_on(connection).unwrap();
    served.ends_well();
}

/// The streams of the agent. What it writes is read by a thread that ends with it.
fn lines(served: &mut Served) -> impl ConnectTo<Client> + use<> {
    let (stdin, stdout) = served.streams();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let outgoing = sink::unfold(stdin, |mut stdin, line: String| async move {
        stdin.write_all(format!("{line}\n").as_bytes()).map(|()| stdin)
    });
    Lines::new(outgoing, stream::poll_fn(move |context| receiver.poll_recv(context)))
}

impl Peer {
    pub(super) async fn open(&self, cwd: &Path) -> NewSessionResponse {
        self.try_open(NewSessionRequest::new(cwd)).await.unwrap()
    }

    pub(super) async fn try_open(&self, request: NewSessionRequest) -> Result<NewSessionResponse> {
        self.agent.send_request(request).block_task().await
    }

    pub(super) async fn switch(&self, session: &SessionId, mode: &str) -> Result<()> {
        let request = SetSessionModeRequest::new(session.clone(), mode.to_owned());
        self.agent.send_request(request).block_task().await.map(drop)
    }

    /// Makes the calls as one prompt.
    pub(super) async fn prompt(&self, session: &SessionId, calls: &[Value]) -> Ended {
        let text = serde_json::to_string(calls).unwrap();
        let before = self.values(session).len();
        let request = PromptRequest::new(session.clone(), vec![text.as_str().into()]);
        let answer = self.agent.send_request(request).block_task().await.unwrap();
        let values = self.values(session).split_off(before);
        Ended { reason: answer.stop_reason, values }
    }

    /// What one call comes to.
    pub(super) async fn call(&self, session: &SessionId, call: Value) -> Value {
        let Ended { reason, values } = self.prompt(session, &[call]).await;
        assert_eq!(reason, StopReason::EndTurn);
        values.into_iter().next().unwrap()
    }

    /// The answer to what is no call.
    pub(super) async fn refused(&self, session: &SessionId, text: &str) -> Result<StopReason> {
        let request = PromptRequest::new(session.clone(), vec![text.into()]);
        let answer = self.agent.send_request(request).block_task().await;
        answer.map(|answer| answer.stop_reason)
    }

    pub(super) fn cancel(&self, session: &SessionId) {
        self.agent.send_notification(CancelNotification::new(session.clone())).unwrap();
    }

    /// Everything that was told of a session.
    pub(super) fn told(&self, session: &SessionId) -> Vec<SessionUpdate> {
        let told = self.told.lock().unwrap();
        let own = told.iter().filter(|notice| notice.session_id == *session);
        own.map(|notice| notice.update.clone()).collect()
    }

    /// Everything that a person was asked.
    pub(super) fn asked(&self) -> Vec<RequestPermissionRequest> {
        self.asked.lock().unwrap().clone()
    }

    fn values(&self, session: &SessionId) -> Vec<Value> {
        let told = self.told(session).into_iter();
        let ended = told.filter_map(|update| {
            let SessionUpdate::ToolCallUpdate(update) = update else { return None };
            update.fields.raw_output
        });
        ended.collect()
    }
}

/// A person whom nobody asks.
pub(super) fn nobody(request: &RequestPermissionRequest) -> Result<Value> {
    Err(Error::internal_error().data(format!("not to be asked {request:?}")))
}
