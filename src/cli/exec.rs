//! The runner before a command: it has the streams of this process, and this process ends as it
//! does.

use std::path::PathBuf;
use std::process::ExitCode;

use ringfence::{
    Ending, Error, ErrorKind, Held, Mode, Op, Policy, Session, SessionBuilder, spelled,
};
use serde_json::{Map, Value, json};

use super::Failure;
use super::args::{ExecCommand, Net};
use super::render::{Renderer, print, tell, tokens};

/// The command cannot be held as it is to be, or nothing is known of its end.
const NOT_RUN: u8 = 125;

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
    let session = protecting(builder, &exec.protect).build()?;
    if exec.explain {
        let explained = Explained::of(session.policy()?, held(&session, &exec)?, exec);
        explained.show(renderer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let code = code_of(execute(&session, exec)?).unwrap_or_else(|| {
        tell("the command has ended, and nothing is known of how");
        NOT_RUN
    });
    Ok(code.into())
}

/// Has the session keep these paths as they are.
fn protecting(builder: SessionBuilder, paths: &[PathBuf]) -> SessionBuilder {
    if paths.is_empty() { builder } else { todo!() }
}

/// Runs it to its end, in the working directory of this process.
fn execute(session: &Session, exec: ExecCommand) -> Result<Ending, Error> {
    let ExecCommand { net, command, .. } = exec;
    todo!("{session:?} {net:?} {command:?}")
}

/// What would hold it; nothing under danger-full-access.
fn held(session: &Session, exec: &ExecCommand) -> Result<Option<Held>, Error> {
    todo!("{session:?} {exec:?}")
}

/// As a shell tells how a command ended, if that is known.
fn code_of(ending: Ending) -> Option<u8> {
    match ending {
        Ending::Exited(code) => u8::try_from(code).ok(),
        Ending::Signalled(signal) => u8::try_from(SIGNALLED + signal).ok(),
        Ending::TimedOut | Ending::Aborted | Ending::Unknown | _ => None,
    }
}

/// As a shell tells that a program was not executed; that it cannot be confined is told apart.
pub(super) fn exit_code(failure: &Failure) -> ExitCode {
    code_of_failure(failure).into()
}

fn code_of_failure(failure: &Failure) -> u8 {
    let Failure::Request(Error::Failed { op: Op::Run, kind, .. }, _) = failure else {
        return NOT_RUN;
    };
    if *kind == ErrorKind::NotFound {
        NOT_FOUND
    } else if matches!(kind, ErrorKind::Denied | ErrorKind::WrongKind | ErrorKind::Unsupported) {
        NOT_EXECUTABLE
    } else {
        NOT_RUN
    }
}

/// What a command would be held to.
struct Explained {
    policy: Policy,
    held: Option<Held>,
    protect: Vec<PathBuf>,
    net: Option<Net>,
}

impl Explained {
    fn of(policy: Policy, held: Option<Held>, exec: ExecCommand) -> Self {
        let ExecCommand { protect, net, .. } = exec;
        Self { policy, held, protect, net }
    }

    fn show(&self, renderer: Renderer) -> Result<(), Failure> {
        if renderer.json { renderer.object(self.object()) } else { print(self.text().as_bytes()) }
    }

    /// Where it may change files; anywhere, if nothing is said of that.
    fn roots(&self) -> Option<Vec<PathBuf>> {
        if self.policy.mode() == Mode::DangerFullAccess {
            return None;
        }
        let roots = self.policy.roots().into_iter().flat_map(|roots| roots.iter());
        Some(roots.map(|root| root.path().to_owned()).collect())
    }

    fn network(&self) -> &'static str {
        match self.net {
            Some(Net::None) => "none",
            None => "shared",
        }
    }

    fn text(&self) -> String {
        let mut lines = vec![("mode", self.policy.mode().to_string())];
        match &self.held {
            Some(held) => {
                lines.push(("runner", held.runner.to_string()));
                lines.push(("enforced", held.enforcement().to_string()));
                if !held.gaps.is_empty() {
                    lines.push(("gaps", tokens(&held.gaps)));
                }
            }
            None => lines.push(("runner", "none".to_owned())),
        }
        match self.roots() {
            None => lines.push(("writable", "everything".to_owned())),
            Some(roots) if roots.is_empty() => lines.push(("writable", "nothing".to_owned())),
            Some(roots) => {
                lines.extend(roots.iter().map(|root| ("writable", format!("{root:?}"))));
            }
        }
        lines.extend(self.protect.iter().map(|path| ("protected", format!("{path:?}"))));
        lines.push(("network", self.network().to_owned()));
        lines.into_iter().map(|(what, value)| format!("{what:<11}{value}\n")).collect()
    }

    fn object(&self) -> Map<String, Value> {
        let paths = |paths: &[PathBuf]| {
            let spelled = |path: &PathBuf| spelled("path", path.as_os_str().as_encoded_bytes());
            paths.iter().map(spelled).collect::<Vec<_>>()
        };
        let held = self.held.as_ref();
        let gaps = held.iter().flat_map(|held| &held.gaps).map(ToString::to_string);
        let fields = [
            ("mode", self.policy.mode().as_str().into()),
            ("runner", json!(held.map(|held| held.runner.to_string()))),
            ("enforcement", json!(held.map(|held| held.enforcement().to_string()))),
            ("gaps", gaps.collect()),
            ("roots", json!(self.roots().as_deref().map(paths))),
            ("protected", json!(paths(&self.protect))),
            ("network", self.network().into()),
        ];
        fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
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
            (Ending::Unknown, None),
        ] {
            assert_eq!(code_of(ending), code, "{ending:?}");
        }
    }

    #[test]
    fn what_was_not_executed_is_told_from_what_cannot_be_held() {
        let failed = |op, kind| {
            let error = Error::Failed { op, path: "x".into(), kind, source: None };
            code_of_failure(&error.into())
        };
        assert_eq!(failed(Op::Run, ErrorKind::NotFound), NOT_FOUND);
        assert_eq!(failed(Op::Run, ErrorKind::Denied), NOT_EXECUTABLE);
        assert_eq!(failed(Op::Run, ErrorKind::WrongKind), NOT_EXECUTABLE);
        assert_eq!(failed(Op::Run, ErrorKind::Io), NOT_RUN);
        assert_eq!(failed(Op::Stat, ErrorKind::NotFound), NOT_RUN);
        assert_eq!(code_of_failure(&Error::NoPolicy.into()), NOT_RUN);
    }
}
