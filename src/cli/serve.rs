//! The command lines of the servers. Whoever calls them is not the person who has typed this, so
//! what was not allowed is not allowed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use ringfence::{DiffLimits, Mode, PolicyService, Settings, Tool, ToolSet};

use super::Failure;
use super::args::{McpCommand, PolicyOptions, ServeCommand};
use super::config::{Configuration, Mcp, Refresh};
use super::render::tell;
use crate::agent;
use crate::mcp;

/// Serves until the client is gone.
pub(super) fn run(command: ServeCommand, policy: PolicyOptions) -> Result<ExitCode, Failure> {
    let configuration = policy.configuration()?;
    let settings = policy.settings(&configuration, Mode::ReadOnly)?;
    match command {
        ServeCommand::Mcp(command) => serve_mcp(configuration, settings, policy, command)?,
        ServeCommand::Acp => serve_acp(configuration, settings)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn serve_mcp(
    configuration: Configuration,
    settings: Settings,
    policy: PolicyOptions,
    command: McpCommand,
) -> Result<(), Failure> {
    let mut allowed = configuration.allowed_roots.clone();
    allowed.extend(command.allow_root.iter().cloned());
    for dir in &allowed {
        configuration.out_of_reach(dir)?;
    }
    let roots = configuration.opened(&allowed)?;
    let Mcp { client_roots, .. } = configuration.mcp;
    let client_roots = match client_roots && !command.ignore_roots {
        true => mcp::ClientRoots::Honoured,
        false => mcp::ClientRoots::Ignored,
    };
    let tools = tools(configuration.mcp, &command);
    let service = PolicyService::load(settings)?;
    let refresh = Some(refresh(policy, &configuration, Arc::clone(&service), allowed));
    let options = mcp::Options { service, tools, client_roots, allowed: roots, refresh };
    mcp::serve(options).map_err(Failure::Output)
}

fn tools(configured: Mcp, command: &McpCommand) -> ToolSet {
    let tools = ToolSet::new();
    if command.no_bash || !configured.bash {
        tools.without(Tool::Bash)
    } else if command.background || configured.background {
        tools.with_background()
    } else {
        tools
    }
}

/// Looks before each call whether a person has changed the configuration. Where the calls act and
/// what can be called stays as it was at the start.
fn refresh(
    mut policy: PolicyOptions,
    read: &Configuration,
    service: Arc<PolicyService>,
    allowed: Vec<PathBuf>,
) -> mcp::Refresh {
    let config = policy.config.clone();
    policy.workspace = Some(policy.workspace_by(read));
    let settings = move |configuration: &Configuration| {
        let settings = policy.settings(configuration, Mode::ReadOnly)?;
        for dir in &allowed {
            configuration.out_of_reach(dir)?;
        }
        Ok(settings)
    };
    let refresh = Refresh::new(config.as_deref(), read, service, settings);
    let last = Mutex::new(None);
    Box::new(move || {
        let failure = refresh.look().err().map(|failure| failure.to_string());
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        // Once for each, or it would fill a pipe that nobody reads.
        if *last != failure {
            *last = failure;
            if let Some(failure) = &*last {
                tell(&format!("the policy stays as it is: {failure}"));
            }
        }
    })
}

fn serve_acp(configuration: Configuration, settings: Settings) -> Result<(), Failure> {
    let presets = Arc::new(configuration.presets(&settings)?);
    let service = PolicyService::load(settings)?;
    let tools = ToolSet::new().with_diffs(DiffLimits::default());
    // A client may switch to a mode that changes files, so none begins where the policy is kept.
    let check_directory =
        move |cwd: &Path| configuration.out_of_reach(cwd).map_err(|failure| failure.to_string());
    let check_directory = Box::new(check_directory);
    let options = agent::Options { service, presets, tools, check_directory };
    agent::serve(options).map_err(Failure::Output)
}
