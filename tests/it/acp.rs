//! The Agent Client Protocol: what an agent embeds of it, and the agent that has no model, served
//! to clients as a process.

mod asking;
mod bridge;
mod clients;
mod ending;
mod lines;
mod messages;
mod peer;
mod sessions;

use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Stage, Tree, fifo, file};

/// A workspace, and three more directories beside it, one of which has the configuration.
fn stage() -> Stage {
    let outside = [file("one/own", "1"), file("two/own", "2"), file("kept/config.toml", "")];
    Stage::new(&Tree::inside([file("f", "old\n"), fifo("fifo")]).outside(outside))
}

/// The agent as a process. It is killed if a test fails before it has ended.
#[derive(Debug)]
struct Served(Child);

impl Served {
    fn start(workspace: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence"));
        // Not beneath the target directory, whatever the variable is here.
        command.env("TMPDIR", "/tmp").env_remove("RINGFENCE_LOG");
        command.current_dir(workspace).args(["acp", "--mode", "workspace-write"]);
        command.arg("--config").arg(workspace.parent().unwrap().join("kept/config.toml"));
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    fn streams(&mut self) -> (ChildStdin, ChildStdout) {
        (self.0.stdin.take().unwrap(), self.0.stdout.take().unwrap())
    }

    /// Waits for it to end by itself.
    fn ends_well(mut self) {
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }
}

fn write(path: impl AsRef<Path>, content: &str) -> Value {
    json!({ "tool": "write", "arguments": { "file_path": path.as_ref(), "content": content } })
}

fn bash(command: &str) -> Value {
    json!({ "tool": "bash", "arguments": { "command": command, "description": "a test" } })
}

/// The call with the wish that it may run in a wider mode.
fn asking(mut call: Value, to: &str) -> Value {
    call["arguments"]["sandbox_permissions"] = to.into();
    call["arguments"]["justification"] = "wanted\u{1b}[2J".into();
    call
}
