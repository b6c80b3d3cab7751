//! From a line to what it asks for.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequest, ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage,
    JsonRpcRequest, RequestId, ServerJsonRpcMessage,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::input::MOST_BYTES;
use super::lines::Line;

/// The request that calls a tool.
pub(super) const CALL: &str = "tools/call";

/// What a line is, as far as can be said without a look at what it is about.
#[derive(Debug)]
pub(super) enum Incoming {
    /// Nothing at all.
    Blank,
    /// Something that is to be answered.
    Request(Request),
    /// Something that is not.
    Notification(Box<ClientJsonRpcMessage>),
    /// An answer to something that was asked here.
    Answer(Box<ClientJsonRpcMessage>),
    /// Nothing that can be understood.
    Fault(Fault),
}

/// A request that was not looked into yet.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) method: String,
    text: String,
}

/// What is said of a message that is none.
#[derive(Debug)]
pub(super) struct Fault {
    id: Option<RequestId>,
    error: Box<ErrorData>,
}

impl Fault {
    pub(super) fn new(
        id: Option<RequestId>,
        code: ErrorCode,
        what: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { id, error: Box::new(ErrorData::new(code, what, None)) }
    }

    pub(super) fn invalid(id: Option<RequestId>, what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(id, ErrorCode::INVALID_REQUEST, what)
    }

    /// As it is sent. The id stands there even if there is none, as JSON-RPC has it.
    pub(super) fn line(&self) -> Vec<u8> {
        let Self { id, error } = self;
        let id = id.clone().map(RequestId::into_json_value);
        json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
    }
}

/// The keys of a message. What they hold is passed over, but for those that say what it is.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Envelope {
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
    method: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// What is there, though it be null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Says what a line is.
pub(super) fn read(line: Line) -> Incoming {
    let bytes = match line {
        Line::Whole(bytes) => bytes,
        Line::TooLong => {
            let what = format!("the message is longer than {MOST_BYTES} bytes");
            return Incoming::Fault(Fault::invalid(None, what));
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) if text.trim_ascii().is_empty() => Incoming::Blank,
        Ok(text) => told(text).unwrap_or_else(Incoming::Fault),
        Err(_) => Incoming::Fault(unparsed("the message is not UTF-8")),
    }
}

fn unparsed(what: impl Into<Cow<'static, str>>) -> Fault {
    Fault::new(None, ErrorCode::PARSE_ERROR, what)
}

fn told(text: String) -> Result<Incoming, Fault> {
    serde_json::from_str::<IgnoredAny>(&text)
        .map_err(|error| unparsed(format!("the message is no JSON: {error}")))?;
    if text.trim_ascii_start().starts_with('[') {
        return Err(Fault::invalid(None, "batches are not taken: send one message on a line"));
    }
    let envelope: Envelope = serde_json::from_str(&text)
        .map_err(|error| Fault::invalid(None, format!("this is no message: {error}")))?;
    let id = envelope.id.map(|id| serde_json::from_value::<RequestId>(id).map_err(|_| ()));
    match (envelope.method, id, envelope.result.is_some() || envelope.error.is_some()) {
        (Some(Value::String(method)), Some(Ok(id)), false) => {
            Ok(Incoming::Request(Request { id, method, text }))
        }
        (Some(Value::String(_)), Some(Err(())), false) => {
            Err(Fault::invalid(None, "the id is neither a text nor a whole number"))
        }
        (Some(Value::String(_)), None, false) => Ok(Incoming::Notification(notified(&text)?)),
        (None, Some(Ok(id)), true) => Ok(Incoming::Answer(answered(&text, id))),
        (_, id, _) => {
            let what = "this is neither a request nor a notification nor an answer";
            Err(Fault::invalid(id.and_then(Result::ok), what))
        }
    }
}

fn notified(text: &str) -> Result<Box<ClientJsonRpcMessage>, Fault> {
    match serde_json::from_str(text) {
        Ok(message @ JsonRpcMessage::Notification(_)) => Ok(Box::new(message)),
        Ok(_) | Err(_) => Err(Fault::invalid(None, "this is no notification of JSON-RPC 2.0")),
    }
}

/// An answer that cannot be understood is an error of the one who was asked, so that whoever has
/// asked does not wait for ever.
fn answered(text: &str, id: RequestId) -> Box<ClientJsonRpcMessage> {
    match serde_json::from_str(text) {
        Ok(message @ (JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))) => Box::new(message),
        Ok(_) | Err(_) => {
            let error = ErrorData::new(ErrorCode::INVALID_REQUEST, "this is no answer", None);
            Box::new(ClientJsonRpcMessage::error(error, Some(id)))
        }
    }
}

impl Request {
    /// How many bytes it takes.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Looks into it.
    pub(super) fn parse(self) -> Result<ClientJsonRpcMessage, Fault> {
        if self.method == CALL
            && let Ok(call) = serde_json::from_str::<JsonRpcRequest<CallToolRequest>>(&self.text)
        {
            // All other requests would be tried before it.
            let request = ClientRequest::CallToolRequest(call.request);
            return Ok(ClientJsonRpcMessage::request(request, call.id));
        }
        match serde_json::from_str(&self.text) {
            Ok(message @ JsonRpcMessage::Request(_)) => Ok(message),
            Ok(_) | Err(_) => {
                Err(Fault::invalid(Some(self.id), "this is no request of JSON-RPC 2.0"))
            }
        }
    }
}

/// What a message to the client is on the wire.
pub(super) fn line(message: &ServerJsonRpcMessage) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Incoming {
        read(Line::Whole(text.as_bytes().to_vec()))
    }

    fn fault(line: Line) -> Value {
        let Incoming::Fault(fault) = read(line) else { panic!("it was understood") };
        serde_json::from_slice(&fault.line()).unwrap()
    }

    #[track_caller]
    fn code(text: &str) -> (Value, Value) {
        let told = fault(Line::Whole(text.as_bytes().to_vec()));
        (told["error"]["code"].clone(), told["id"].clone())
    }

    #[test]
    fn what_is_no_json_is_a_parse_error_without_an_id() {
        for text in ["{", "{\"id\":1", "nul", "{} {}", "[1,", "\u{1}"] {
            assert_eq!(code(text), (json!(-32700), Value::Null), "{text}");
        }
        assert_eq!(fault(Line::Whole(b"{\"a\":\"\xff\"}".to_vec()))["error"]["code"], -32700);
        assert_eq!(code(&"[".repeat(1_000_000)).0, -32700, "no depth overflows the stack");
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request() {
        for text in [
            "1",
            "null",
            "\"a\"",
            "[]",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            "{}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":null}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":1.5}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":[1]}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":1,\"id\":2}",
            "{\"jsonrpc\":\"2.0\",\"result\":{}}",
            "{\"method\":\"a\"}",
        ] {
            assert_eq!(code(text), (json!(-32600), Value::Null), "{text}");
        }
        for text in [
            "{\"jsonrpc\":\"2.0\",\"id\":7}",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":5}",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"result\":null}",
        ] {
            assert_eq!(code(text), (json!(-32600), json!(7)), "{text}");
        }
        assert_eq!(fault(Line::TooLong)["error"]["code"], -32600);
        let told = fault(Line::Whole(b"null".to_vec()));
        let told = told["error"]["message"].as_str().unwrap();
        assert!(told.contains("expected an object"), "{told}");
    }

    #[test]
    fn a_request_is_looked_into_only_when_its_turn_comes() {
        let Incoming::Request(request) = of("{\"id\":\"a\",\"method\":\"ping\",\"jsonrpc\":\"1\"}")
        else {
            panic!("a request")
        };
        assert_eq!((&request.id, &*request.method), (&RequestId::String("a".into()), "ping"));
        assert!(request.parse().is_err(), "another version of the protocol");
        let text = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"none/such\",\"params\":{}}\r\n";
        let Incoming::Request(request) = of(text) else { panic!("a request") };
        assert!(request.parse().is_ok(), "an unknown method is answered by who knows them all");
    }

    #[test]
    fn an_answer_is_one_whatever_it_says() {
        for text in [
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[1]}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{},\"result\":{}}",
        ] {
            assert!(matches!(of(text), Incoming::Answer(_)), "{text}");
        }
    }

    #[test]
    fn a_line_of_spaces_is_nothing() {
        for text in ["", "\n", "\r\n", " \t \n"] {
            assert!(matches!(of(text), Incoming::Blank), "{text:?}");
        }
    }
}
