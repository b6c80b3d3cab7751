//! The command line: parse, ask the library, print. Decides nothing.

mod acp;
mod args;
mod config;
mod doctor;
mod exec;
mod mcp;
mod pages;
mod policy;
mod render;
mod terminal;
mod tool;
mod why;
mod workspace;

use std::io;
use std::process::ExitCode;

use ringfence::{Code, Enforcement, Error, Mode, Session, SessionBuilder, Settings};

pub(crate) use args::Args;
use args::{Advice, AskCommand, Command};
use config::{Configuration, Unusable};
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

/// What a person has typed goes before what the configuration says. Where neither says anything of
/// the mode it is `mode`.
fn effective(configuration: &Configuration, args: &Args, mode: Mode) -> Result<Settings, Failure> {
    let mut settings = configuration.settings(mode)?;
    settings = settings.durability(args.durability.into());
    if let Some(mode) = args.mode {
        settings = settings.mode(mode);
    }
    if let Some(level) = args.require {
        settings = settings.require(level.into());
    }
    if !args.protect.is_empty() {
        let places = configuration.protected().into_iter().chain(args.protect.clone());
        settings = settings.protected_subpaths(places);
    }
    if let Some(workspace) = &args.workspace {
        settings = settings.workspace(workspace);
    }
    if args.mode != Some(Mode::DangerFullAccess) {
        let workspace = args.workspace.clone().or_else(|| configuration.workspace());
        configuration.out_of_reach(&workspace.unwrap_or_else(|| ".".into()))?;
    }
    Ok(settings)
}

/// Does what `args` ask for.
pub(crate) fn run(args: Args) -> ExitCode {
    let renderer = Renderer { json: args.json };
    let exit_code = match &args.command {
        Command::Exec(_) => |_: &Failure| exec::NOT_RUN.into(),
        Command::File(_) | Command::Tool { .. } | Command::Doctor => exit_code,
        Command::Workspace(_) | Command::Ask(_) | Command::Pages(_) => exit_code,
        Command::Mcp(_) | Command::Acp => exit_code,
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
    let find = || Configuration::find(args.config.as_deref());
    let (configuration, mode) = match &args.command {
        // They have no policy to be configured.
        Command::Workspace(_) | Command::Pages(_) => {
            (Configuration::default(), Mode::WorkspaceWrite)
        }
        // Whoever calls is not the person who has typed this.
        Command::Mcp(_) | Command::Acp => (find()?, Mode::ReadOnly),
        Command::File(_)
        | Command::Tool { .. }
        | Command::Exec(_)
        | Command::Ask(_)
        | Command::Doctor => (find()?, Mode::WorkspaceWrite),
    };
    let settings = effective(&configuration, &args, mode)?;
    let required = args.require.map_or_else(Enforcement::default, Into::into);
    let mut builder = SessionBuilder::from(settings.clone());
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
        Command::Ask(ask) => return answer(&builder.build()?, &ask, renderer),
        Command::Pages(pages) => return pages::run(&pages),
        Command::Workspace(command) => return workspace::run(command, renderer),
        Command::Mcp(command) => return mcp::serve(&configuration, settings, &command),
        Command::Acp => return acp::run(configuration, settings),
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
