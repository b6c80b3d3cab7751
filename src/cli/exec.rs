//! The runner before a command: it has the streams of this process, and this process ends as it
//! does.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use ringfence::{
    Ending, Exec, Explained, Mode, Network, SessionBuilder, leave_interrupts_to_the_command,
    spelled,
};
use serde_json::{Map, Value, json};

use super::Failure;
use super::args::{ExecCommand, Net};
use super::render::{Renderer, print, tell, tokens};

/// The command cannot be held as it is to be, or nothing is known of its end.
pub(super) const NOT_RUN: u8 = 125;

/// The program is there and cannot be executed.
const NOT_EXECUTABLE: u8 = 126;

/// The program is not there.
const NOT_FOUND: u8 = 127;

/// What is added to a signal.
const SIGNALLED: i32 = 128;

/// Runs a command in a session of its own, or says what it would be held to.
pub(super) fn run(
    builder: SessionBuilder,
    exec: ExecCommand,
    renderer: Renderer,
) -> Result<ExitCode, Failure> {
    // Before any thread is started. If it fails, an interrupt ends both.
    drop(leave_interrupts_to_the_command());
    let session = builder.build()?;
    if exec.explain {
        show(&session.explain(&program(&exec))?, renderer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let ending = session.exec(&program(&exec))?;
    if let Ending::NotExecuted(why) = ending {
        let program = exec.command.first().cloned().unwrap_or_default();
        tell(&format!("cannot execute {program:?}: {why}"));
    }
    let code = code_of(ending).unwrap_or_else(|| {
        tell("the command has ended, and nothing is known of how");
        NOT_RUN
    });
    Ok(code.into())
}

/// What is to be run.
fn program(exec: &ExecCommand) -> Exec {
    let network = exec.net.map_or(Network::Shared, |Net::None| Network::Denied);
    Exec::new(&exec.command).network(network)
}

/// As a shell tells how a command ended, if that is known.
fn code_of(ending: Ending) -> Option<u8> {
    match ending {
        Ending::Exited(code) => u8::try_from(code).ok(),
        Ending::Signalled(signal) => u8::try_from(SIGNALLED + signal).ok(),
        Ending::NotExecuted(ErrorKind::NotFound) => Some(NOT_FOUND),
        Ending::NotExecuted(_) => Some(NOT_EXECUTABLE),
        Ending::TimedOut | Ending::Aborted | Ending::Unknown | _ => None,
    }
}

fn show(explained: &Explained, renderer: Renderer) -> Result<(), Failure> {
    if renderer.json {
        renderer.object(object(explained))
    } else {
        print(text(explained).as_bytes())
    }
}

fn network(explained: &Explained) -> &'static str {
    match explained.network {
        Network::Denied => "none",
        Network::Shared | _ => "shared",
    }
}

fn text(explained: &Explained) -> String {
    let Explained { mode, held, roots, protected, .. } = explained;
    let mut lines = vec![("mode", mode.to_string())];
    match held {
        Some(held) => {
            lines.push(("runner", held.runner.to_string()));
            lines.push(("enforced", held.enforcement().to_string()));
            if !held.gaps.is_empty() {
                lines.push(("gaps", tokens(&held.gaps)));
            }
            lines.push(("not held", tokens(&held.not_covered)));
        }
        None => lines.push(("runner", "none".to_owned())),
    }
    match mode {
        Mode::DangerFullAccess => lines.push(("writable", "everything".to_owned())),
        Mode::ReadOnly => lines.push(("writable", "nothing".to_owned())),
        Mode::WorkspaceWrite => {
            lines.extend(roots.iter().map(|root| ("writable", format!("{root:?}"))));
        }
    }
    lines.extend(protected.iter().map(|path| ("protected", format!("{path:?}"))));
    lines.push(("network", network(explained).to_owned()));
    lines.into_iter().map(|(what, value)| format!("{what:<11}{value}\n")).collect()
}

fn object(explained: &Explained) -> Map<String, Value> {
    let Explained { mode, held, roots, protected, .. } = explained;
    let paths = |paths: &[PathBuf]| {
        let spelled = |path: &PathBuf| spelled("path", path.as_os_str().as_encoded_bytes());
        paths.iter().map(spelled).collect::<Vec<_>>()
    };
    let gaps = held.iter().flat_map(|held| &held.gaps).map(ToString::to_string);
    let not_covered = held.iter().flat_map(|held| &held.not_covered).map(ToString::to_string);
    // Nothing is said where it is everything.
    let roots = (*mode != Mode::DangerFullAccess).then(|| paths(roots));
    let fields = [
        ("mode", mode.as_str().into()),
        ("runner", json!(held.as_ref().map(|held| held.runner.to_string()))),
        ("enforcement", json!(held.as_ref().map(|held| held.enforcement().to_string()))),
        ("gaps", gaps.collect()),
        ("not_covered", not_covered.collect()),
        ("roots", json!(roots)),
        ("protected", json!(paths(protected))),
        ("network", network(explained).into()),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_this_one_as_it_would_end_a_shell() {
        for (ending, code) in [
            (Ending::Exited(0), Some(0)),
            (Ending::Exited(255), Some(255)),
            (Ending::Signalled(15), Some(143)),
            (Ending::NotExecuted(ErrorKind::NotFound), Some(127)),
            (Ending::NotExecuted(ErrorKind::PermissionDenied), Some(126)),
            (Ending::Unknown, None),
        ] {
            assert_eq!(code_of(ending), code, "{ending:?}");
        }
    }
}
