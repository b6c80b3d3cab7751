//! What an operator says of the policy.

use std::path::{Path, PathBuf};

use ringfence_platform::process::Runner;
use ringfence_platform::{Confinement, Durability, Enforcement, Resolution};
use serde_json::{Map, Value};

use super::areas::Required;
use super::roots::{TempAreas, WORKSPACE};
use super::shell_limits::ShellLimits;
use crate::error::{Error, Result};
use crate::mode::Mode;
use crate::text::MAX_TEXT_BYTES;

/// The settings of a policy service. What is not said has its default.
#[derive(Clone, Debug)]
#[must_use = "settings are loaded by a service"]
pub struct Settings {
    pub(crate) mode: Mode,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) temps: TempAreas,
    pub(crate) durability: Durability,
    pub(crate) max_text_bytes: u64,
    pub(crate) required: Required,
    pub(crate) shell_limits: ShellLimits,
    /// This runner and no other.
    pub(crate) runner: Option<Runner>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            workspace: None,
            temps: TempAreas::from_env(),
            durability: Durability::default(),
            max_text_bytes: MAX_TEXT_BYTES,
            required: Required { at_least: Enforcement::Checked, kind: None },
            shell_limits: ShellLimits::default(),
            runner: None,
        }
    }
}

impl Settings {
    /// The mode of sessions that have set no other. The default is read-only.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The directory that relative paths are taken against, and which workspace-write may change.
    /// The default is the process's working directory.
    pub fn workspace(mut self, path: impl Into<PathBuf>) -> Self {
        self.workspace = Some(path.into());
        self
    }

    /// The temp areas. The default is [`TempAreas::from_env`].
    pub fn temps(mut self, temps: TempAreas) -> Self {
        self.temps = temps;
        self
    }

    /// The weakest enforcement to accept for workspace-write; the strongest that the host offers
    /// is used. The default is [`Enforcement::Checked`].
    pub fn require(mut self, at_least: Enforcement) -> Self {
        self.required.at_least = at_least;
        self
    }

    /// What a change syncs. The default is [`Durability::File`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The most bytes of a file that is read, written or edited as one text. The default is
    /// 536,870,912; a text of any size can be read in pieces. It is at least one, or the settings
    /// are not loaded.
    pub fn max_text_bytes(mut self, bytes: u64) -> Self {
        self.max_text_bytes = bytes;
        self
    }

    /// How long commands may take, and how much they may write. Each is at least one, or the
    /// settings are not loaded.
    pub fn shell_limits(mut self, limits: ShellLimits) -> Self {
        self.shell_limits = limits;
        self
    }

    #[doc(hidden)]
    /// This kind of fence and no other, though the host may offer a stronger one. For tests and
    /// diagnostics.
    pub fn exactly(mut self, resolution: Resolution, confinement: Confinement) -> Self {
        self.required.kind = Some((resolution, confinement));
        self
    }

    #[doc(hidden)]
    /// This runner and no other, though the host may offer one that holds more. For tests and
    /// diagnostics.
    pub fn runner(mut self, runner: Runner) -> Self {
        self.runner = Some(runner);
        self
    }

    /// Takes the settings from a configuration: `mode`, `workspace_root` and `required_level`.
    ///
    /// # Errors
    ///
    /// [`Code::PolicyInvalid`](crate::Code::PolicyInvalid) for a key that there is not, and for a
    /// value that is not one of its key.
    pub fn from_json(configuration: &Map<String, Value>) -> Result<Self> {
        let mut settings = Self::default();
        for (key, value) in configuration {
            let text = value.as_str();
            settings = match key.as_str() {
                "mode" => match text.and_then(|text| text.parse().ok()) {
                    Some(mode) => settings.mode(mode),
                    None => return Err(invalid("mode", MODES, value)),
                },
                WORKSPACE => match text.filter(|text| !text.is_empty()) {
                    Some(path) => settings.workspace(path),
                    None => return Err(invalid(WORKSPACE, "a path", value)),
                },
                "required_level" => match text.and_then(level) {
                    Some(level) => settings.require(level),
                    None => return Err(invalid("required_level", LEVELS, value)),
                },
                _ => return Err(invalid("setting", KEYS, &Value::from(key.as_str()))),
            };
        }
        Ok(settings)
    }

    /// Fails for a value that its type takes and the policy does not.
    pub(crate) fn check(&self) -> Result<()> {
        let limits = &self.shell_limits;
        let amounts = [
            ("max_text_bytes", self.max_text_bytes),
            ("max_output_bytes", limits.max_output_bytes as u64),
            ("max_spill_bytes", limits.max_spill_bytes),
        ];
        let times = [("timeout", limits.timeout), ("max_timeout", limits.max_timeout)];
        if let Some((setting, none)) = amounts.into_iter().find(|(_, bytes)| *bytes == 0) {
            return Err(invalid(setting, "at least one byte", &Value::from(none)));
        }
        if let Some((setting, _)) = times.into_iter().find(|(_, time)| time.is_zero()) {
            return Err(invalid(setting, "more than no time", &Value::from(0)));
        }
        Ok(())
    }

    /// The workspace that is meant.
    pub(crate) fn workspace_root(&self) -> Result<PathBuf> {
        match &self.workspace {
            Some(path) => Ok(path.clone()),
            None => working_directory(),
        }
    }
}

const MODES: &str = "read-only, workspace-write or danger-full-access";
const LEVELS: &str = "checked, kernel or confined";
const KEYS: &str = "mode, workspace_root or required_level";

fn level(text: &str) -> Option<Enforcement> {
    let levels = [Enforcement::Checked, Enforcement::Kernel, Enforcement::Confined];
    levels.into_iter().find(|level| level.to_string() == text)
}

fn invalid(setting: &'static str, expected: &'static str, found: &Value) -> Error {
    let found = found.as_str().map_or_else(|| found.to_string(), ToOwned::to_owned);
    Error::PolicyInvalid { setting, expected, found: found.into() }
}

fn working_directory() -> Result<PathBuf> {
    let invalid = |found: &Path| Error::PolicyInvalid {
        setting: WORKSPACE,
        expected: "a working directory other than /, or a workspace that is named",
        found: found.to_owned(),
    };
    match std::env::current_dir() {
        Ok(path) if path.parent().is_some() => Ok(path),
        Ok(path) => Err(invalid(&path)),
        Err(_) => Err(invalid(Path::new("."))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::Code;

    fn from(configuration: &Value) -> Result<Settings> {
        Settings::from_json(configuration.as_object().unwrap())
    }

    #[test]
    fn a_configuration_says_what_it_says_and_the_rest_is_by_default() {
        let settings = from(&json!({})).unwrap();
        assert_eq!((settings.mode, settings.workspace), (Mode::ReadOnly, None));
        let configuration = json!({
            "mode": "workspace-write", "workspace_root": "/ws", "required_level": "kernel",
        });
        let settings = from(&configuration).unwrap();
        assert_eq!(settings.mode, Mode::WorkspaceWrite);
        assert_eq!(settings.workspace, Some("/ws".into()));
        assert_eq!(settings.required.at_least, Enforcement::Kernel);
    }

    #[test]
    fn what_is_no_setting_is_refused_with_the_key_and_what_was_expected_and_found() {
        for (configuration, named) in [
            (json!({ "mode": "Read-Only" }), ["mode", "read-only", "Read-Only"]),
            (json!({ "mode": true }), ["mode", "read-only", "true"]),
            (json!({ "workspace_root": "" }), ["workspace_root", "a path", ""]),
            (json!({ "workspace_root": 1 }), ["workspace_root", "a path", "1"]),
            (json!({ "required_level": "unfenced" }), ["required_level", "kernel", "unfenced"]),
            (json!({ "modes": "read-only" }), ["setting", "workspace_root", "modes"]),
        ] {
            let error = from(&configuration).unwrap_err();
            assert_eq!(error.code(), Code::PolicyInvalid);
            for part in named {
                assert!(error.to_string().contains(part), "{error} names {part}");
            }
        }
    }
}
