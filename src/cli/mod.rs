//! The command line: parse, ask the library, print. Decides nothing.

mod args;
mod doctor;
mod exec;
mod render;
mod terminal;
mod tool;

use std::io;
use std::process::ExitCode;

use ringfence::{Code, Enforcement, Error, Mode, Session};

pub(crate) use args::Args;
use args::{Advice, Command};
use render::Renderer;
use terminal::Terminal;

/// Why a command did not do what was asked.
#[derive(Debug)]
enum Failure {
    /// The library refused or failed; what the command line could say otherwise, by the code.
    Request(Error, Advice),
    /// The contents could not be read.
    Input(io::Error),
    /// What was asked for could not be printed.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Request(error, &[])
    }
}

/// Does what `args` ask for.
pub(crate) fn run(args: Args) -> ExitCode {
    let renderer = Renderer { json: args.json };
    let exit_code = match &args.command {
        Command::Exec(_) => |_: &Failure| exec::NOT_RUN.into(),
        Command::File(_) | Command::Tool { .. } | Command::Doctor => exit_code,
    };
    match attempt(args, renderer) {
        Ok(code) => code,
        // Whoever read the output has seen enough of it.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            renderer.failure(&failure);
            exit_code(&failure)
        }
    }
}

fn attempt(args: Args, renderer: Renderer) -> Result<ExitCode, Failure> {
    let required = args.require.map_or_else(Enforcement::default, Into::into);
    let mut builder =
        Session::builder().mode(args.mode).require(required).durability(args.durability.into());
    builder = builder.protected_subpaths(args.protect);
    if let Some(workspace) = args.workspace {
        builder = builder.workspace(workspace);
    }
    let command = match args.command {
        Command::File(command) => command,
        Command::Tool { name: None } => return tool::list(),
        Command::Tool { name: Some(name) } => {
            if let Some(person) = Terminal::here() {
                builder = builder.approver(person);
            }
            return tool::call(&builder.build()?, &name, args.json);
        }
        Command::Exec(command) => return exec::run(builder, command, renderer),
        Command::Doctor => {
            // Looking takes no fence, and the workspace is found as any command finds it.
            let session = builder.mode(Mode::ReadOnly).build()?;
            let good_enough = doctor::run(session.policy()?.workspace(), required, renderer)?;
            return Ok(if good_enough { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    };
    let session = builder.build()?;
    let advice = command.advice();
    let request = command.into_request(&mut io::stdin().lock()).map_err(Failure::Input)?;
    let done = session.perform(request);
    let outcome = done.map_err(|error| Failure::Request(error, advice))?;
    // It is done, whatever can be said of the fence by now.
    let assurance = session.assurance().ok().flatten();
    renderer.outcome(outcome, assurance.as_ref())?;
    Ok(ExitCode::SUCCESS)
}

fn exit_code(failure: &Failure) -> ExitCode {
    exit_code_of(match failure {
        Failure::Request(error, _) => error.code(),
        Failure::Input(_) | Failure::Output(_) => Code::FsIoError,
    })
}

fn exit_code_of(code: Code) -> ExitCode {
    ExitCode::from(if code == Code::FsSandboxDenied {
        3
    } else if matches!(code, Code::FsNotObserved | Code::FsStaleVersion) {
        4
    } else {
        1
    })
}
