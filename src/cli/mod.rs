//! The command line: parse, ask the library, print. Decides nothing.

mod args;
mod config;
mod doctor;
mod exec;
mod pages;
mod policy;
mod render;
mod serve;
mod settings;
mod terminal;
mod tool;
mod why;
mod workspace;

use std::io;
use std::process::ExitCode;

use ringfence::{Code, Enforcement, Error, Mode, Session};

pub(crate) use args::Args;
use args::{Advice, AskCommand, Command, FileCommand};
use config::Unusable;
use render::Renderer;
use terminal::Terminal;

/// Why a command did not do what was asked.
#[derive(Debug)]
enum Failure {
    /// The library refused or failed; what the command line could say otherwise, by the code.
    Request(Error, Advice),
    /// The configuration is not used.
    Configuration(Unusable),
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

impl From<Unusable> for Failure {
    fn from(unusable: Unusable) -> Self {
        Self::Configuration(unusable)
    }
}

/// Does what `args` ask for.
pub(crate) fn run(args: Args) -> ExitCode {
    let renderer = Renderer { json: args.json };
    let exit_code = match &args.command {
        Command::Exec(_) => |_: &Failure| exec::NOT_RUN.into(),
        Command::File(_) | Command::Tool { .. } | Command::Doctor => exit_code,
        Command::Workspace(_) | Command::Serve(_) => exit_code,
        Command::Ask(_) | Command::Pages(_) => exit_code,
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
    let Args { policy, command, .. } = args;
    match command {
        Command::File(command) => file(&policy.session()?.build()?, command, renderer),
        Command::Tool { name: None } => tool::list(),
        Command::Tool { name: Some(name) } => {
            let mut builder = policy.session()?;
            if let Some(person) = Terminal::here() {
                builder = builder.approver(person);
            }
            tool::call(&builder.build()?, &name, renderer)
        }
        Command::Exec(command) => exec::run(policy.session()?, command, renderer),
        Command::Ask(ask) => answer(&policy.session()?.build()?, &ask, renderer),
        Command::Serve(command) => serve::run(command, policy),
        // They have no policy, and no configuration stops them.
        Command::Pages(pages) => pages::run(&pages),
        Command::Workspace(command) => workspace::run(command, renderer),
        Command::Doctor => {
            // Looking takes no fence, and the workspace is found as any command finds it.
            let session = policy.session()?.mode(Mode::ReadOnly).build()?;
            let required = policy.require.map_or_else(Enforcement::default, Into::into);
            let good_enough = doctor::run(session.policy()?.workspace(), required, renderer)?;
            Ok(if good_enough { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Does one thing with files.
fn file(session: &Session, command: FileCommand, renderer: Renderer) -> Result<ExitCode, Failure> {
    let advice = command.advice();
    let request = command.into_request(&mut io::stdin().lock()).map_err(Failure::Input)?;
    let done = session.perform(request);
    let outcome = done.map_err(|error| Failure::Request(error, advice))?;
    // It is done, whatever can be said of the fence by now.
    let assurance = session.assurance().ok().flatten();
    renderer.outcome(outcome, assurance.as_ref())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what the policy says. Whatever that is, it is done.
fn answer(session: &Session, ask: &AskCommand, renderer: Renderer) -> Result<ExitCode, Failure> {
    match ask {
        AskCommand::Why { path, op } => why::run(session, *op, path, renderer)?,
        AskCommand::Policy => policy::run(session, renderer)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn exit_code(failure: &Failure) -> ExitCode {
    exit_code_of(match failure {
        Failure::Request(error, _) => error.code(),
        Failure::Configuration(_) => Code::PolicyInvalid,
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
