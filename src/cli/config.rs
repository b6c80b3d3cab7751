//! The configuration file: where it is, what it says, and that no agent can change it.

mod refresh;
mod way;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use ringfence::{Error, Mode, Presets, Root, Settings};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Failure;
pub(super) use refresh::Refresh;

/// Where it is beneath the directory for configurations.
const PLACE: &str = "ringfence/config.toml";

/// The most bytes that one may have.
const MOST_BYTES: u64 = 1 << 20;

/// What is no setting of the policy.
const BESIDE: [&str; 4] = ["allowed_roots", "default_preset", "mcp", "presets"];

/// What a file says, or what is so where there is none.
#[derive(Clone, Debug, Default)]
pub(super) struct Configuration {
    /// Where it was found, and what it says; nothing if there is none.
    file: Option<(PathBuf, String)>,
    /// The settings of the policy.
    policy: Map<String, Value>,
    presets: Option<Map<String, Value>>,
    default_preset: Option<String>,
    /// Where a client may have its root, beside the workspace.
    pub(super) allowed_roots: Vec<PathBuf>,
    pub(super) mcp: Mcp,
}

/// What an MCP client is given.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Mcp {
    /// Whether it can run commands.
    pub(super) bash: bool,
    /// Whether they may go on in the background.
    pub(super) background: bool,
    /// Whether its roots count.
    pub(super) client_roots: bool,
}

impl Default for Mcp {
    fn default() -> Self {
        Self { bash: true, background: false, client_roots: true }
    }
}

/// Why a configuration is not used. It tells the file, and the key where there is one.
#[derive(Debug)]
pub(super) struct Unusable {
    /// Nothing where what is typed is to blame.
    path: Option<PathBuf>,
    why: Why,
}

#[derive(Debug)]
enum Why {
    /// It cannot be read.
    Unread(io::Error),
    /// It is no TOML.
    Unparsed(toml::de::Error),
    /// There is no such key.
    NoKey(String),
    /// The value of a key is not one of it.
    Key(&'static str, String),
    /// The policy does not take a setting.
    Setting(Error),
    /// A directory on the way to it is writable for an agent.
    Writable(PathBuf),
    /// It was there, and is not any more.
    Gone,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "the configuration {path:?} is not used: ")?;
        }
        match &self.why {
            Why::Unread(error) => write!(f, "{error}"),
            Why::Unparsed(error) => write!(f, "{}", error.to_string().trim_end()),
            Why::NoKey(key) => {
                let (policy, beside) = (Settings::KEYS.join(", "), BESIDE.join(", "));
                write!(f, "there is no key {key:?}; there are: {policy}, {beside}")
            }
            Why::Key(key, why) => write!(f, "{key} {why}"),
            Why::Setting(error) => write!(f, "{error}"),
            Why::Gone => f.write_str("it is gone"),
            Why::Writable(dir) => write!(
                f,
                "workspace-write may change {dir:?}, which leads to it, and so an agent its own \
                 policy"
            ),
        }
    }
}

impl Configuration {
    /// What the file says that was named, or else the one in the usual place, if there is one.
    pub(super) fn find(named: Option<&Path>) -> Result<Self, Unusable> {
        let place = Place::of(named);
        match place.read()? {
            Some(text) => Self::parse(&place.path, &text),
            None => Ok(Self::default()),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Unusable> {
        let unusable = |why| Unusable { path: Some(path.to_owned()), why };
        let table: toml::Table = toml::from_str(text).map_err(|e| unusable(Why::Unparsed(e)))?;
        let mut policy: Map<String, Value> = table
            .into_iter()
            .map(|(key, value)| Ok((key, serde_json::to_value(value)?)))
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|error| unusable(Why::Key("a value", error.to_string())))?;
        let known = |key: &str| Settings::KEYS.contains(&key) || BESIDE.contains(&key);
        if let Some(key) = policy.keys().find(|key| !known(key)) {
            return Err(unusable(Why::NoKey(key.clone())));
        }
        let configuration = Self {
            file: Some((path.to_owned(), text.to_owned())),
            presets: take(&mut policy, "presets").map_err(unusable)?,
            default_preset: take(&mut policy, "default_preset").map_err(unusable)?,
            allowed_roots: take(&mut policy, "allowed_roots")
                .map_err(unusable)?
                .unwrap_or_default(),
            mcp: take(&mut policy, "mcp").map_err(unusable)?.unwrap_or_default(),
            policy,
        };
        // What is wrong with a value is told now, whether it will be used or not.
        let settings = configuration.settings(Mode::default())?;
        if configuration.presets.is_some() {
            configuration.presets(&settings)?;
        }
        Ok(configuration)
    }

    /// The settings of the policy. Where nothing is said of the mode it is `mode`.
    pub(super) fn settings(&self, mode: Mode) -> Result<Settings, Unusable> {
        let settings = Settings::from_json(&self.policy).map_err(|error| self.refused(error))?;
        let settings =
            if self.policy.contains_key("mode") { settings } else { settings.mode(mode) };
        match &self.default_preset {
            None => Ok(settings),
            Some(_) => {
                let presets = self.presets(&settings)?;
                let preset = presets.default_preset();
                for (key, of_preset) in
                    [("mode", preset.mode.as_str()), ("approvals", preset.approvals.as_str())]
                {
                    if self.policy.get(key).is_some_and(|said| said != of_preset) {
                        let why = format!("is not that of default_preset, which is {of_preset}");
                        return Err(Unusable { path: self.path(), why: Why::Key(key, why) });
                    }
                }
                Ok(settings.mode(preset.mode).approvals(preset.approvals))
            }
        }
    }

    /// The presets that a person may switch between.
    pub(super) fn presets(&self, settings: &Settings) -> Result<Presets, Unusable> {
        let default = self.default_preset.as_deref();
        let presets = Presets::from_json(self.presets.as_ref(), default, settings);
        presets.map_err(|error| self.refused(error))
    }

    /// The protected places that the file names.
    pub(super) fn protected(&self) -> Vec<PathBuf> {
        let paths = self.policy.get("protected_subpaths").and_then(Value::as_array);
        let paths = paths.into_iter().flatten().filter_map(Value::as_str);
        paths.map(PathBuf::from).collect()
    }

    /// The workspace that the file names.
    pub(super) fn workspace(&self) -> Option<PathBuf> {
        self.policy.get("workspace_root").and_then(Value::as_str).map(PathBuf::from)
    }

    /// Fails if an agent in workspace-write could change what the file says.
    pub(super) fn out_of_reach(&self, workspace: &Path) -> Result<(), Failure> {
        let Some((path, _)) = &self.file else { return Ok(()) };
        match way::writable(path, workspace)? {
            None => Ok(()),
            Some(dir) => {
                let (path, why) = (Some(path.clone()), Why::Writable(dir));
                Err(Failure::Configuration(Unusable { path, why }))
            }
        }
    }

    /// Where a client may have its root, held from now on.
    pub(super) fn opened(&self, dirs: &[PathBuf]) -> Result<Vec<Root>, Unusable> {
        let open = |dir: &PathBuf| {
            Root::open(dir).map_err(|error| {
                let why = format!("has {dir:?}, which cannot be opened: {error}");
                Unusable { path: self.path(), why: Why::Key("allowed_roots", why) }
            })
        };
        dirs.iter().map(open).collect()
    }

    fn refused(&self, error: Error) -> Unusable {
        Unusable { path: self.path(), why: Why::Setting(error) }
    }

    fn path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|(path, _)| path.clone())
    }
}

/// Where a configuration is looked for.
#[derive(Clone, Debug)]
struct Place {
    path: PathBuf,
    /// Whether it has to be there.
    is_named: bool,
}

impl Place {
    fn of(named: Option<&Path>) -> Self {
        match named {
            Some(path) => Self { path: path.to_owned(), is_named: true },
            None => Self { path: usual().unwrap_or_default(), is_named: false },
        }
    }

    fn read(&self) -> Result<Option<String>, Unusable> {
        let is_absent = |error: &io::Error| {
            let none = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
            !self.is_named && none.contains(&error.kind())
        };
        match text(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(Unusable { path: Some(self.path.clone()), why: Why::Unread(error) }),
        }
    }
}

/// The text of a file. What is no file is not waited for.
fn text(path: &Path) -> io::Result<String> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    if found.len() > MOST_BYTES {
        let why = format!("it has more than {MOST_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    std::fs::read_to_string(path)
}

/// The usual place, as the XDG base directories say.
fn usual() -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).and_then(absolute);
    let dir = named.or_else(|| Some(std::env::home_dir().and_then(absolute)?.join(".config")));
    Some(dir?.join(PLACE))
}

/// Takes the value of a key out of a table.
fn take<T: serde::de::DeserializeOwned>(
    table: &mut Map<String, Value>,
    key: &'static str,
) -> Result<Option<T>, Why> {
    let taken = table.remove(key).map(serde_json::from_value).transpose();
    taken.map_err(|error| Why::Key(key, format!("has a wrong value: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Configuration, String> {
        Configuration::parse(Path::new("/etc/c.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_said_is_everything_by_default() {
        let found = parse("").unwrap();
        assert!(found.mcp.bash && found.mcp.client_roots && !found.mcp.background);
        assert_eq!(found.allowed_roots, [] as [PathBuf; 0]);
    }

    #[test]
    fn what_is_wrong_is_told_with_the_file_and_the_key() {
        for (text, key) in [
            ("mode = 'full'", "mode"),
            ("mod = 'read-only'", "\"mod\""),
            ("mode = ", "line 1"),
            ("approvals = 'always'", "approvals"),
            ("required_level = 'unfenced'", "required_level"),
            ("protected_subpaths = ['../a']", "protected_subpaths"),
            ("allowed_roots = '/a'", "allowed_roots"),
            ("[mcp]\nshell = true", "mcp"),
            ("[mcp]\nbash = 'no'", "mcp"),
            ("default_preset = 'careful'", "default_preset"),
            ("default_preset = 'custom'", "default_preset"),
            ("default_preset = 1", "default_preset"),
            ("mode = 'read-only'\ndefault_preset = 'workspace-write'", "mode"),
            ("[presets.a]\nmode = 'read-only'", "presets"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains("/etc/c.toml") && told.contains(key), "{text}: {told}");
        }
    }

    #[test]
    fn a_default_preset_says_mode_and_approvals() {
        let text = "default_preset = 'a'\n[presets.a]\nmode = 'workspace-write'\n\
                    approvals = 'never'";
        let found = parse(text).unwrap();
        let settings = found.settings(Mode::ReadOnly).unwrap();
        assert_eq!(found.presets(&settings).unwrap().default_preset().name, "a");
        assert!(Presets::shipped(&settings).is_err(), "no shipped preset has that pair");
    }
}
