//! The runner over bubblewrap, bwrap(1): a command has mounts of its own, read-only but beneath the
//! roots, and a PID namespace of its own.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::begin::on_a_lasting_thread;
use super::child::Child;
use super::command::{Command, Network, Restrictions, Streams};
use super::entry::{Entry, words};
use super::handover::Handover;
use super::mounts::{Mounts, place_of};
use super::namespace::Namespace;
use super::plan::SpawnError;
use super::probe;
use super::report::{Cause, ShellGap, Unusable};
use super::spawn::Image;
use super::tree::Tree;
use crate::dir::Meta;

/// Where it is looked for: not in a `PATH`, which others may set.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// What it always does. System V shared memory is no file, and no other process's either.
const ALWAYS: [&str; 5] =
    ["--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent"];

/// The bubblewrap of this host.
#[derive(Clone, Debug)]
pub(super) struct Bwrap {
    program: PathBuf,
    user: User,
}

/// Whose user namespace a command has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum User {
    /// Its own. Nothing that it may do there counts outside.
    Own,
    /// That of this process, for root where user namespaces are forbidden, and where bubblewrap is
    /// setuid root.
    Host,
}

impl Bwrap {
    /// Sees by effect how it can be used here.
    ///
    /// # Errors
    ///
    /// If it cannot: it is not there, or what it said.
    pub(super) fn find() -> Result<Self, Unusable> {
        let program = PLACES.map(Path::new).into_iter().find(|place| place.is_file());
        let absent = || Unusable::new(Cause::NotInstalled, "bubblewrap is not installed");
        let program = program.ok_or_else(absent)?.to_owned();
        let own = Self { program, user: User::Own };
        let Err(why) = own.proved() else { return Ok(own) };
        let host = Self { user: User::Host, ..own };
        host.proved().map(|()| host).map_err(|_| why)
    }

    fn proved(&self) -> Result<(), Unusable> {
        probe::prove(|command, restrictions| self.spawn(command, &restrictions))
    }

    /// What it does not hold under `restrictions`.
    ///
    /// # Errors
    ///
    /// If mounts cannot express them.
    pub(super) fn gaps(restrictions: &Restrictions) -> io::Result<Vec<ShellGap>> {
        if !restrictions.protected().is_empty() {
            Mounts::of(restrictions)?;
        }
        Ok(Vec::new())
    }

    /// Starts `command`, and returns when it is about to be executed.
    pub(super) fn spawn(
        &self,
        command: Command,
        restrictions: &Restrictions,
    ) -> Result<Child, SpawnError> {
        let image = Image::of(&command).map_err(SpawnError::Program)?;
        let runner = SpawnError::Runner;
        let Handover { early, late, odd } =
            Handover::of(&command.env).map_err(SpawnError::Program)?;
        let entry = self.entry(&command, restrictions, early, late).map_err(runner)?;
        let bwrap = Image::new(&self.program, words(odd, &image), &[]).map_err(runner)?;
        let begin = move || entry.begin(&bwrap, command.streams);
        let ((started, said), starter) = on_a_lasting_thread(begin).map_err(runner)?;
        let mut namespace = Namespace::of(started.pid, starter).map_err(runner)?;
        let entered = said.wait().map(|first| namespace.begins_with(first));
        // If it has failed, this ends what is left of it.
        let child = started.child(Tree::Namespace(namespace))?;
        entered.map(|()| child).map_err(runner)
    }

    fn entry(
        &self,
        command: &Command,
        restrictions: &Restrictions,
        early: Vec<(OsString, OsString)>,
        late: OwnedFd,
    ) -> io::Result<Entry> {
        let mounts = Mounts::of(restrictions)?;
        let workdir = place_of(&command.workdir)?;
        let options = [
            (true, ALWAYS.as_slice()),
            (self.user == User::Own, &["--unshare-user"]),
            (restrictions.network == Network::Denied, &["--unshare-net"]),
            (command.streams == Streams::Captured, &["--new-session"]),
        ];
        let options = options.into_iter().filter(|(is_wanted, _)| *is_wanted);
        let options = options.flat_map(|(_, words)| words).map(OsString::from);
        let set = |(name, value)| ["--setenv".into(), name, value];
        let enter = ["--chdir".into(), workdir.into_os_string()];
        let enter = enter.into_iter().chain(early.into_iter().flat_map(set));
        let begins_in = Meta::of(&command.workdir)
            .map_err(|fault| io::Error::other(fault.at("enter", command.workdir.path())))?;
        let here = (Path::new("."), begins_in.id());
        let pinned = mounts.pinned().iter().map(|(path, id)| (path.as_path(), *id));
        Entry::new(options.chain(mounts.words()).chain(enter), late, pinned.chain([here]))
    }
}
