//! What a replacement takes over from the file it replaces: owner, group, permission bits, access
//! control list, security label and the other extended attributes.
//!
//! It is put on the scratch file by descriptor, before any content is in it. What cannot be kept is
//! named, never dropped in silence.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;

use rustix::fs::{Gid, Mode, RawMode, Uid, XattrFlags};
use rustix::io::Errno;

use super::unix::{Dir, Meta, READ, proc_is_mounted};
use crate::cancel::Cancel;
use crate::error::{ErrorKind, Fault};
use crate::mutation::{Digest, Hasher, Lost};
use crate::path::Name;

const ACL: &str = "system.posix_acl_access";

/// How much is compared at a time.
const PIECE: usize = 64 * 1024;

const SETUID: u32 = 0o4000;
const SETGID: u32 = 0o2000;
const GROUP: u32 = 0o070;
const GROUP_MAY_EXECUTE: u32 = 0o010;

/// Taken from the old file, to be put on the new one.
#[derive(Debug)]
pub(crate) struct Carried {
    meta: Meta,
    /// Names and values.
    attributes: Vec<(OsString, Vec<u8>)>,
    lost: Vec<Lost>,
}

impl Carried {
    /// Reads what `old`, seen as `meta`, has to hand on.
    pub(crate) fn from(old: &Old, meta: &Meta) -> Result<Self, Fault> {
        let mut lost = Vec::new();
        // As the kernel does when a file is written to, chmod(2) and `file_remove_privs`: setgid
        // without the right to execute is no privilege.
        let setid = if meta.mode & GROUP_MAY_EXECUTE == 0 { SETUID } else { SETUID | SETGID };
        if meta.mode & setid != 0 {
            lost.push(Lost::Setid);
        }
        if meta.links > 1 {
            lost.push(Lost::HardLink(meta.links - 1));
        }
        let meta = Meta { mode: meta.mode & !setid, ..*meta };
        let mut carried = Self { meta, attributes: Vec::new(), lost };
        for name in old.list()? {
            match name.as_bytes() {
                // Derived from the content by the system.
                b"security.ima" | b"security.evm" => {}
                b"security.capability" => carried.lost.push(Lost::Capability),
                _ => match old.get(&name) {
                    Ok(value) => carried.attributes.push((name, value)),
                    Err(_) => carried.lost.push(loss_of(name)),
                },
            }
        }
        Ok(carried)
    }

    /// With what mode the new file is to be created, so that it is at no time more open than it
    /// will be in the end, whatever group the directory gives it.
    pub(crate) fn creation_mode(&self) -> u32 {
        let Meta { mode, .. } = self.meta;
        let common = (mode & GROUP) >> 3 & mode;
        mode & 0o700 | common << 3 | common
    }

    /// Puts everything on `file`, which is empty, and tells what could not be kept.
    pub(crate) fn put_on(self, file: &File) -> Result<Vec<Lost>, Fault> {
        let Self { meta: Meta { uid, gid, mut mode, .. }, attributes, mut lost } = self;
        let has_setgid = mode & SETGID != 0;
        let made = Meta::of(file)?;
        if made.uid != uid && rustix::fs::fchown(file, Some(Uid::from_raw(uid)), None).is_err() {
            lost.push(Lost::Owner);
        }
        if made.gid != gid && rustix::fs::fchown(file, None, Some(Gid::from_raw(gid))).is_err() {
            lost.push(Lost::Group);
        }
        let mut mode_moved = made.uid != uid || made.gid != gid;
        for (name, value) in attributes {
            // A list speaks of the group it was made for.
            let astray = name == ACL && lost.contains(&Lost::Group);
            let put = || rustix::fs::fsetxattr(file, &name, &value, XattrFlags::empty());
            let is_there = || whole(|buffer| rustix::fs::fgetxattr(file, &name, buffer));
            if astray || (put().is_err() && is_there().as_ref() != Ok(&value)) {
                lost.push(loss_of(name));
            } else {
                mode_moved |= name == ACL;
            }
        }
        if lost.contains(&Lost::Group) || lost.contains(&Lost::Acl) {
            // Another group must not get what was meant for the old one, nor the group what the
            // mask of the list allowed to those it named.
            mode &= !(GROUP | SETGID) | (mode & 0o007) << 3;
        }
        if mode_moved || made.mode != mode {
            rustix::fs::fchmod(file, Mode::from_bits_truncate(mode as RawMode))?;
        }
        // The kernel drops it in silence for a group that is not the caller's.
        if has_setgid && !lost.contains(&Lost::Setid) && Meta::of(file)?.mode & SETGID == 0 {
            lost.push(Lost::Setid);
        }
        Ok(lost)
    }
}

/// Takes the access control list from a new file that its directory gave it, and says whether there
/// was one: named users may have opened the file by it.
pub(crate) fn shed_acl(file: &File) -> Result<bool, Fault> {
    let inherited = list_of(|buffer| rustix::fs::flistxattr(file, buffer))?;
    let has_acl = inherited.iter().any(|name| name == ACL);
    if has_acl {
        rustix::fs::fremovexattr(file, ACL)?;
    }
    Ok(has_acl)
}

fn loss_of(name: OsString) -> Lost {
    match name.as_bytes() {
        b"system.posix_acl_access" | b"system.nfs4_acl" | b"system.richacl" => Lost::Acl,
        [b's', b'e', b'c', b'u', b'r', b'i', b't', b'y', b'.', ..] => Lost::Label,
        _ => Lost::Xattr(name),
    }
}

/// The file that is being replaced.
#[derive(Debug)]
pub(crate) enum Old {
    Open(File),
    /// It may not be read, but its attributes may. By way of `/proc/self/fd` the name is one in the
    /// pinned directory and is not followed; there is no `listxattrat` before Linux 6.13.
    ByPath(OsString),
}

impl Old {
    /// Gets hold of the regular file at `name`.
    pub(crate) fn at(dir: &Dir, name: &Name) -> Result<Self, Fault> {
        match dir.open(name, READ) {
            Ok(file) => Ok(Self::Open(file.into())),
            Err(fault) if fault.kind == ErrorKind::Denied && proc_is_mounted() => {
                let mut path = OsString::from(format!("/proc/self/fd/{}/", dir.0.as_raw_fd()));
                path.push(name.as_os_str());
                Ok(Self::ByPath(path))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Whether its bytes, of which there were `size`, have this digest. Reads no more of them, even
    /// if there are by now, and no further once somebody has cancelled.
    pub(crate) fn has(&self, digest: &Digest, size: u64, cancel: &Cancel) -> Result<bool, Fault> {
        let Self::Open(file) = self else { return Err(Fault::new(ErrorKind::Denied)) };
        let mut hasher = Hasher::default();
        let (mut at, mut buffer) = (0, vec![0; PIECE]);
        while at <= size {
            cancel.check()?;
            let read = file.read_at(&mut buffer, at)?;
            if read == 0 {
                return Ok(at == size && hasher.finish() == *digest);
            }
            hasher.update(&buffer[..read]);
            at += read as u64;
        }
        Ok(false)
    }

    /// Whether it begins with `contents`; not, if it may not be read.
    pub(crate) fn holds(&self, contents: &[u8]) -> Result<bool, Fault> {
        let Self::Open(file) = self else { return Ok(false) };
        let mut buffer = vec![0; contents.len().min(PIECE)];
        for (number, piece) in contents.chunks(PIECE).enumerate() {
            let part = &mut buffer[..piece.len()];
            let read = file.read_at(part, (number * PIECE) as u64)?;
            if part[..read] != *piece {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn list(&self) -> Result<Vec<OsString>, Fault> {
        list_of(|buffer| match self {
            Self::Open(file) => rustix::fs::flistxattr(file, buffer),
            Self::ByPath(path) => rustix::fs::llistxattr(path, buffer),
        })
    }

    fn get(&self, attribute: &OsStr) -> Result<Vec<u8>, Errno> {
        whole(|buffer| match self {
            Self::Open(file) => rustix::fs::fgetxattr(file, attribute, buffer),
            Self::ByPath(path) => rustix::fs::lgetxattr(path, attribute, buffer),
        })
    }
}

/// The names that `list` writes into a buffer, each with a NUL after it. None on a file system
/// without extended attributes.
fn list_of(list: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<OsString>, Fault> {
    let names = match whole(list) {
        Err(Errno::OPNOTSUPP | Errno::NOENT) => Vec::new(),
        names => names?,
    };
    let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| OsString::from_vec(name.to_owned())).collect())
}

/// All that `read` has to say. Mostly that is little or nothing, and one call tells.
fn whole(read: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    /// No value and no list of names is longer, xattr(7).
    const MOST: usize = 65_536;
    let mut little = [0; 256];
    match read(&mut little) {
        Err(Errno::RANGE) => {
            let mut much = vec![0; MOST];
            let length = read(&mut much)?;
            much.truncate(length);
            Ok(much)
        }
        told => told.map(|length| little[..length].to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const SIZE: usize = 100_000;

    /// A file that begins with `SIZE` bytes and goes on for long after them, as one does that
    /// somebody appends to.
    fn that_has_grown() -> (Old, Vec<u8>) {
        let mut file = tempfile::tempfile().unwrap();
        let bytes = vec![b'x'; SIZE];
        file.write_all(&bytes).unwrap();
        file.set_len(1 << 30).unwrap();
        (Old::Open(file), bytes)
    }

    /// How many bytes this thread has read so far, where the system counts them.
    fn read_so_far() -> Option<usize> {
        let counts = std::fs::read_to_string("/proc/thread-self/io").ok()?;
        counts.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
    }

    #[test]
    fn of_a_file_that_grows_little_more_is_compared_than_was_expected() {
        let (old, bytes) = that_has_grown();
        let before = read_so_far();
        let has = old.has(&Digest::of(&bytes), SIZE as u64, &Cancel::never());
        assert!(!has.unwrap(), "it has more");
        let read = read_so_far().zip(before).map_or(0, |(after, before)| after - before);
        // A piece beyond the end, and the counts themselves.
        assert!(read <= SIZE + 2 * PIECE, "{read} bytes were read");
    }

    #[test]
    fn a_file_that_never_ends_is_not_the_expected_one() {
        let endless = Old::Open(File::open("/dev/zero").unwrap());
        for size in [0, 1, PIECE, PIECE + 1, SIZE] {
            let digest = Digest::of(&vec![0; size]);
            assert!(!endless.has(&digest, size as u64, &Cancel::never()).unwrap(), "{size}");
        }
    }

    #[test]
    fn exactly_the_expected_bytes_are_the_expected_version() {
        for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, SIZE] {
            let mut file = tempfile::tempfile().unwrap();
            let bytes = vec![b'x'; size];
            file.write_all(&bytes).unwrap();
            let old = Old::Open(file);
            let has = |digest, size| old.has(&digest, size as u64, &Cancel::never()).unwrap();
            assert!(has(Digest::of(&bytes), size), "{size}");
            assert!(!has(Digest::of(&bytes), size + 1), "{size}");
            assert!(!has(Digest::of(b"other"), size), "{size}");
        }
    }

    #[test]
    fn a_comparison_that_is_cancelled_is_no_verdict() {
        let (old, bytes) = that_has_grown();
        let cancel = Cancel::new();
        cancel.cancel();
        let fault = old.has(&Digest::of(&bytes), SIZE as u64, &cancel).unwrap_err();
        assert_eq!(fault.kind, ErrorKind::Cancelled);
    }
}
