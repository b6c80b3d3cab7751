//! One call of a tool: on a thread of its own, until it is done or nobody wants it any more.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use ringfence::{CallContext, Cancel, ToolResult, ToolSet};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, JsonObject, RequestId};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::end::End;
use super::options::Refresh;
use super::progress::{self, LastLine};
use super::seat::Seat;

/// What every call is made with.
pub(super) struct Calls {
    pub(super) tools: ToolSet,
    pub(super) refresh: Option<Refresh>,
    pub(super) disconnected: Arc<End>,
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// What came of a call, and what its policy is if the client was not told that yet.
type Done = (Option<String>, ToolResult);

impl Calls {
    /// Calls a tool. It ends early, and changes no more, if the client takes the request back or is
    /// gone, or if it has named another place.
    pub(super) async fn run(
        self: &Arc<Self>,
        seat: Arc<Seat>,
        (name, arguments): (String, Option<JsonObject>),
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let (cancel, line, finished) = (Cancel::new(), LastLine::default(), End::new());
        let token = context.meta.get_progress_token().filter(|_| runs_a_command(&name));
        let told = CallContext {
            call_id: Some(spelled(&context.id)),
            cancel: cancel.clone(),
            listener: token.is_some().then(|| line.listener()),
        };
        let (this, place) = (Arc::clone(self), Arc::clone(&seat));
        let work = tokio::task::spawn_blocking(move || this.call(&place, &name, arguments, &told));
        let mut work = pin!(work);
        let both = async {
            let work = async {
                let done = (&mut work).await;
                finished.set();
                done
            };
            let telling = async {
                if let Some(token) = token {
                    progress::tell(&context.peer, token, line, &finished).await;
                }
            };
            tokio::join!(work, telling).0
        };
        let done = tokio::select! {
            done = both => done,
            () = self.unwanted(&seat, context) => {
                cancel.cancel();
                work.await
            }
        };
        done.map(rendered).map_err(|error| {
            tracing::error!(%error, "a call has panicked");
            ErrorData::internal_error("the call has failed in ringfence itself", None)
        })
    }

    /// Waits until nobody wants the call any more.
    async fn unwanted(&self, seat: &Seat, context: &RequestContext<RoleServer>) {
        tokio::select! {
            () = context.ct.cancelled() => {}
            () = self.disconnected.reached() => {}
            () = seat.left.reached() => {}
        }
    }

    fn call(
        &self,
        seat: &Seat,
        name: &str,
        arguments: Option<JsonObject>,
        context: &CallContext,
    ) -> Done {
        if let Some(refresh) = &self.refresh {
            refresh();
        }
        let news = seat.news();
        let arguments = arguments.unwrap_or_default();
        (news, self.tools.call(&seat.session, name, Value::Object(arguments), context))
    }
}

fn runs_a_command(name: &str) -> bool {
    name == ringfence::Tool::Bash.as_str()
}

fn spelled(id: &RequestId) -> String {
    match id {
        RequestId::Number(number) => number.to_string(),
        RequestId::String(text) => text.to_string(),
    }
}

fn rendered((news, result): Done) -> CallToolResult {
    let ToolResult { is_error, text, value, .. } = result;
    let content = news.into_iter().chain([text]).map(ContentBlock::text).collect();
    let mut rendered = CallToolResult::success(content);
    rendered.is_error = Some(is_error);
    rendered.structured_content = Some(value);
    rendered
}
