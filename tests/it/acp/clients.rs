//! The served agent by a client that others have made, where it is installed.

use std::process::{Command, Stdio};

use crate::support::{Stage, Tree, dir, file, runs_commands, say};

/// Where the clients of others are installed.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/clients/python/bin/python");
const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/acp_sdk.py");

#[test]
fn a_client_of_another_implementation_is_served_as_any_other() {
    if !runs_commands() {
        return;
    }
    let has_it = Command::new(PYTHON).args(["-c", "import acp"]).stderr(Stdio::null()).status();
    if !has_it.is_ok_and(|status| status.success()) {
        say("left out: the client agent-client-protocol of Python is not in target/clients/python");
        return;
    }
    let stage = Stage::new(&Tree::inside([]).outside([dir("out"), file("kept/c.toml", "")]));
    let output = Command::new(PYTHON)
        .args([SDK.as_ref(), stage.root(), &stage.base().join("out")])
        .args([env!("CARGO_BIN_EXE_ringfence"), "acp", "--workspace"])
        .arg(stage.root())
        .arg("--config")
        .arg(stage.base().join("kept/c.toml"))
        .env("TMPDIR", "/tmp")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
}
