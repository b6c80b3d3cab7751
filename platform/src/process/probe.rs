//! Sees by effect whether a runner confines.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::{Builder, TempDir};

use super::child::{Child, Ended, Happened};
use super::command::{Command, Restrictions, Workdir};
use super::plan::SpawnError;
use super::report::{Cause, Unusable};
use super::spawn::SHELL;
use crate::roots::Roots;

/// Longer than any host takes to start a shell.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is this user's alone, where there is one.
const OWN: &str = "XDG_RUNTIME_DIR";

/// What is no writable root by default, as the directory for temporary files is: that may lie in a
/// workspace, and what a command may write in proves little.
const SHARED: &str = "/var/tmp";

/// Writes in the directories that it is given, one after the other.
const SCRIPT: &str = "for dir; do : >\"$dir/proof\"; done";

/// Has a command write where this process may: in a directory that it is granted, and in one that
/// it is not.
///
/// # Errors
///
/// [`Cause::NotEffective`] if the second came about, or the first did not; [`Cause::NotSetUp`] if it
/// did not come to that.
pub(super) fn prove(
    spawn: impl FnOnce(Command, Restrictions) -> Result<Child, SpawnError>,
) -> Result<(), Unusable> {
    let (granted, denied) = wrote(spawn).map_err(|why| Unusable::new(Cause::NotSetUp, why))?;
    let lacks = |what| Err(Unusable::new(Cause::NotEffective, what));
    match (granted, denied) {
        (true, false) => Ok(()),
        (_, true) => lacks("it does not keep a command from writing elsewhere"),
        (false, false) => lacks("a command cannot write where it may"),
    }
}

/// Whether a command has written where it may, and where it may not.
fn wrote(
    spawn: impl FnOnce(Command, Restrictions) -> Result<Child, SpawnError>,
) -> io::Result<(bool, bool)> {
    let place = place()?;
    let dirs = ["granted", "denied"].map(|name| place.path().join(name));
    for dir in &dirs {
        fs::create_dir(dir)?;
    }
    // What nobody may write there proves nothing.
    let [granted, denied] = &dirs;
    fs::write(denied.join("own"), "")?;
    let failed = |error| io::Error::other(format!("{error:#}"));
    let mut command = Command::new(SHELL, Workdir::open("/").map_err(failed)?);
    command.arguments = ["-c".into(), SCRIPT.into(), "sh".into()].to_vec();
    command.arguments.extend(dirs.iter().map(OsString::from));
    let roots = Some(Roots::open([granted]).map_err(failed)?);
    let restrictions = Restrictions { roots, ..Restrictions::default() };
    let child = spawn(command, restrictions).map_err(|error| match error {
        SpawnError::Runner(source) | SpawnError::Program(source) => source,
    })?;
    ended(child)?;
    let wrote = |dir: &std::path::Path| dir.join("proof").try_exists();
    Ok((wrote(granted)?, wrote(denied)?))
}

/// A directory of its own, in the first place that has room for one.
fn place() -> io::Result<TempDir> {
    let mut builder = Builder::new();
    builder.prefix(".ringfence-probe-");
    let own = std::env::var_os(OWN).map(PathBuf::from).filter(|own| own.is_absolute());
    let places = own.into_iter().chain([SHARED.into()]);
    let made = places.filter_map(|place| builder.tempdir_in(place).ok()).next();
    made.map_or_else(|| builder.tempdir(), Ok)
}

fn ended(mut child: Child) -> io::Result<Ended> {
    let until = Instant::now() + PATIENCE;
    loop {
        match child.next(Some(until))? {
            Happened::Ended(ended) => return Ok(ended),
            Happened::Wrote(..) => {}
            Happened::Silent | Happened::Late => return Err(lacks("a command does not end")),
        }
    }
}

fn lacks(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}
