//! Where a mode may write: one owner, so no two users of the set can drift apart.

use std::path::{Path, PathBuf};

use ringfence_platform::Roots;

use crate::error::{Error, Result};
use crate::mode::Mode;

/// The directories for scratch files, which workspace-write may write beneath too.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TempAreas {
    shared: Option<PathBuf>,
    own: Option<PathBuf>,
}

impl TempAreas {
    /// The host's: `/tmp` where there is one, and the platform's temp directory (`TMPDIR`), read
    /// from this process's environment now.
    #[must_use]
    pub fn from_env() -> Self {
        // What names no place on this platform is left out, as is a variable that is set to nothing.
        let shared = Some(PathBuf::from("/tmp")).filter(|path| path.is_absolute());
        let own = Some(std::env::temp_dir()).filter(|path| !path.as_os_str().is_empty());
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
/// [`Code::PolicyInvalid`](crate::Code::PolicyInvalid) if the workspace is empty, missing or no
/// directory; if the temp directory is relative, missing, no directory, a whole volume, the home
/// directory or an ancestor of it, or an ancestor of the workspace.
pub fn writable_roots(mode: Mode, workspace: &Path, temps: &TempAreas) -> Result<Option<Roots>> {
    open(mode, &areas(workspace, temps)?)
}

/// The canonical directories of workspace-write, workspace first. Some may lie in others.
pub(super) fn areas(workspace: &Path, temps: &TempAreas) -> Result<Vec<PathBuf>> {
    let workspace = directory("workspace_root", workspace)?;
    if is_volume(&workspace) {
        tracing::warn!(workspace = ?workspace, "the workspace is a whole volume");
    }
    let mut areas = vec![workspace];
    if let Some(path) = &temps.shared {
        match directory("shared temp area", path) {
            Ok(shared) => areas.push(shared),
            Err(error) => tracing::warn!(%error, "left out of the writable roots"),
        }
    }
    if let Some(path) = &temps.own {
        let own = own_temp(path, &areas)?;
        areas.push(own);
    }
    Ok(areas)
}

pub(super) fn open(mode: Mode, areas: &[PathBuf]) -> Result<Option<Roots>> {
    match mode {
        Mode::ReadOnly | Mode::DangerFullAccess => Ok(None),
        Mode::WorkspaceWrite => match Roots::open(areas) {
            Ok(roots) => Ok(Some(roots)),
            Err(error) => {
                let expected = "a directory that can be opened";
                Err(invalid("writable root", expected, error.path()))
            }
        },
    }
}

/// The temp directory, which whoever set the variable may have set to anything.
fn own_temp(path: &Path, others: &[PathBuf]) -> Result<PathBuf> {
    let refuse = |expected| Err(invalid(TEMP, expected, path));
    if !path.is_absolute() {
        return refuse("an absolute path");
    }
    let own = directory(TEMP, path)?;
    if others.contains(&own) {
        return Ok(own);
    }
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    if is_volume(&own) {
        refuse("a directory that is not a whole volume")
    } else if home.is_some_and(|home| home.starts_with(&own)) {
        refuse("a directory that does not contain the home directory")
    } else if others.first().is_some_and(|workspace| workspace.starts_with(&own)) {
        refuse("a directory that does not contain the workspace")
    } else {
        Ok(own)
    }
}

const TEMP: &str = "temp directory (TMPDIR)";

/// Operators' paths are resolved physically, links first, unlike those of tools.
fn directory(setting: &'static str, path: &Path) -> Result<PathBuf> {
    path.canonicalize()
        .ok()
        .filter(|canonical| canonical.is_dir())
        .ok_or_else(|| invalid(setting, "an existing directory", path))
}

fn is_volume(canonical: &Path) -> bool {
    canonical.parent().is_none()
}

fn invalid(setting: &'static str, expected: &'static str, found: &Path) -> Error {
    Error::PolicyInvalid { setting, expected, found: found.to_owned() }
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
        assert_eq!(areas(&here(), &temps).unwrap(), [here()]);
    }
}
