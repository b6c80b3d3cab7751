//! What an operator says of the policy.

use std::path::{Component, Path, PathBuf};

use ringfence_platform::process::{Runner, ShellEnforcement};
use ringfence_platform::{Confinement, Durability, Enforcement, RelPath, Resolution};
use serde_json::{Map, Value};

use super::areas::Required;
use super::roots::{TempAreas, WORKSPACE};
use super::shell_limits::ShellLimits;
use crate::approvals::ApprovalPolicy;
use crate::error::{Error, Result};
use crate::mode::Mode;
use crate::text::MAX_TEXT_BYTES;

/// The settings of a policy service. What is not said has its default.
#[derive(Clone, Debug)]
#[must_use = "settings are loaded by a service"]
pub struct Settings {
    pub(crate) mode: Mode,
    pub(crate) approvals: ApprovalPolicy,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) temps: TempAreas,
    pub(crate) durability: Durability,
    pub(crate) max_text_bytes: u64,
    pub(crate) required: Required,
    pub(crate) shell_limits: ShellLimits,
    /// This runner and no other.
    pub(crate) runner: Option<Runner>,
    protected: Vec<PathBuf>,
    pub(crate) protect_metadata: bool,
    pub(crate) enforcement: ShellEnforcement,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            approvals: ApprovalPolicy::default(),
            workspace: None,
            temps: TempAreas::from_env(),
            durability: Durability::default(),
            max_text_bytes: MAX_TEXT_BYTES,
            required: Required { at_least: Enforcement::Checked, kind: None },
            shell_limits: ShellLimits::default(),
            runner: None,
            protected: Vec::new(),
            protect_metadata: false,
            enforcement: ShellEnforcement::default(),
        }
    }
}

impl Settings {
    /// The keys of a configuration that [`from_json`](Self::from_json) takes.
    pub const KEYS: [&str; 7] = [
        "mode",
        "approvals",
        WORKSPACE,
        "required_level",
        "required_enforcement",
        PROTECTED,
        "protect_metadata",
    ];

    /// The mode of sessions that have set no other. The default is read-only.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// What becomes of a question in sessions that have set nothing else. The default is
    /// [`ApprovalPolicy::Ask`].
    pub fn approvals(mut self, policy: ApprovalPolicy) -> Self {
        self.approvals = policy;
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

    /// The places beneath the workspace that workspace-write leaves as they are, each by a relative
    /// path: what is there is not changed, moved or removed, nor is anything beneath it, and where
    /// nothing is, nothing comes to be. The default is none.
    ///
    /// A path is normalised by text, and must name a place beneath the workspace, or the settings
    /// are not loaded. One that is missing then is told by a warning. The workspace of a session is
    /// its working directory, if it has one of its own.
    pub fn protected_subpaths<P: Into<PathBuf>>(
        mut self,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.protected = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Has commands run, where that can be had, so that they cannot change permissions, owners and
    /// times outside either. The default is not to ask for it.
    pub fn protect_metadata(mut self) -> Self {
        self.protect_metadata = true;
        self
    }

    /// How fully a command must be held. The default is [`ShellEnforcement::Partial`].
    pub fn require_for_commands(mut self, at_least: ShellEnforcement) -> Self {
        self.enforcement = at_least;
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

    /// Takes the settings from a configuration: `mode`, `approvals`, `workspace_root`, `required_level`,
    /// `required_enforcement`, `protected_subpaths` and `protect_metadata`.
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
                "approvals" => match text.and_then(|text| text.parse().ok()) {
                    Some(policy) => settings.approvals(policy),
                    None => return Err(invalid("approvals", "ask or never", value)),
                },
                WORKSPACE => match text.filter(|text| !text.is_empty()) {
                    Some(path) => settings.workspace(path),
                    None => return Err(invalid(WORKSPACE, "a path", value)),
                },
                "required_level" => match text.and_then(level) {
                    Some(level) => settings.require(level),
                    None => return Err(invalid("required_level", LEVELS, value)),
                },
                "required_enforcement" => match text.and_then(|text| text.parse().ok()) {
                    Some(level) => settings.require_for_commands(level),
                    None => return Err(invalid("required_enforcement", "partial or full", value)),
                },
                PROTECTED => settings.protected_subpaths(subpaths(value)?),
                "protect_metadata" => match value.as_bool() {
                    Some(true) => settings.protect_metadata(),
                    Some(false) => Self { protect_metadata: false, ..settings },
                    None => return Err(invalid("protect_metadata", "true or false", value)),
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

    /// The protected places, each once and as it is spelled beneath the workspace.
    ///
    /// # Errors
    ///
    /// [`Error::PolicyInvalid`] for a path that names none.
    pub(crate) fn protected(&self) -> Result<Vec<RelPath>> {
        let mut places = Vec::new();
        for path in &self.protected {
            let place = subpath(path)?;
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Ok(places)
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
const KEYS: &str = "mode, approvals, workspace_root, required_level, required_enforcement, \
     protected_subpaths or protect_metadata";
const PROTECTED: &str = "protected_subpaths";
const SUBPATHS: &str = "relative paths of places beneath the workspace";

fn level(text: &str) -> Option<Enforcement> {
    let levels = [Enforcement::Checked, Enforcement::Kernel, Enforcement::Confined];
    levels.into_iter().find(|level| level.to_string() == text)
}

fn subpaths(value: &Value) -> Result<Vec<PathBuf>> {
    let Some(paths) = value.as_array() else { return Err(invalid(PROTECTED, SUBPATHS, value)) };
    let subpath = |value: &Value| {
        let path = value.as_str().ok_or_else(|| invalid(PROTECTED, SUBPATHS, value))?;
        subpath(Path::new(path)).map(|place| place.as_path().to_owned())
    };
    paths.iter().map(subpath).collect()
}

/// The place that `path` names, once `.` and what `..` takes back are gone from it.
fn subpath(path: &Path) -> Result<RelPath> {
    let refuse =
        || Error::PolicyInvalid { setting: PROTECTED, expected: SUBPATHS, found: path.to_owned() };
    let mut place = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => place.push(name),
            Component::CurDir => {}
            Component::ParentDir if place.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(refuse());
            }
        }
    }
    RelPath::new(place).map_err(|_| refuse())
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
            (json!({ "approvals": "always" }), ["approvals", "ask or never", "always"]),
            (json!({ "workspace_root": "" }), ["workspace_root", "a path", ""]),
            (json!({ "workspace_root": 1 }), ["workspace_root", "a path", "1"]),
            (json!({ "required_level": "unfenced" }), ["required_level", "kernel", "unfenced"]),
            (json!({ "modes": "read-only" }), ["setting", "workspace_root", "modes"]),
            (json!({ "modes": 1 }), ["protected_subpaths", "protect_metadata", "modes"]),
            (json!({ "required_enforcement": "none" }), ["required_enforcement", "full", "none"]),
            (json!({ "required_enforcement": true }), ["required_enforcement", "full", "true"]),
            (json!({ "protect_metadata": "yes" }), ["protect_metadata", "true or false", "yes"]),
            (json!({ "protected_subpaths": "a" }), ["protected_subpaths", "relative", "a"]),
            (json!({ "protected_subpaths": [1] }), ["protected_subpaths", "relative", "1"]),
            (
                json!({ "protected_subpaths": ["a", "/b"] }),
                ["protected_subpaths", "relative", "/b"],
            ),
        ] {
            let error = from(&configuration).unwrap_err();
            assert_eq!(error.code(), Code::PolicyInvalid);
            for part in named {
                assert!(error.to_string().contains(part), "{error} names {part}");
            }
        }
    }

    #[test]
    fn what_is_asked_of_commands_is_kept_for_them() {
        let configuration = json!({ "required_enforcement": "full", "protect_metadata": true });
        let settings = from(&configuration).unwrap();
        assert_eq!(settings.enforcement, ShellEnforcement::Full);
        assert!(settings.protect_metadata);
        let configuration = json!({ "required_enforcement": "partial", "protect_metadata": false });
        for settings in [from(&configuration).unwrap(), Settings::default()] {
            assert_eq!(settings.enforcement, ShellEnforcement::Partial);
            assert!(!settings.protect_metadata);
        }
    }

    #[test]
    fn a_protected_place_is_named_once_and_without_detours() {
        let paths = [".git/hooks", "./.git//hooks/.", ".git/hooks/", ".git/x/../hooks", "a"];
        let settings = from(&json!({ "protected_subpaths": paths })).unwrap();
        let places = [".git/hooks", "a"].map(|path| RelPath::new(path).unwrap());
        assert_eq!(settings.protected().unwrap(), places);
        assert_eq!(Settings::default().protected().unwrap(), []);
    }

    #[test]
    fn what_names_no_place_beneath_the_workspace_is_not_protected() {
        for path in ["", ".", "./", "/", "/a", "..", "../a", "a/..", "a/../..", "a/../../b", "a\0b"]
        {
            let refused = from(&json!({ "protected_subpaths": [path] })).map(drop);
            let unloaded = Settings::default().protected_subpaths([path]).protected().map(drop);
            for error in [refused, unloaded].map(Result::unwrap_err) {
                assert_eq!(error.code(), Code::PolicyInvalid, "{path:?}");
                assert!(error.to_string().contains(&format!("{path:?}")), "{error}");
            }
        }
    }
}
