//! The command line: parse, ask the library, print. Decides nothing.

mod args;
mod doctor;
mod render;

use std::io;
use std::process::ExitCode;

use ringfence::{Code, Error, Session};

pub(crate) use args::Args;
use args::Command;
use render::Renderer;

/// Why a command did not do what was asked.
#[derive(Debug)]
enum Failure {
    /// The library refused or failed.
    Request(Error),
    /// The contents could not be read.
    Input(io::Error),
    /// What was asked for could not be printed.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Request(error)
    }
}

/// Does what `args` ask for.
pub(crate) fn run(args: Args) -> ExitCode {
    let renderer = Renderer { json: args.json };
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
    let command = match args.command {
        Command::File(command) => command,
        Command::Doctor => {
            let workspace = args.workspace.unwrap_or_else(|| ".".into());
            let good_enough = doctor::run(&workspace, args.require.into(), renderer)?;
            return Ok(if good_enough { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    };
    let builder = Session::builder()
        .mode(args.mode)
        .require(args.require.into())
        .durability(args.durability.into());
    let session = match args.workspace {
        Some(workspace) => builder.workspace(workspace).build()?,
        None => builder.build()?,
    };
    let request = command.into_request(&mut io::stdin().lock()).map_err(Failure::Input)?;
    renderer.outcome(session.perform(request)?)?;
    Ok(ExitCode::SUCCESS)
}

fn exit_code(failure: &Failure) -> ExitCode {
    let code = match failure {
        Failure::Request(error) => error.code(),
        Failure::Input(_) | Failure::Output(_) => Code::FsIoError,
    };
    ExitCode::from(if code == Code::FsSandboxDenied {
        3
    } else if matches!(code, Code::FsNotObserved | Code::FsStaleVersion) {
        4
    } else {
        1
    })
}
