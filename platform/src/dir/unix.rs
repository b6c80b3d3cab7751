//! `*at` calls through rustix.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RawMode, RenameFlags, StatxFlags,
};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::error::Fault;
use crate::path::Name;
use crate::stat::{FileId, Kind, Stamp};

/// Safe for whatever a path turns out to name: neither a FIFO nor a terminal is waited for.
pub(crate) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const WRITE: OFlags = OFlags::WRONLY.union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// The magic number of a proc file system, statfs(2).
const PROC_SUPER_MAGIC: u64 = 0x9fa0;
/// The inode of its root directory: the only one with symlinks that are not magic.
const PROC_ROOT_INO: u64 = 1;

/// A directory held open.
#[derive(Debug)]
pub(crate) struct Dir(pub(crate) OwnedFd);

/// An entry of a directory that is held: all that an act is about.
pub(crate) type Spot<'d> = (&'d Dir, &'d Name);

/// With what right a directory is held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Hold {
    /// As a place only (`O_PATH`), which needs no right to read it.
    Place,
    /// For reading where that is permitted, since a place cannot be locked, synced or listed.
    Readable,
}

/// How a rename treats what is at the destination.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Onto {
    /// It is replaced.
    Anything,
    /// There must be nothing.
    Nothing,
    /// The two change places.
    Swap,
}

/// All that one `stat` tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meta {
    pub(crate) kind: Kind,
    pub(crate) stamp: Stamp,
    /// Permission bits with setuid, setgid and sticky.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: u64,
}

impl Meta {
    pub(crate) fn id(&self) -> FileId {
        self.stamp.id
    }

    pub(crate) fn of(fd: impl AsFd) -> Result<Self, Fault> {
        Ok(Self::from(rustix::fs::fstat(fd)?))
    }
}

impl From<rustix::fs::Stat> for Meta {
    #[expect(clippy::unnecessary_cast, reason = "the fields have other widths elsewhere")]
    fn from(stat: rustix::fs::Stat) -> Self {
        let ns = |seconds: i64, ns: u64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
        Self {
            kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
            stamp: Stamp {
                id: FileId { dev: stat.st_dev as u64, ino: stat.st_ino as u64 },
                size: stat.st_size as u64,
                mtime_ns: ns(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
                ctime_ns: ns(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
            },
            mode: Mode::from_raw_mode(stat.st_mode).bits() as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
            links: stat.st_nlink as u64,
        }
    }
}

fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Kind::Other,
    }
}

impl Dir {
    /// Opens a directory by a path of the whole process, links followed. Only for roots.
    pub(crate) fn open_ambient(path: &Path) -> Result<Self, Fault> {
        Ok(Self(rustix::fs::open(path, OFlags::PATH | DIRECTORY, Mode::empty())?))
    }

    pub(crate) fn meta(&self) -> Result<Meta, Fault> {
        Meta::of(&self.0)
    }

    pub(crate) fn id(&self) -> Result<FileId, Fault> {
        Ok(self.meta()?.id())
    }

    /// What is at `name`, not followed.
    pub(crate) fn look(&self, name: &Name) -> Result<Option<Meta>, Fault> {
        match rustix::fs::statat(&self.0, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether the caller's own rights allow writing to `name`, by `faccessat(2)`: that is the
    /// kernel's answer, with capabilities, ACLs and read-only mounts in it.
    pub(crate) fn may_write(&self, name: &Name) -> Result<(), Fault> {
        Ok(rustix::fs::accessat(&self.0, name.as_os_str(), Access::WRITE_OK, AtFlags::EACCESS)?)
    }

    /// Whether the caller's own rights allow entries to be made here.
    pub(crate) fn may_fill(&self) -> Result<(), Fault> {
        let rights = Access::WRITE_OK | Access::EXEC_OK;
        Ok(rustix::fs::accessat(&self.0, ".", rights, AtFlags::EACCESS)?)
    }

    /// Whether the caller's own rights allow what is at `name`, seen as `meta`, to be taken from
    /// here: the directory may be written, is not sticky over somebody else's, and nothing is
    /// mounted there.
    pub(crate) fn may_take(&self, name: &Name, meta: &Meta) -> Result<(), Fault> {
        const STICKY: u32 = 0o1000;
        self.may_fill()?;
        let (dir, me) = (self.meta()?, rustix::process::geteuid());
        let mine = me.is_root() || [meta.uid, dir.uid].contains(&me.as_raw());
        Fault::from(Errno::PERM).unless(mine || dir.mode & STICKY == 0)?;
        let mounts = (mount_id(self, "")?, mount_id(self, name.as_os_str())?);
        Fault::from(Errno::BUSY).unless(mounts.0 == mounts.1)
    }

    /// The text of the symlink at `name`; nothing if it is none, or none any more.
    pub(crate) fn read_link(&self, name: &Name) -> Result<Option<PathBuf>, Fault> {
        match rustix::fs::readlinkat(&self.0, name.as_os_str(), Vec::new()) {
            Ok(text) => Ok(Some(OsString::from_vec(text.into_bytes()).into())),
            Err(Errno::INVAL) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether the symlinks in this directory are magic: a jump to an object, and not a text.
    pub(crate) fn has_magic_links(&self) -> Result<bool, Fault> {
        let proc = is_procfs(rustix::fs::fstatfs(&self.0)?);
        Ok(proc && self.id()?.ino != PROC_ROOT_INO)
    }

    /// Opens the directory at `name`, not followed.
    pub(crate) fn enter(&self, name: &Name, hold: Hold) -> Result<Self, Fault> {
        self.open_dir(name.as_os_str(), hold)
    }

    /// Opens the parent, wherever this directory is by now.
    pub(crate) fn parent(&self, hold: Hold) -> Result<Self, Fault> {
        self.open_dir(OsStr::new(".."), hold)
    }

    /// Opens the same directory once more.
    pub(crate) fn again(&self, hold: Hold) -> Result<Self, Fault> {
        self.open_dir(OsStr::new("."), hold)
    }

    /// Opens the same directory to read its entries, which must be permitted.
    pub(crate) fn open_itself(&self) -> Result<OwnedFd, Fault> {
        Ok(rustix::fs::openat(&self.0, ".", READ, Mode::empty())?)
    }

    fn open_dir(&self, name: &OsStr, hold: Hold) -> Result<Self, Fault> {
        let open = |access| {
            let flags = access | DIRECTORY | OFlags::NOFOLLOW;
            rustix::fs::openat(&self.0, name, flags, Mode::empty())
        };
        Ok(Self(hold.open(open)?))
    }

    /// Opens what is at `name`, not followed, by [`READ`] and perhaps more.
    pub(crate) fn open(&self, name: &Name, flags: OFlags) -> Result<OwnedFd, Fault> {
        let flags = flags | OFlags::NOFOLLOW;
        Ok(rustix::fs::openat(&self.0, name.as_os_str(), flags, Mode::empty())?)
    }

    /// How many levels above this directory the one with `id` is, if it is there at all, found by
    /// opening `..` again and again: a climb that no symlink and no old spelling can mislead.
    pub(crate) fn levels_below(&self, id: FileId) -> Result<Option<usize>, Fault> {
        let mut here = self.again(Hold::Place)?;
        let mut at = here.id()?;
        for level in 0.. {
            if at == id {
                return Ok(Some(level));
            }
            let up = here.parent(Hold::Place)?;
            let above = up.id()?;
            if above == at {
                break;
            }
            (here, at) = (up, above);
        }
        Ok(None)
    }

    /// Whether this directory is the one with `id` or lies beneath it, now.
    pub(crate) fn is_beneath(&self, id: FileId) -> Result<bool, Fault> {
        Ok(self.levels_below(id)?.is_some())
    }

    /// As [`is_beneath`](Self::is_beneath), in one call where it is `levels` below as expected.
    pub(crate) fn is_beneath_by(&self, levels: usize, id: FileId) -> Result<bool, Fault> {
        // Of more levels than one path can name, nothing is found.
        let up = "../".repeat(levels);
        let above = rustix::fs::statat(&self.0, up, AtFlags::EMPTY_PATH).map(Meta::from);
        Ok(above.is_ok_and(|above| above.id() == id) || self.is_beneath(id)?)
    }

    pub(crate) fn make_dir(&self, name: &Name) -> Result<(), Fault> {
        Ok(rustix::fs::mkdirat(&self.0, name.as_os_str(), Mode::from_raw_mode(0o777))?)
    }

    /// Creates a file that was not there, with `mode` less what the umask or a default ACL takes.
    pub(crate) fn create_new(&self, name: &Name, mode: u32) -> Result<File, Fault> {
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let (flags, mode) = (new | WRITE, Mode::from_bits_truncate(mode as RawMode));
        Ok(rustix::fs::openat(&self.0, name.as_os_str(), flags, mode)?.into())
    }

    /// Creates a file without a name, which vanishes by itself unless it is [linked](Self::link)
    /// into place. Nothing where the file system has no such files.
    pub(crate) fn create_unnamed(&self, mode: u32) -> Result<Option<File>, Fault> {
        let (flags, mode) = (OFlags::TMPFILE | WRITE, Mode::from_bits_truncate(mode as RawMode));
        match rustix::fs::openat(&self.0, ".", flags, mode) {
            Ok(fd) => Ok(Some(fd.into())),
            // EISDIR: what a kernel says that does not know the flag, open(2).
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Gives an unnamed file the name `name`, which must be free.
    pub(crate) fn link(&self, file: &File, name: &Name) -> Result<(), Fault> {
        let to = name.as_os_str();
        match rustix::fs::linkat(file, "", &self.0, to, AtFlags::EMPTY_PATH) {
            // What a kernel before 6.10 says to a caller without CAP_DAC_READ_SEARCH.
            Err(Errno::NOENT) if proc_is_mounted() => {
                let from = format!("/proc/self/fd/{}", file.as_raw_fd());
                Ok(rustix::fs::linkat(CWD, from, &self.0, to, AtFlags::SYMLINK_FOLLOW)?)
            }
            done => Ok(done?),
        }
    }

    /// As [`place`], of this directory.
    pub(crate) fn place(&self) -> Option<PathBuf> {
        place(&self.0)
    }

    /// Renames `from` to `to`, in one step.
    pub(crate) fn rename(from: Spot<'_>, to: Spot<'_>, onto: Onto) -> Result<(), Fault> {
        let (old, new) = (from.1.as_os_str(), to.1.as_os_str());
        let flags = match onto {
            Onto::Anything => return Ok(rustix::fs::renameat(from.0, old, to.0, new)?),
            Onto::Nothing => RenameFlags::NOREPLACE,
            Onto::Swap => RenameFlags::EXCHANGE,
        };
        match rustix::fs::renameat_with(from.0, old, to.0, new, flags) {
            // EINVAL also says that a directory would lie within itself.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let moved = from.0.look(from.1)?.ok_or(Errno::NOENT)?;
                let there = to.0.look(to.1)?;
                let back = there.map_or(Ok(false), |there| from.0.is_beneath(there.id()));
                match to.0.is_beneath(moved.id())? || back? {
                    true => Err(Errno::INVAL.into()),
                    false if onto == Onto::Nothing && moved.kind != Kind::Dir => {
                        Self::link_then_unlink(from, to)
                    }
                    false => Err(Errno::OPNOTSUPP.into()),
                }
            }
            done => Ok(done?),
        }
    }

    /// The rename that does not replace, on a file system without one: `link(2)` never replaces.
    fn link_then_unlink(from: Spot<'_>, to: Spot<'_>) -> Result<(), Fault> {
        let (old, new) = (from.1.as_os_str(), to.1.as_os_str());
        let linked = rustix::fs::linkat(from.0, old, to.0, new, AtFlags::empty());
        linked.map_err(|errno| if errno == Errno::PERM { Errno::OPNOTSUPP } else { errno })?;
        from.0.unlink(from.1)
    }

    /// Removes what is at `name`, which must not be a directory.
    pub(crate) fn unlink(&self, name: &Name) -> Result<(), Fault> {
        Ok(rustix::fs::unlinkat(&self.0, name.as_os_str(), AtFlags::empty())?)
    }

    /// Removes the empty directory at `name`.
    pub(crate) fn remove_dir(&self, name: &Name) -> Result<(), Fault> {
        Ok(rustix::fs::unlinkat(&self.0, name.as_os_str(), AtFlags::REMOVEDIR)?)
    }

    pub(crate) fn symlink(&self, text: &Path, name: &Name) -> Result<(), Fault> {
        Ok(rustix::fs::symlinkat(text, &self.0, name.as_os_str())?)
    }

    /// Puts the entries of this directory on disk. `false` where it could not be opened for that.
    pub(crate) fn sync(&self) -> Result<bool, Fault> {
        match rustix::fs::fsync(&self.0) {
            Ok(()) => Ok(true),
            // An O_PATH descriptor, or a file system that does not sync directories.
            Err(Errno::BADF | Errno::INVAL) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Takes the advisory lock of this directory, which keeps other processes of this library from
    /// acting on its entries. Nobody is waited for: where it is held, the fault says so.
    pub(crate) fn lock(&self) -> Result<DirLock<'_>, Fault> {
        match rustix::fs::flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(DirLock(Some(self))),
            // Not held for reading, or on a file system without locks.
            Err(Errno::BADF | Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(DirLock(None)),
            Err(errno) => Err(Fault { locked: errno == Errno::WOULDBLOCK, ..errno.into() }),
        }
    }

    /// The entries of a directory that has just been opened for reading, without `.` and `..`, as
    /// the system hands them out. It may not tell the kind, which is [`Kind::Other`] then.
    pub(crate) fn entries(
        dir: OwnedFd,
    ) -> Result<impl Iterator<Item = Result<(Name, Kind), Fault>>, Fault> {
        let entries = rustix::fs::Dir::new(dir)?;
        Ok(entries.filter_map(|entry| match entry {
            Ok(entry) => {
                let name = Name::new(OsStr::from_bytes(entry.file_name().to_bytes()))?;
                Some(Ok((name, kind_of(entry.file_type()))))
            }
            Err(errno) => Some(Err(errno.into())),
        }))
    }
}

/// The advisory lock of a directory, if it could be had; released when dropped.
#[derive(Debug)]
pub(crate) struct DirLock<'d>(pub(crate) Option<&'d Dir>);

impl Drop for DirLock<'_> {
    fn drop(&mut self) {
        // Closing is not enough: a child made by fork(2) has the same open file.
        if let Some(Err(errno)) = self.0.map(|d| rustix::fs::flock(d, FlockOperation::Unlock)) {
            tracing::warn!(%errno, "directory lock not released");
        }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Hold {
    /// Runs `open` with the access mode of this hold, or as a place where reading is refused.
    pub(crate) fn open(
        self,
        open: impl Fn(OFlags) -> Result<OwnedFd, Errno>,
    ) -> Result<OwnedFd, Errno> {
        match self {
            Self::Place => open(OFlags::PATH),
            Self::Readable => match open(OFlags::RDONLY) {
                Err(Errno::ACCESS) => open(OFlags::PATH),
                done => done,
            },
        }
    }
}

/// Which mount `path` of `dir` is on, where the kernel tells (Linux 5.8). An empty path is `dir`.
pub(crate) fn mount_id(dir: impl AsFd, path: impl Arg) -> Result<Option<u64>, Fault> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    match rustix::fs::statx(dir, path, flags, StatxFlags::MNT_ID) {
        Ok(statx) => {
            let told = StatxFlags::from_bits_retain(statx.stx_mask).contains(StatxFlags::MNT_ID);
            Ok(told.then_some(statx.stx_mnt_id))
        }
        Err(Errno::NOSYS) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Where a directory is by now, absolute and without symlinks, as `/proc/self/fd` tells it,
/// proc_pid_fd(5). Nothing where that cannot be asked.
pub(crate) fn place(dir: impl AsFd) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd());
    std::fs::read_link(link).ok().filter(|place| proc_is_mounted() && place.is_absolute())
}

fn is_procfs(statfs: rustix::fs::StatFs) -> bool {
    u64::try_from(statfs.f_type).is_ok_and(|magic| magic == PROC_SUPER_MAGIC)
}

/// Whether `/proc` is a proc file system and not a directory that anybody may have filled.
pub(crate) fn proc_is_mounted() -> bool {
    rustix::fs::statfs("/proc").is_ok_and(is_procfs)
}
