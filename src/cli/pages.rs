//! What is made of the command line itself: completions of a shell, and manual pages.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use super::Failure;
use super::args::{Args, PagesCommand};
use super::render::print;

/// Prints what is asked for.
pub(super) fn run(pages: &PagesCommand) -> Result<ExitCode, Failure> {
    match pages {
        PagesCommand::Completions { shell } => completions(*shell),
        PagesCommand::Man { command } => man(command.as_deref()),
    }
}

/// What completes command lines in `shell`.
fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "ringfence", &mut script);
    print(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// The manual page of a command, or that of all of them.
fn man(of: Option<&str>) -> Result<ExitCode, Failure> {
    let mut all = Args::command();
    all.build();
    let man = match of {
        None => Man::new(all),
        Some(name) => page_of(&all, name),
    };
    let mut roff = Vec::new();
    man.render(&mut roff).map_err(Failure::Output)?;
    print(&roff)?;
    Ok(ExitCode::SUCCESS)
}

/// The page of one command. Ends the process if there is none of that name.
fn page_of(all: &Command, name: &str) -> Man {
    let Some(command) = all.find_subcommand(name) else {
        let text = format!("there is no command {name:?}");
        all.clone().error(ErrorKind::InvalidSubcommand, text).exit()
    };
    let title = format!("{}-{name}", all.get_name());
    Man::new(command.clone().display_name(&title)).title(title)
}
