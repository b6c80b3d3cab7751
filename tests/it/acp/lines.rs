//! A client that writes its lines by hand, to write what no implementation would.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};

use serde_json::{Value, json};

use super::Served;

#[derive(Debug)]
pub(super) struct ByHand {
    served: Served,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    sent: u64,
}

impl ByHand {
    /// A client with one session in `workspace`, `session-1`.
    pub(super) fn start(workspace: &Path) -> Self {
        let mut served = Served::start(workspace);
        let (input, output) = served.streams();
        let mut client = Self { served, input, output: BufReader::new(output), sent: 0 };
        client.answer("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        client.answer("session/new", json!({ "cwd": workspace, "mcpServers": [] }));
        client
    }

    pub(super) fn line(&mut self, line: impl AsRef<[u8]>) {
        self.input.write_all(line.as_ref()).unwrap();
        self.input.write_all(b"\n").unwrap();
    }

    /// Sends a request, and returns its id.
    pub(super) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.sent += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.sent, "method": method, "params": params });
        self.line(request.to_string());
        self.sent
    }

    pub(super) fn prompt(&mut self, calls: &Value) -> u64 {
        let prompt = json!([{ "type": "text", "text": calls.to_string() }]);
        self.request("session/prompt", json!({ "sessionId": "session-1", "prompt": prompt }))
    }

    /// Sends a request, and returns what it is answered.
    pub(super) fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The first message of this kind. Others are passed over.
    pub(super) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = next(&mut self.output).expect("it is still answered");
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Writes no more, and sees that the agent ends well and has said nothing but messages.
    pub(super) fn disconnect(self) {
        let Self { served, input, mut output, .. } = self;
        drop(input);
        while next(&mut output).is_some() {}
        served.ends_well();
    }
}

fn next(output: &mut BufReader<ChildStdout>) -> Option<Value> {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
}
