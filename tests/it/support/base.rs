//! A directory of a test's own.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::mount::UnmountFlags;

use super::host::say;

/// Where a child that runs as another user may make its bases.
pub(super) const BASE_DIR: &str = "RINGFENCE_TEST_BASE";

/// A fresh directory, removed when it is dropped.
///
/// It is never beneath a temp area, which a policy may let everybody write to.
#[derive(Debug)]
pub(crate) struct Base {
    path: PathBuf,
}

impl Base {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let parent = std::env::var_os(BASE_DIR)
            .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from)
            .canonicalize()
            .expect("the directory for the tests' files exists");
        assert!(
            !parent.starts_with("/tmp"),
            "all of /tmp is writable by contract, so there is no outside in it: clone elsewhere, or \
             name another directory by {BASE_DIR}"
        );
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("rf-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => {
                    // Whatever the umask is, others may pass.
                    let open = std::fs::Permissions::from_mode(0o755);
                    std::fs::set_permissions(&path, open).unwrap();
                    return Self { path };
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("cannot make {}: {error}", path.display()),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            say(format_args!("cannot remove {}: {error}", self.path.display()));
        }
    }
}

/// Opens a directory to look up names in it, without following a link.
pub(crate) fn open_dir(at: impl AsFd, path: impl AsRef<Path>) -> Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::openat(at, path.as_ref(), flags, Mode::empty())
}

/// The names in an open directory.
pub(super) fn names(dir: impl AsFd) -> Result<Vec<OsString>> {
    use std::os::unix::ffi::OsStrExt;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Goes down and up by one name at a time: a tree may be deeper than a path can be long and than
/// the process may hold descriptors.
fn remove(path: &Path) -> Result<()> {
    let mut here = rustix::fs::open(
        path.parent().expect("a base has a parent"),
        OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let name = path.file_name().expect("a base has a name").to_owned();
    let mut to_do = vec![(OsString::new(), vec![name])];
    loop {
        let (_, rest) = to_do.last_mut().expect("the frame of the parent is popped last");
        if let Some(name) = rest.pop() {
            if let Some(inner) = enter_or_unlink(&here, &name)? {
                to_do.push((name, names(&inner)?));
                here = inner;
            }
        } else {
            let (name, _) = to_do.pop().expect("it was there a line above");
            if to_do.is_empty() {
                return Ok(());
            }
            here = open_dir(&here, "..")?;
            remove_dir(&here, &name)?;
        }
    }
}

fn enter_or_unlink(here: &OwnedFd, name: &OsStr) -> Result<Option<OwnedFd>> {
    let stat = rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        rustix::fs::unlinkat(here, name, AtFlags::empty())?;
        return Ok(None);
    }
    if stat.st_dev != rustix::fs::fstat(here)?.st_dev {
        unmount(here, name)?;
    }
    rustix::fs::chmodat(here, name, Mode::RWXU, AtFlags::empty())?;
    open_dir(here, name).map(Some)
}

fn remove_dir(here: &OwnedFd, name: &OsStr) -> Result<()> {
    match rustix::fs::unlinkat(here, name, AtFlags::REMOVEDIR) {
        Err(Errno::BUSY) => {
            unmount(here, name)?;
            rustix::fs::unlinkat(here, name, AtFlags::REMOVEDIR)
        }
        done => done,
    }
}

fn unmount(here: &OwnedFd, name: &OsStr) -> Result<()> {
    use std::os::fd::AsRawFd;
    let place = Path::new("/proc/self/fd").join(here.as_raw_fd().to_string()).join(name);
    rustix::mount::unmount(place, UnmountFlags::DETACH)
}

#[test]
fn a_base_is_removed_however_deep_and_closed_it_is() {
    let base = Base::new();
    let mut here = open_dir(CWD, base.path()).unwrap();
    for _ in 0..2_500 {
        rustix::fs::mkdirat(&here, "deep", Mode::RWXU).unwrap();
        let inner = open_dir(&here, "deep").unwrap();
        rustix::fs::fchmod(&here, Mode::empty()).unwrap();
        here = inner;
    }
    let path = base.path().to_owned();
    drop(base);
    assert!(!path.exists(), "{} is still there", path.display());
}
