//! The `ringfence` command.

#![forbid(unsafe_code)]

mod agent;
mod cli;
mod mcp;

use std::process::ExitCode;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    let filter = EnvFilter::builder()
        .with_env_var("RINGFENCE_LOG")
        .with_default_directive(LevelFilter::OFF.into())
        .from_env_lossy();
    // Standard output is for what was asked for.
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    cli::run(cli::Args::from_command_line())
}
