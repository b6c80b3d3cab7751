//! The conversations with one client, by the names of their sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringfence::acp;
use ringfence::acp::protocol::v1::schema::{
    CloseSessionRequest, CloseSessionResponse, NewSessionRequest, NewSessionResponse,
    PromptRequest, PromptResponse, SessionId, SetSessionModeRequest, SetSessionModeResponse,
};
use ringfence::acp::protocol::v1::{ConnectionTo, Responder};
use ringfence::acp::protocol::{Client, Error, ErrorCode, JsonRpcResponse, Result};

use super::Options;
use super::conversation::Conversation;
use super::threads::Threads;

/// Every conversation with a client, and the threads that work for them.
#[derive(Debug)]
pub(super) struct Conversations {
    options: Options,
    open: Mutex<HashMap<SessionId, Arc<Conversation>>>,
    opened: AtomicUsize,
    threads: Threads,
}

impl Conversations {
    pub(super) fn new(options: Options) -> Self {
        let (open, threads) = (Mutex::default(), Threads::default());
        Self { options, open, opened: AtomicUsize::new(0), threads }
    }

    /// Opens a session for `client`, and answers with its name and modes.
    pub(super) fn open(
        self: &Arc<Self>,
        request: NewSessionRequest,
        responder: Responder<NewSessionResponse>,
        client: ConnectionTo<Client>,
    ) {
        let all = Arc::clone(self);
        self.threads.start(move || answer(responder, all.begin(request, client)));
    }

    /// Makes the calls of a prompt, and answers when they are through.
    pub(super) fn prompt(
        self: &Arc<Self>,
        PromptRequest { session_id, prompt, .. }: PromptRequest,
        responder: Responder<PromptResponse>,
    ) -> Result<()> {
        let turn = self.named(&session_id).and_then(|conversation| conversation.turn());
        let turn = match turn {
            Ok(turn) => turn,
            Err(error) => return responder.respond_with_error(error),
        };
        self.threads.start(move || {
            let reason = turn.take(prompt);
            // The next prompt may come as soon as this is answered.
            drop(turn);
            answer(responder, Ok(PromptResponse::new(reason)));
        });
        Ok(())
    }

    pub(super) fn set_mode(
        &self,
        request: &SetSessionModeRequest,
    ) -> Result<SetSessionModeResponse> {
        self.named(&request.session_id)?.set_mode(&request.mode_id)?;
        Ok(SetSessionModeResponse::new())
    }

    /// Ends what is under way in a session. Of one that is not there nothing is.
    pub(super) fn cancel(&self, session: &SessionId) {
        if let Ok(conversation) = self.named(session) {
            conversation.cancel();
        }
    }

    /// Forgets a session, and ends what is under way in it.
    pub(super) fn close(&self, request: &CloseSessionRequest) -> Result<CloseSessionResponse> {
        self.cancel(&request.session_id);
        let closed = self.all().remove(&request.session_id);
        closed.map(|_| CloseSessionResponse::new()).ok_or_else(|| unknown(&request.session_id))
    }

    /// Ends everything that is under way.
    pub(super) fn cancel_all(&self) {
        self.all().values().for_each(|conversation| conversation.cancel());
    }

    /// Ends everything that is under way, and waits for it.
    pub(super) fn end(&self) {
        self.cancel_all();
        self.threads.wait();
        self.all().clear();
    }

    fn begin(
        &self,
        request: NewSessionRequest,
        client: ConnectionTo<Client>,
    ) -> Result<NewSessionResponse> {
        acp::refuse_additional(&request.additional_directories)?;
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let id = SessionId::new(format!("session-{number}"));
        let conversation = Conversation::open(&self.options, id.clone(), request.cwd, client)?;
        let modes = conversation.modes()?;
        self.all().insert(id.clone(), Arc::new(conversation));
        Ok(NewSessionResponse::new(id).modes(modes))
    }

    fn named(&self, session: &SessionId) -> Result<Arc<Conversation>> {
        self.all().get(session).cloned().ok_or_else(|| unknown(session))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Conversation>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that is gone is not answered.
fn answer<T: JsonRpcResponse>(responder: Responder<T>, result: Result<T>) {
    if let Err(error) = responder.respond_with_result(result) {
        tracing::debug!(%error, "nobody is answered");
    }
}

fn unknown(session: &SessionId) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS, format!("there is no session {:?}", &*session.0))
}
