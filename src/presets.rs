//! A mode and an approval policy under one name, so that one switch governs files and commands.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::approvals::ApprovalPolicy;
use crate::error::{Error, Result};
use crate::events::{Event, ModeSource, approval_override, last_preset, mode_override};
use crate::mode::Mode;
use crate::policy::Settings;
use crate::session::Session;

/// What a pair is called that is none of the table. It can be neither configured nor chosen.
const CUSTOM: &str = "custom";
/// The setting that names the preset a session begins with.
const DEFAULT: &str = "default_preset";

/// A mode and an approval policy under one name.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Preset {
    /// What it is called.
    pub name: String,
    /// How far file effects may reach.
    pub mode: Mode,
    /// What becomes of a question.
    pub approvals: ApprovalPolicy,
}

impl Preset {
    /// A preset of a table.
    pub fn new(name: impl Into<String>, mode: Mode, approvals: ApprovalPolicy) -> Self {
        Self { name: name.into(), mode, approvals }
    }

    fn is(&self, mode: Mode, approvals: ApprovalPolicy) -> bool {
        (self.mode, self.approvals) == (mode, approvals)
    }
}

/// The presets that a person may switch between.
///
/// ```
/// use std::sync::Arc;
/// use ringfence::{Mode, PolicyService, Presets, Settings};
/// # let workspace = env!("CARGO_MANIFEST_DIR");
/// let settings = Settings::default().workspace(workspace);
/// let presets = Arc::new(Presets::shipped(&settings)?);
/// let session = PolicyService::load(settings)?.session().presets(Arc::clone(&presets)).open()?;
/// assert_eq!(presets.current(&session)?.name(), "read-only");
/// presets.set(&session, "workspace-write")?;
/// assert_eq!(session.policy()?.mode(), Mode::WorkspaceWrite);
/// # Ok::<(), ringfence::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Presets {
    /// The first that matches a pair names it. There is at least one.
    table: Vec<Preset>,
    default: usize,
}

/// Which preset is in force.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CurrentPreset<'a> {
    /// This one of the table.
    Named(&'a Preset),
    /// A pair that is none of the table.
    Custom {
        /// How far file effects may reach.
        mode: Mode,
        /// What becomes of a question.
        approvals: ApprovalPolicy,
    },
}

impl CurrentPreset<'_> {
    /// What it is called; `custom` for a pair that is none of the table.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Named(preset) => &preset.name,
            Self::Custom { .. } => CUSTOM,
        }
    }
}

impl Presets {
    /// `read-only` and `workspace-write`, in which a person is asked, and `danger-full-access`, in
    /// which nobody is.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new) without a default.
    pub fn shipped(settings: &Settings) -> Result<Self> {
        Self::new(shipped(), None, settings)
    }

    /// A table, and the preset that a new session begins with. Without, it is the first whose pair
    /// `settings` have for sessions that have set nothing.
    ///
    /// # Errors
    ///
    /// [`Code::PolicyInvalid`](crate::Code::PolicyInvalid) if two are called the same, one is called
    /// `custom` or nothing, the default is none of them, or none is named and none matches.
    pub fn new(table: Vec<Preset>, default: Option<&str>, settings: &Settings) -> Result<Self> {
        for (place, Preset { name, .. }) in table.iter().enumerate() {
            if name == CUSTOM || name.trim().is_empty() {
                return Err(invalid("presets", "a name other than custom", name));
            }
            if table[..place].iter().any(|before| before.name == *name) {
                return Err(invalid("presets", "each name once", name));
            }
        }
        let default = match default {
            Some(name) => table
                .iter()
                .position(|preset| preset.name == name)
                .ok_or_else(|| invalid(DEFAULT, "one of the presets", name))?,
            None => {
                let (mode, approvals) = (settings.mode, settings.approvals);
                let matching = table.iter().position(|preset| preset.is(mode, approvals));
                let pair = format!("{mode} with approvals {approvals}");
                matching.ok_or_else(|| invalid(DEFAULT, "a name, since no preset is", &pair))?
            }
        };
        Ok(Self { table, default })
    }

    /// Takes the table from a configuration: for each name an object of `mode` and `approvals`.
    /// Without a table it is the shipped one.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and for a key that there is not or a value that is not one of its
    /// key.
    pub fn from_json(
        table: Option<&Map<String, Value>>,
        default: Option<&str>,
        settings: &Settings,
    ) -> Result<Self> {
        let table = match table {
            Some(table) => table.iter().map(preset).collect::<Result<_>>()?,
            None => shipped(),
        };
        Self::new(table, default, settings)
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Preset> {
        self.table.iter()
    }

    /// The one that a new session begins with.
    #[must_use]
    pub fn default_preset(&self) -> &Preset {
        &self.table[self.default]
    }

    /// Switches a session, from its next call on, of files and of commands.
    ///
    /// # Errors
    ///
    /// [`Code::PolicyInvalid`](crate::Code::PolicyInvalid) for a name that is none of the table;
    /// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if the service is closed.
    pub fn set(&self, session: &Session, name: &str) -> Result<()> {
        let preset = self.table.iter().find(|preset| preset.name == name);
        let preset = preset.ok_or_else(|| invalid("preset", "one of the presets", name))?;
        session.record_what_follows(|log, mode, approvals| {
            let mut events = Vec::new();
            if self.named(log, mode, approvals) != Some(preset) {
                events.push(Event::permission_preset(&preset.name));
            }
            if mode != preset.mode {
                events.push(Event::sandbox_mode(preset.mode, ModeSource::Host));
            }
            if approvals != preset.approvals {
                events.push(Event::approval_policy(preset.approvals));
            }
            events
        })
    }

    /// Which preset is in force in a session: the one that was chosen last, if its pair still holds,
    /// else the first with the pair that does.
    ///
    /// # Errors
    ///
    /// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if the service is closed.
    pub fn current(&self, session: &Session) -> Result<CurrentPreset<'_>> {
        let (mode, approvals) = session.in_force()?;
        let named = self.named(&session.log(), mode, approvals);
        Ok(named.map_or(CurrentPreset::Custom { mode, approvals }, CurrentPreset::Named))
    }

    /// Records in a session what it has not set yet: the preset and its pair.
    pub(crate) fn begin(&self, session: &Session) -> Result<()> {
        session.record_what_follows(|log, mode, approvals| {
            let has_mode = mode_override(log).is_some();
            let has_approvals = approval_override(log).is_some();
            let default = self.default_preset();
            let mode = if has_mode { mode } else { default.mode };
            let approvals = if has_approvals { approvals } else { default.approvals };
            let mut events = Vec::new();
            if last_preset(log).is_none() {
                let begun = if default.is(mode, approvals) { Some(default) } else { None };
                let begun = begun.or_else(|| self.named(log, mode, approvals));
                let name = begun.map_or(CUSTOM, |preset| &preset.name);
                events.push(Event::permission_preset(name));
            }
            if !has_mode {
                events.push(Event::sandbox_mode(mode, ModeSource::Host));
            }
            if !has_approvals {
                events.push(Event::approval_policy(approvals));
            }
            events
        })
    }

    fn named(&self, log: &[Event], mode: Mode, approvals: ApprovalPolicy) -> Option<&Preset> {
        let matching = || self.table.iter().filter(|preset| preset.is(mode, approvals));
        let chosen = last_preset(log);
        matching().find(|preset| Some(&*preset.name) == chosen).or_else(|| matching().next())
    }
}

fn shipped() -> Vec<Preset> {
    let pairs = [
        (Mode::ReadOnly, ApprovalPolicy::Ask),
        (Mode::WorkspaceWrite, ApprovalPolicy::Ask),
        (Mode::DangerFullAccess, ApprovalPolicy::Never),
    ];
    pairs.map(|(mode, approvals)| Preset::new(mode.as_str(), mode, approvals)).into()
}

fn preset((name, value): (&String, &Value)) -> Result<Preset> {
    const EXPECTED: &str = "an object of mode and approvals for each name";
    let refuse = || invalid("presets", EXPECTED, &format!("{name} = {value}"));
    let pair = value.as_object().filter(|pair| pair.len() == 2).ok_or_else(refuse)?;
    let text = |key: &str| pair.get(key).and_then(Value::as_str);
    let mode = text("mode").and_then(|text| text.parse().ok()).ok_or_else(refuse)?;
    let approvals = text("approvals").and_then(|text| text.parse().ok()).ok_or_else(refuse)?;
    Ok(Preset::new(name, mode, approvals))
}

fn invalid(setting: &'static str, expected: &'static str, found: &str) -> Error {
    Error::PolicyInvalid { setting, expected, found: PathBuf::from(found) }
}
