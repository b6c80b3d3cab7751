//! One session, and the prompts of its client, one after the other.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringfence::acp::protocol::v1::ConnectionTo;
use ringfence::acp::protocol::v1::schema::{
    ContentBlock, ContentChunk, SessionId, SessionModeId, SessionModeState, SessionNotification,
    SessionUpdate, StopReason,
};
use ringfence::acp::protocol::{Client, Error, ErrorCode, Result};
use ringfence::acp::{
    PermissionRequests, SessionModes, call_begun, call_ended, call_running, refusal,
};
use ringfence::{CallContext, Cancel, Session, StandingPolicy, ToolSet};
use serde_json::Value;

use super::Options;
use super::prompt::{Called, calls};

/// A session, and what its client knows of it.
#[derive(Debug)]
pub(super) struct Conversation {
    id: SessionId,
    session: Session,
    client: ConnectionTo<Client>,
    tools: ToolSet,
    modes: Mutex<SessionModes>,
    standing: Mutex<StandingPolicy>,
    called: AtomicUsize,
    /// Cancels the prompt that is under way.
    turn: Mutex<Option<Cancel>>,
}

/// A prompt that is under way in a conversation. There is no other one in it meanwhile.
#[derive(Debug)]
pub(super) struct Turn {
    conversation: Arc<Conversation>,
    cancel: Cancel,
}

impl Conversation {
    /// Opens a session in `cwd`, whose questions go to `client`.
    pub(super) fn open(
        options: &Options,
        id: SessionId,
        cwd: PathBuf,
        client: ConnectionTo<Client>,
    ) -> Result<Self> {
        let Options { service, presets, tools, check_directory } = options;
        let person = PermissionRequests::new(client.clone(), id.clone());
        let opened = service
            .session()
            .name(&*id.0)
            .cwd(&cwd)
            .presets(Arc::clone(presets))
            .approver(Arc::new(person))
            .open();
        let session = opened.map_err(|error| refusal(&error))?;
        check_directory(&cwd).map_err(|why| Error::new(ErrorCode::INVALID_PARAMS, why))?;
        Ok(Self {
            id,
            session,
            client,
            tools: tools.clone(),
            modes: Mutex::new(SessionModes::new(Arc::clone(presets))),
            standing: Mutex::default(),
            called: AtomicUsize::new(0),
            turn: Mutex::default(),
        })
    }

    pub(super) fn modes(&self) -> Result<SessionModeState> {
        locked(&self.modes).state(&self.session)
    }

    pub(super) fn set_mode(&self, mode: &SessionModeId) -> Result<()> {
        locked(&self.modes).set(&self.session, mode)
    }

    /// Begins a prompt.
    ///
    /// # Errors
    ///
    /// Invalid request while another one is under way.
    pub(super) fn turn(self: Arc<Self>) -> Result<Turn> {
        let cancel = Cancel::new();
        {
            let mut turn = locked(&self.turn);
            if turn.is_some() {
                let text = "a prompt of this session is still under way";
                return Err(Error::new(ErrorCode::INVALID_REQUEST, text));
            }
            *turn = Some(cancel.clone());
        }
        Ok(Turn { conversation: self, cancel })
    }

    /// Cancels the prompt that is under way, if there is one.
    pub(super) fn cancel(&self) {
        if let Some(cancel) = &*locked(&self.turn) {
            cancel.cancel();
        }
    }

    /// Makes one call, and tells of it.
    fn call(&self, Called { tool, arguments }: Called, cancel: &Cancel) {
        self.tell_the_policy();
        let id = format!("call-{}", self.called.fetch_add(1, Ordering::Relaxed) + 1);
        let arguments = Value::from(arguments);
        let begun = call_begun(id.clone(), &tool, &arguments, &self.session);
        self.tell(SessionUpdate::ToolCall(begun));
        self.tell(SessionUpdate::ToolCallUpdate(call_running(id.clone())));
        let (call_id, cancel) = (Some(id.clone()), cancel.clone());
        let context = CallContext { call_id, cancel, ..CallContext::default() };
        let result = self.tools.call(&self.session, &tool, arguments, &context);
        self.tell(SessionUpdate::ToolCallUpdate(call_ended(id, &result)));
    }

    /// Tells what has changed of the policy, as a model would be told before its next call.
    fn tell_the_policy(&self) {
        let mode = locked(&self.modes).update(&self.session);
        if let Some(mode) = mode {
            self.tell(mode);
        }
        let policy = locked(&self.standing).update(&self.session);
        if let Some(policy) = policy {
            self.say(&format!("{policy}\n"));
        }
    }

    fn say(&self, text: &str) {
        let chunk = ContentChunk::new(ContentBlock::from(text));
        self.tell(SessionUpdate::AgentMessageChunk(chunk));
    }

    fn tell(&self, update: SessionUpdate) {
        let notice = SessionNotification::new(self.id.clone(), update);
        if let Err(error) = self.client.send_notification(notice) {
            tracing::debug!(%error, "nobody is told");
        }
    }
}

impl Turn {
    /// Makes the calls of `prompt` until one of them is cancelled.
    pub(super) fn take(&self, prompt: Vec<ContentBlock>) -> StopReason {
        let Self { conversation, cancel } = self;
        match calls(prompt) {
            Ok(calls) => {
                let wanted = calls.into_iter().take_while(|_| !cancel.is_cancelled());
                wanted.for_each(|call| conversation.call(call, cancel));
            }
            Err(none) => conversation.say(&none.to_string()),
        }
        if cancel.is_cancelled() { StopReason::Cancelled } else { StopReason::EndTurn }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *locked(&self.conversation.turn) = None;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
