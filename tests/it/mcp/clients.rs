//! Clients that others have made, as far as they are installed in `target/clients`.

use std::path::PathBuf;

use super::*;
use crate::support::{LeftOut, say, this_test};

const INSPECTOR: &str = "node_modules/.bin/mcp-inspector";
const PYTHON: &str = "python/bin/python";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn installed(client: &str) -> Option<PathBuf> {
    let path = root().join("target/clients").join(client);
    path.exists().then_some(path)
}

/// The clients that are not there, for the one place that says what is left out.
pub(crate) fn left_out() -> Vec<LeftOut> {
    let missing = |client: &&str| installed(client).is_none();
    let why = |client| LeftOut::new("a client of the protocol", format!("no {client}"), 1);
    [INSPECTOR, PYTHON].into_iter().filter(missing).map(why).collect()
}

/// Runs a script with its client, the server and an empty workspace.
fn run(test: &str, client: &str, script: impl FnOnce(PathBuf) -> Command) {
    let Some(client) = installed(client) else {
        return say(format_args!("left out: {test}: no target/clients/{client}"));
    };
    let stage = Stage::new(&Tree::inside([]));
    let mut command = script(client);
    command.arg(env!("CARGO_BIN_EXE_ringfence")).arg(stage.root());
    command.env("XDG_CONFIG_HOME", root().join("tests/cases")).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.ends_with("done\n"), "{out}\n{err}");
}

#[test]
fn the_inspector_lists_reads_creates_and_is_denied() {
    run(this_test!(), INSPECTOR, |inspector| {
        let mut command = Command::new(root().join("tests/clients/inspector.sh"));
        command.arg(inspector);
        command
    });
}

#[test]
fn the_python_sdk_does_all_that_a_client_can() {
    run(this_test!(), PYTHON, |python| {
        let mut command = Command::new(python);
        command.arg(root().join("tests/clients/sdk.py"));
        command
    });
}
