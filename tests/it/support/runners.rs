//! Whether commands can be run here at all.

use std::sync::OnceLock;

use ringfence_platform::process::{Command, Restrictions, Runners, ShellEnforcement, Workdir};

use super::say;

/// Whether this host has something that confines a command. Where it has not, says so once.
pub(crate) fn runs_commands() -> bool {
    static RUNS: OnceLock<bool> = OnceLock::new();
    *RUNS.get_or_init(|| {
        let command = Command::new("true", Workdir::open("/").unwrap());
        let (restrictions, required) = (Restrictions::default(), ShellEnforcement::Partial);
        let plan = Runners::probe().confine(command, restrictions, required);
        plan.inspect_err(|error| say(format_args!("left out: tests of commands: {error}"))).is_ok()
    })
}
