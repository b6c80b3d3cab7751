//! `ringfence mcp` as a process, by the lines that a client writes and reads.

mod asking;
mod calling;
mod clients;
mod configuration;
mod ending;
mod flood;
mod progress;
mod protocol;
mod roots;

pub(crate) use clients::left_out;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Stage, Tree, file};

/// How long a client waits for anything before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn stage() -> Stage {
    Stage::new(
        &Tree::inside([file("f", "old\n"), file("d/g", "g\n")]).outside([file("out/s", "s")]),
    )
}

/// A client, and the server that it has started.
#[derive(Debug)]
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    asked: i64,
}

impl Client {
    /// Starts a server in the workspace of `stage`.
    fn start(stage: &Stage, options: &[&str]) -> Self {
        Self::started(Self::command(stage.root(), options))
    }

    fn started(mut command: Command) -> Self {
        let mut server = command.spawn().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let (read, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                // Nothing but the protocol is on the standard output of a server.
                let message = serde_json::from_str(&line.unwrap()).unwrap();
                if read.send(message).is_err() {
                    return;
                }
            }
        });
        let input = server.stdin.take();
        Self { server, input, lines, asked: 0 }
    }

    fn command(workspace: &Path, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence"));
        command.env("TMPDIR", "/tmp").env_remove("RINGFENCE_LOG");
        // No configuration of whoever runs the tests.
        command.env("XDG_CONFIG_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"));
        command.current_dir(workspace).arg("mcp").args(options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// One in workspace-write mode that has said what it can do.
    fn ready(stage: &Stage, capabilities: Value) -> Self {
        Self::ready_with(stage, capabilities, &["--mode", "workspace-write"])
    }

    fn ready_with(stage: &Stage, capabilities: Value, options: &[&str]) -> Self {
        let mut client = Self::start(stage, options);
        client.initialize(capabilities);
        client
    }

    /// Says what it can do, and gives the answer.
    fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let id = self.ask("initialize", params);
        let answer = self.answer(id);
        self.tell("notifications/initialized", json!({}));
        answer
    }

    fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Begins a call of a tool.
    fn begin(&mut self, name: &str, arguments: Value) -> i64 {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// Begins a command and has its progress told; the token is the id.
    fn run(&mut self, command: &str) -> i64 {
        let arguments = json!({ "command": command, "description": "a test" });
        let meta = json!({ "progressToken": self.asked + 1 });
        self.ask("tools/call", json!({ "name": "bash", "arguments": arguments, "_meta": meta }))
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    /// The next message that is the answer to `id`; whatever else comes is passed over.
    fn answer(&self, id: i64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The next message that asks or tells `method`.
    fn told(&self, method: &str) -> Value {
        loop {
            let message = self.next();
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Calls a tool and gives what came of it.
    fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin(name, arguments);
        self.answer(id)["result"].take()
    }

    /// The value of a call that succeeds.
    #[track_caller]
    fn done(&mut self, name: &str, arguments: Value) -> Value {
        let mut result = self.call(name, arguments);
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].take()
    }

    /// The code of a call that fails.
    #[track_caller]
    fn code(&mut self, name: &str, arguments: Value) -> String {
        code(&self.call(name, arguments))
    }

    fn reply(&mut self, to: &Value, result: Value) {
        let id = &to["id"];
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// Leaves, and waits for the server to end.
    fn leave(mut self) -> ExitStatus {
        self.input = None;
        self.server.wait().unwrap()
    }

    /// What the kernel says of the server: how many bytes of memory it has, and how many descriptors
    /// and threads.
    fn size(&self) -> (u64, usize, usize) {
        let proc = Path::new("/proc").join(self.server.id().to_string());
        let entries = |name| std::fs::read_dir(proc.join(name)).unwrap().count();
        let status = std::fs::read_to_string(proc.join("status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let resident: u64 = resident.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        (resident * 1024, entries("fd"), entries("task"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.input = None;
        // It may have ended, and it ends by itself.
        drop(self.server.wait());
    }
}

#[track_caller]
fn code(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    result["structuredContent"]["code"].as_str().unwrap().to_owned()
}

#[track_caller]
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// A pipe by its name in the workspace, for commands to wait at and to be waited for.
#[derive(Debug)]
struct Pipe(std::path::PathBuf);

impl Pipe {
    fn new(stage: &Stage) -> Self {
        let path = stage.root().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        Self(path)
    }

    /// Waits until somebody has opened it for writing, and then until nobody has it open.
    fn held(&self) -> Held {
        Held(File::open(&self.0).unwrap())
    }
}

/// A pipe that processes have open.
#[derive(Debug)]
struct Held(File);

impl Held {
    /// Waits until the last of the processes has ended.
    fn released(mut self) {
        self.0.read_to_end(&mut Vec::new()).unwrap();
    }
}
