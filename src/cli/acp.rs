//! An agent without a model, for a client of the Agent Client Protocol.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use ringfence::{DiffLimits, PolicyService, Settings, ToolSet};

use super::Failure;
use super::config::Configuration;
use crate::agent::{Options, serve};

/// Serves until the client disconnects.
pub(super) fn run(configuration: Configuration, settings: Settings) -> Result<ExitCode, Failure> {
    let presets = Arc::new(configuration.presets(&settings)?);
    let service = PolicyService::load(settings)?;
    let tools = ToolSet::new().with_diffs(DiffLimits::default());
    // A client may switch to a mode that changes files, so none begins where the policy is kept.
    let check_directory = move |cwd: &Path| {
        configuration.out_of_reach(cwd).map_err(|failure| match failure {
            Failure::Configuration(unusable) => unusable.to_string(),
            Failure::Request(error, _) => error.to_string(),
            Failure::Input(error) | Failure::Output(error) => error.to_string(),
        })
    };
    let options = Options { service, presets, tools, check_directory: Box::new(check_directory) };
    serve(options).map_err(Failure::Output)?;
    Ok(ExitCode::SUCCESS)
}
