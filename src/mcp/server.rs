//! What is answered to each request of a client.

use std::borrow::Cow;
use std::sync::Arc;

use ringfence::{Approver, Code, ToolSpec};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, InitializeRequestParams, InitializeResult,
    JsonObject, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::approver::Elicitation;
use super::calls::Calls;
use super::end::End;
use super::options::Options;
use super::place::Place;

/// The requests that are understood. One of them with other parameters is not an unknown one.
const METHODS: [&str; 4] = ["initialize", "ping", "tools/call", "tools/list"];

/// One server, for one client.
#[derive(Debug)]
pub(super) struct Server {
    tools: Vec<Tool>,
    calls: Arc<Calls>,
    place: Arc<Place>,
}

impl Server {
    pub(super) fn new(options: Options, disconnected: Arc<End>) -> Self {
        let Options { service, tools, client_roots, allowed, refresh } = options;
        Self {
            tools: tools.specs().into_iter().map(described).collect(),
            calls: Arc::new(Calls { tools, refresh, disconnected }),
            place: Arc::new(Place::new(service, client_roots, allowed)),
        }
    }
}

/// A tool as a client is told of it.
fn described(spec: ToolSpec) -> Tool {
    let ToolSpec { name, description, parameters, result, hints, .. } = spec;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    Tool::new(name, description, object(parameters))
        .with_raw_output_schema(Arc::new(object(told(result))))
        .with_annotations(annotations)
}

/// The schema of the value whether the call succeeds or fails: there are clients that hold the
/// value of an error against it too.
fn told(result: Value) -> Value {
    let failed = json!({
        "type": "object",
        "properties": { "code": { "type": "string" }, "reason": { "type": "string" } },
        "required": ["code"],
        "additionalProperties": false,
    });
    json!({ "type": "object", "anyOf": [result, failed] })
}

fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let name = Implementation::new("ringfence", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(name)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        // Later ones let a server ask nothing: neither what the roots are, nor a person.
        ProtocolVersion::known_up_to(&ProtocolVersion::LATEST_WITH_INITIALIZE).into()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        let client = &request.capabilities;
        let approver = Elicitation::by(&context.peer, client);
        let approver = approver.map(|approver| Arc::new(approver) as Arc<dyn Approver>);
        let seat = self.place.begin(client, approver);
        let news = seat.and_then(|seat| seat.news());
        Ok(match news {
            Some(news) => result.with_instructions(news),
            None => result,
        })
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.ask_for_roots(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.ask_for_roots(context).await;
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, .. } = request;
        if !self.tools.iter().any(|tool| tool.name == name) {
            return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None));
        }
        let seat = tokio::select! {
            seat = self.place.seat() => seat,
            () = context.ct.cancelled() => Err("The call was cancelled.".into()),
            () = self.calls.disconnected.reached() => Err("The client is gone.".into()),
        };
        Ok(match seat {
            Ok(seat) => self.calls.run(seat, (name.into_owned(), arguments), &context).await?,
            Err(why) => refused(&why),
        }
        .into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, .. } = request;
        Err(if METHODS.contains(&&*method) {
            ErrorData::invalid_params(format!("these are no parameters of {method}"), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {method:?}"), None)
        })
    }
}

impl Server {
    /// The tasks of a connection begin in the order in which the messages came, so no call that
    /// came after this one begins before the client is asked.
    async fn ask_for_roots(&self, context: NotificationContext<RoleServer>) {
        let client = context.peer.peer_info();
        if client.is_some_and(|client| self.place.is_named_by(&client.capabilities)) {
            Arc::clone(&self.place).ask(context.peer).await;
        }
    }
}

/// The result of a call that acts nowhere.
fn refused(why: &str) -> CallToolResult {
    let mut refused = CallToolResult::error(vec![ContentBlock::text(why)]);
    refused.structured_content = Some(json!({ "code": Code::SandboxUnavailable.as_str() }));
    refused
}
