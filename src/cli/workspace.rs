//! The workspaces that are known to this user.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Subcommand;
use jiff::Timestamp;
use ringfence::{Error, Sessions, Workspace, WorkspaceId, Workspaces, spelled};
use serde_json::{Map, Value};

use super::Failure;
use super::render::{Renderer, print};

/// What to do with the registry, and where that is.
#[derive(Debug, clap::Args)]
pub(super) struct WorkspaceCommand {
    /// The file that they are in [default: ringfence/workspaces.json in XDG_STATE_HOME, or in
    /// .local/state of the home directory]
    #[arg(long, global = true, value_name = "FILE")]
    state: Option<PathBuf>,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print all of them, each with its id, whether its directory is there, and its path
    List,
    /// Add a directory, as the first of them; one that is known stays as it is
    Add {
        /// The directory
        path: PathBuf,
    },
    /// Forget one; its directory stays as it is
    Remove {
        /// Its id, or a path that leads to it
        #[arg(value_name = "ID-or-PATH")]
        which: PathBuf,
    },
    /// Print the one that a directory is
    Status {
        /// A path that leads to it
        #[arg(default_value = ".")]
        path: PathBuf,
    },
}

/// Does it. Nothing is known here of any session, so none is told of and none is dropped.
pub(super) fn run(command: WorkspaceCommand, renderer: Renderer) -> Result<ExitCode, Failure> {
    let unread = Sessions::Unread;
    let workspaces = Workspaces::open(command.state.map_or_else(default_state, Ok)?)?;
    match command.what {
        What::List => {
            let known = workspaces.list(unread)?;
            if renderer.json {
                let known = known.iter().map(object).map(Value::Object).collect();
                renderer.object(Map::from_iter([("workspaces".to_owned(), known)]))?;
            } else {
                print(known.iter().map(line).collect::<String>().as_bytes())?;
            }
        }
        What::Add { path } => tell(&workspaces.create(path, unread)?, renderer)?,
        What::Remove { which } => {
            let id = which.to_str().and_then(|text| text.parse::<WorkspaceId>().ok());
            let id = id.map_or_else(|| workspaces.at(&which, unread).map(|at| at.id), Ok)?;
            let removed = workspaces.remove(id, unread)?;
            if renderer.json {
                renderer.object(object(&removed))?;
            }
        }
        What::Status { path } => tell(&workspaces.at(path, unread)?, renderer)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Where people's programs keep what they know, by the XDG Base Directory Specification, which has
/// relative paths ignored.
fn default_state() -> Result<PathBuf, Error> {
    let of_xdg = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let of_home = || std::env::home_dir().map(|home| home.join(".local/state"));
    let state = of_xdg.filter(|path| path.is_absolute()).or_else(of_home);
    let state = state.filter(|path| path.is_absolute());
    state.map(|state| state.join("ringfence/workspaces.json")).ok_or(Error::PolicyInvalid {
        setting: "state file",
        expected: "--state, or a home directory to keep it in",
        found: PathBuf::new(),
    })
}

fn tell(workspace: &Workspace, renderer: Renderer) -> Result<(), Failure> {
    if renderer.json {
        renderer.object(object(workspace))
    } else {
        print(line(workspace).as_bytes())
    }
}

fn line(Workspace { id, status, path, .. }: &Workspace) -> String {
    format!("{id}  {status:<11}  {path:?}\n")
}

fn object(workspace: &Workspace) -> Map<String, Value> {
    let Workspace { id, path, title, status, created_at, updated_at, .. } = workspace;
    let mut object = spelled("path", path.as_os_str().as_encoded_bytes());
    let fields: [(&str, Value); 5] = [
        ("id", id.to_string().into()),
        ("title", title.clone().into()),
        ("status", status.to_string().into()),
        ("created_at", time(*created_at)),
        ("updated_at", time(*updated_at)),
    ];
    object.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    object
}

/// Nothing where it cannot be told.
fn time(at: SystemTime) -> Value {
    Timestamp::try_from(at).ok().map(|at| format!("{at:.3}")).into()
}
