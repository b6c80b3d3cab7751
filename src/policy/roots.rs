//! Where a mode may write: one owner, so no two users of the set can drift apart.

use std::path::{Path, PathBuf};

use ringfence_platform::{self as platform, Enforcement, ErrorKind, Root, Roots};

use crate::error::{Error, Result};
use crate::mode::Mode;

/// The directories for scratch files, which workspace-write may write beneath too.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TempAreas {
    shared: Option<PathBuf>,
    own: Option<PathBuf>,
}

impl TempAreas {
    /// The host's: `/tmp` where there is one, and what `TMPDIR` names if that is another, read from
    /// this process's environment now.
    #[must_use]
    pub fn from_env() -> Self {
        // What names no place on this platform is left out, as is a variable that is set to
        // nothing.
        let shared = Some(PathBuf::from("/tmp")).filter(|path| path.is_absolute());
        let own = Some(std::env::temp_dir()).filter(|path| !path.as_os_str().is_empty());
        // It is also what the platform says when nothing is set.
        let own = own.filter(|path| shared.as_ref() != Some(path));
        Self { shared, own }
    }

    /// None at all: nothing beside the workspace is writable.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// `path` in place of the platform's temp directory, and nothing shared.
    #[must_use]
    pub fn only(path: impl Into<PathBuf>) -> Self {
        Self { shared: None, own: Some(path.into()) }
    }
}

/// The writable roots of `mode`, opened: the workspace, `/tmp` and the temp directory under
/// workspace-write, and none under the other modes, of which one may write nowhere and the other
/// has no fence.
///
/// The settings are checked whatever the mode is. A shared temp area that is missing is left out,
/// and a warning says so.
///
/// # Errors
///
/// [`Code::PolicyInvalid`](crate::Code::PolicyInvalid) if the path of the workspace or of the temp
/// directory is empty, leads to no directory or to one that may not be opened, or cannot be a path;
/// if the temp directory is relative, a whole volume, the home directory or an ancestor of it, or
/// an ancestor of the workspace, also where it is writable already; or if it is spelled beneath
/// another writable root and a symlink there leads out of that. Otherwise it may be the workspace
/// or lie beneath it. It may be the shared temp area, whatever that contains.
/// [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if the host fails otherwise.
pub fn writable_roots(mode: Mode, workspace: &Path, temps: &TempAreas) -> Result<Option<Roots>> {
    open(mode, areas(WORKSPACE, workspace, temps)?)
}

/// The setting that names the workspace of a service.
pub(crate) const WORKSPACE: &str = "workspace_root";
/// What names the workspace of a session.
pub(crate) const SESSION_DIRECTORY: &str = "session's working directory";
const TEMP: &str = "temp directory (TMPDIR)";

/// The directories of workspace-write, workspace first, each held from before it is judged until
/// it is written beneath: what is swapped meanwhile changes nothing. Some may lie in others.
///
/// `setting` is what names the workspace.
pub(super) fn areas(
    setting: &'static str,
    workspace: &Path,
    temps: &TempAreas,
) -> Result<Vec<Root>> {
    let workspace = directory(setting, workspace)?;
    if is_volume(&workspace)? {
        tracing::warn!(workspace = ?workspace.path(), "the workspace is a whole volume");
    }
    let mut areas = vec![workspace];
    if let Some(path) = &temps.shared {
        match directory("shared temp area", path) {
            Ok(shared) => areas.push(shared),
            Err(error) => tracing::warn!(%error, "left out of the writable roots"),
        }
    }
    if let Some(path) = &temps.own {
        areas.extend(own_temp(path, &areas)?);
    }
    Ok(areas)
}

fn open(mode: Mode, areas: Vec<Root>) -> Result<Option<Roots>> {
    match mode {
        Mode::ReadOnly | Mode::DangerFullAccess => Ok(None),
        Mode::WorkspaceWrite => Roots::new(areas).map(Some).map_err(failed),
    }
}

/// The temp directory, which whoever set the variable may have set to anything. Nothing if it is
/// writable already.
fn own_temp(path: &Path, others: &[Root]) -> Result<Option<Root>> {
    let refuse = |expected| Err(invalid(TEMP, expected, path));
    if !path.is_absolute() {
        return refuse("an absolute path");
    }
    let own = directory(TEMP, path)?;
    let (workspace, shared) = (&others[0], &others[1..]);
    // By another name, it is what is writable whatever the variable says.
    if shared.iter().any(|shared| shared.key() == own.key()) {
        return Ok(None);
    }
    // Also where it is writable already: the sessions of one service have other workspaces.
    if is_volume(&own)? {
        return refuse("a directory that is not a whole volume");
    }
    if is_above_home(&own) {
        return refuse("a directory that does not contain the home directory");
    }
    if own.key() != workspace.key() && own.contains(workspace).map_err(failed)? {
        return refuse("a directory that does not contain the workspace");
    }
    if contained(&own, others)? {
        return Ok(None);
    }
    // Whoever may write there may have left a link, and would choose what is writable.
    for above in path.ancestors().skip(1) {
        if contained(&directory(TEMP, above)?, others)? {
            return refuse("a directory that no link in a writable one leads to");
        }
    }
    Ok(Some(own))
}

/// Operators' paths are resolved physically, links first, unlike those of tools.
fn directory(setting: &'static str, path: &Path) -> Result<Root> {
    // No system takes it, and not all say so by an error of its own.
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(invalid(setting, "an existing directory", path));
    }
    Root::open(path).map_err(|error| {
        let kind = error.kind();
        let leads_to_none = matches!(
            kind,
            ErrorKind::NotFound
                | ErrorKind::WrongKind
                | ErrorKind::Loop
                | ErrorKind::InvalidPath
                | ErrorKind::NameTooLong
        );
        if leads_to_none {
            invalid(setting, "an existing directory", path)
        } else if kind == ErrorKind::Denied {
            invalid(setting, "a directory that this user may open", path)
        } else {
            failed(error)
        }
    })
}

fn contained(dir: &Root, others: &[Root]) -> Result<bool> {
    let found: platform::Result<Vec<_>> = others.iter().map(|other| other.contains(dir)).collect();
    Ok(found.map_err(failed)?.contains(&true))
}

/// By the directories above the home directory and not from it upwards, which this user may have no
/// right to search.
fn is_above_home(dir: &Root) -> bool {
    let home = std::env::home_dir().and_then(|home| Root::open(home).ok());
    let mut above = home.iter().flat_map(|home| home.path().ancestors());
    above.any(|above| Root::open(above).is_ok_and(|above| above.key() == dir.key()))
}

fn is_volume(dir: &Root) -> Result<bool> {
    match dir.path().ancestors().last().map(Root::open) {
        Some(volume) => Ok(volume.map_err(failed)?.key() == dir.key()),
        None => Ok(false),
    }
}

fn invalid(setting: &'static str, expected: &'static str, found: &Path) -> Error {
    Error::PolicyInvalid { setting, expected, found: found.to_owned() }
}

/// It is not the setting that is wrong.
pub(super) fn failed(source: platform::Error) -> Error {
    Error::Unavailable { required: Enforcement::Checked, source: Some(source) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    fn here() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap()
    }

    fn refused(workspace: &Path, temps: &TempAreas) -> bool {
        Mode::ALL.into_iter().all(|mode| {
            writable_roots(mode, workspace, temps)
                .is_err_and(|error| error.code() == Code::PolicyInvalid)
        })
    }

    #[test]
    fn a_workspace_that_is_no_directory_is_refused_in_every_mode() {
        let file = here().join("Cargo.toml");
        for workspace in [Path::new(""), &here().join("missing"), &file, &file.join("x")] {
            assert!(refused(workspace, &TempAreas::none()), "{workspace:?}");
        }
    }

    #[test]
    fn a_temp_directory_that_would_widen_the_policy_is_refused_in_every_mode() {
        let home = std::env::home_dir().expect("a test runs with a home directory");
        let workspace = here().join("src");
        for temp in [
            Path::new("/"),
            Path::new("."),
            Path::new("src"),
            &here().join("missing"),
            &here().join("Cargo.toml"),
            &here(),
            home.as_path(),
            home.parent().unwrap_or(&home),
        ] {
            assert!(refused(&workspace, &TempAreas::only(temp)), "{temp:?}");
        }
    }

    #[test]
    fn only_workspace_write_has_roots_and_none_lies_in_another() {
        let (ws, temps) = (here(), TempAreas::only(here().join("src")));
        assert!(writable_roots(Mode::ReadOnly, &ws, &temps).unwrap().is_none());
        assert!(writable_roots(Mode::DangerFullAccess, &ws, &temps).unwrap().is_none());

        let roots = writable_roots(Mode::WorkspaceWrite, &ws, &temps).unwrap().unwrap();
        assert_eq!(roots.iter().map(|root| root.path()).collect::<Vec<_>>(), [here()]);

        let temps = TempAreas::only(here().join("platform"));
        let roots = writable_roots(Mode::WorkspaceWrite, &here().join("src"), &temps);
        let roots = roots.unwrap().unwrap();
        assert_eq!(
            roots.iter().map(|root| root.path()).collect::<Vec<_>>(),
            [here().join("src"), here().join("platform")]
        );
    }

    #[test]
    fn a_missing_shared_area_is_left_out() {
        let temps = TempAreas { shared: Some(here().join("missing")), own: None };
        let areas = areas(WORKSPACE, &here(), &temps).unwrap();
        assert_eq!(areas.iter().map(Root::path).collect::<Vec<_>>(), [here()]);
    }
}
