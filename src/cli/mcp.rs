//! The command line of the server for clients of the Model Context Protocol.

use std::process::ExitCode;

use ringfence::{PolicyService, Settings, Tool, ToolSet};

use super::Failure;
use super::args::McpCommand;
use super::config::Configuration;
use crate::mcp::{ClientRoots, Options};

/// Serves until the client is gone. What whoever set it up did not allow is not allowed.
pub(super) fn serve(
    configuration: &Configuration,
    settings: Settings,
    command: &McpCommand,
) -> Result<ExitCode, Failure> {
    for dir in &command.allow_root {
        configuration.out_of_reach(dir)?;
    }
    let client_roots =
        if command.ignore_roots { ClientRoots::Ignored } else { ClientRoots::Honoured };
    let options = Options {
        service: PolicyService::load(settings)?,
        tools: tools(command),
        client_roots,
        allowed: command.allow_root.clone(),
        refresh: None,
    };
    crate::mcp::serve(options).map_err(Failure::Output)?;
    Ok(ExitCode::SUCCESS)
}

fn tools(command: &McpCommand) -> ToolSet {
    let tools = ToolSet::new();
    match (command.no_bash, command.background) {
        (true, _) => tools.without(Tool::Bash),
        (false, true) => tools.with_background(),
        (false, false) => tools,
    }
}
