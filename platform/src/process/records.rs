//! What the kernel itself records of a command's denials.
//!
//! From ABI 7 on Landlock writes them to the kernel's audit, where that is enabled, and whoever may
//! read it gets a copy by netlink(7). A record names the domain by a number that nothing else tells.
//! So the thread that has entered a domain does one thing that is denied, to a file that is its own
//! alone: the record of that has the number, and all records with it are the command's.
//!
//! Records come late, so what comes within a moment of the end is waited for.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::{AUDIT, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{bind, recv, send, socket_with};

use super::child::KernelDenial;

/// The group of those who read what is recorded, `AUDIT_NLGRP_READLOG`, as a mask.
const READERS: u32 = 1;

/// `NLMSG_ERROR`, `AUDIT_GET` and `AUDIT_LANDLOCK_ACCESS`, linux/netlink.h and linux/audit.h.
const ERROR: u16 = 2;
const STATUS: u16 = 1000;
const ACCESS: u16 = 1423;

/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;

/// The length of `struct nlmsghdr`, and the most that a record takes, `MAX_AUDIT_MESSAGE_LENGTH`.
const HEADER: usize = 16;
const LONGEST: usize = 8970;

/// Where in `struct audit_status` it says whether audit is enabled, and how many records were lost.
const ENABLED: usize = HEADER + 4;
const LOST: usize = HEADER + 24;

/// How many records are taken in one go, and how many denials are kept.
const MOST_RECORDS: usize = 4096;
const MOST_DENIALS: usize = 32;

/// How long nothing has to come for all to have come.
const QUIET: Duration = Duration::from_millis(20);

/// How long is waited for what was recorded.
const PATIENCE: Duration = Duration::from_millis(200);

/// The file that a thread may not open for writing in its domain. Opening it changes nothing.
const OWN: &str = "/proc/thread-self/comm";

/// What comes from the kernel while a command runs.
#[derive(Debug)]
pub(super) struct Records {
    socket: OwnedFd,
    found: Found,
}

/// What is known so far.
#[derive(Debug, Default)]
struct Found {
    mark: String,
    /// The number of the domain.
    domain: Option<String>,
    denials: Vec<KernelDenial>,
}

/// What audit tells of itself.
#[derive(Debug)]
pub(super) struct Status {
    is_enabled: bool,
    /// How many records there was no room for, ever.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test has to know that it has seen all"))]
    pub(super) lost: u32,
}

/// Whether audit is enabled and this process may read what is recorded.
pub(super) fn are_readable() -> bool {
    let is_enabled = status().is_some_and(|status| status.is_enabled);
    is_enabled && open(READERS).is_ok()
}

/// Nothing if this process may not ask.
pub(super) fn status() -> Option<Status> {
    let socket = open(0).ok()?;
    // AUDIT_GET has nothing but a header: length, type, flags, number, sender.
    let words = [16_u32.to_ne_bytes(), [0; 4], 1_u32.to_ne_bytes(), [0; 4]];
    let mut request = words.concat();
    request[4..6].copy_from_slice(&STATUS.to_ne_bytes());
    request[6..8].copy_from_slice(&REQUEST.to_ne_bytes());
    send(&socket, &request, SendFlags::empty()).ok()?;
    let until = Instant::now() + PATIENCE;
    while comes(&socket, until).ok()? {
        let message = next(&socket).ok()?.unwrap_or_default();
        match kind(&message) {
            Some(STATUS) => {
                let (enabled, lost) = (word_at(&message, ENABLED)?, word_at(&message, LOST)?);
                return Some(Status { is_enabled: enabled != 0, lost });
            }
            Some(ERROR) => return None,
            _ => {}
        }
    }
    None
}

fn open(groups: u32) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(AUDIT))?;
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

/// Does on this thread what its domain denies. Gives by what the record is known.
pub(super) fn make_mark() -> io::Result<String> {
    let thread = std::fs::read_link("/proc/thread-self")?;
    match OpenOptions::new().write(true).open(OWN) {
        Ok(_) => Err(io::Error::other("a domain that may write everywhere has no denials")),
        Err(_) => Ok(format!("/{}/comm", thread.display())),
    }
}

impl Records {
    /// All that is recorded from now on.
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self { socket: open(READERS)?, found: Found::default() })
    }

    /// Those of the domain in which this mark was made.
    pub(super) fn of(mut self, mark: String) -> Self {
        self.found.mark = mark;
        self
    }

    /// Takes what has come, so that there is room for more.
    pub(super) fn take(&mut self) {
        for _ in 0..MOST_RECORDS {
            match next(&self.socket) {
                Ok(Some(message)) => self.found.look_at(&message),
                // Some were lost, as there was no room for them.
                Err(Errno::NOBUFS | Errno::INTR) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// What has come once nothing more comes for a moment.
    pub(super) fn end(mut self) -> Vec<KernelDenial> {
        let until = Instant::now() + PATIENCE;
        self.take();
        while matches!(comes(&self.socket, until.min(Instant::now() + QUIET)), Ok(true)) {
            self.take();
        }
        self.found.denials
    }
}

impl Found {
    fn look_at(&mut self, message: &[u8]) {
        if kind(message) != Some(ACCESS) {
            return;
        }
        let text = String::from_utf8_lossy(message.get(HEADER..).unwrap_or_default());
        let Some(record) = Record::read(text.trim_end_matches('\0')) else { return };
        let is_mark = record.path.to_string_lossy().ends_with(&self.mark);
        match &self.domain {
            None if is_mark => self.domain = Some(record.domain.to_owned()),
            Some(domain) if domain == record.domain => {}
            None | Some(_) => return,
        }
        if is_mark {
            return;
        }
        let denial = KernelDenial { path: record.path.into(), rights: record.rights.to_owned() };
        if self.denials.len() < MOST_DENIALS && !self.denials.contains(&denial) {
            self.denials.push(denial);
        }
    }
}

/// A denial of a change of files.
#[derive(Debug)]
struct Record<'a> {
    domain: &'a str,
    rights: &'a str,
    path: OsString,
}

impl<'a> Record<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (_, fields) = text.split_once("): domain=")?;
        let (domain, fields) = fields.split_once(" blockers=")?;
        let (rights, fields) = fields.split_once(' ')?;
        let path = fields.strip_prefix("path=")?.split(' ').next()?;
        rights.starts_with("fs.").then_some(())?;
        Some(Self { domain, rights, path: spelled(path)? })
    }
}

/// A path is in quotes, or in hexadecimal digits if it has bytes that need care.
fn spelled(path: &str) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt as _;
    if let Some(quoted) = path.strip_prefix('"') {
        return quoted.strip_suffix('"').map(OsString::from);
    }
    let digits = path.as_bytes().chunks(2);
    let bytes = digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
    bytes.collect::<Option<Vec<_>>>().map(OsString::from_vec)
}

/// Whether something has come before then.
fn comes(socket: &OwnedFd, until: Instant) -> Result<bool, Errno> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a short time");
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready == 1),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// The next message, if there is one by now.
fn next(socket: &OwnedFd) -> Result<Option<Vec<u8>>, Errno> {
    let mut message = vec![0; HEADER + LONGEST];
    match recv(socket, message.as_mut_slice(), RecvFlags::DONTWAIT) {
        Ok((length, _)) => {
            message.truncate(length);
            Ok(Some(message))
        }
        Err(Errno::AGAIN) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn kind(message: &[u8]) -> Option<u16> {
    let bytes = message.get(4..6)?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

fn word_at(message: &[u8], at: usize) -> Option<u32> {
    let bytes = message.get(at..at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, text: &str) -> Vec<u8> {
        let mut message = vec![0; HEADER];
        message[4..6].copy_from_slice(&kind.to_ne_bytes());
        message.extend(text.as_bytes());
        message.push(0);
        message
    }

    fn found(records: &[(u16, &str)]) -> Found {
        let mut found = Found { mark: "/7/task/8/comm".to_owned(), ..Found::default() };
        for (kind, text) in records {
            found.look_at(&message(*kind, text));
        }
        found
    }

    const MARK: &str = "audit(1.2:3): domain=1a blockers=fs.write_file \
                        path=\"/proc/7/task/8/comm\" dev=\"proc\" ino=9";

    #[test]
    fn only_denials_of_the_domain_with_the_mark_are_the_commands() {
        let found = found(&[
            (ACCESS, "audit(1.2:2): domain=1a blockers=fs.write_file path=\"/early\" dev=\"x\""),
            (ACCESS, MARK),
            (ACCESS, "audit(1.2:4): domain=1b blockers=fs.write_file path=\"/other\" dev=\"x\""),
            (ACCESS, "audit(1.2:5): domain=1a blockers=scope.signal opid=1 ocomm=\"init\""),
            (1424, "audit(1.2:6): domain=1a status=allocated path=\"/no\""),
            (ACCESS, "audit(1.2:7): domain=1a blockers=fs.make_reg path=\"/mine\" dev=\"x\""),
            (ACCESS, "audit(1.2:8): domain=1a blockers=fs.make_reg path=\"/mine\" dev=\"x\""),
            (ACCESS, "audit(1.2:9): domain=1a blockers=fs.refer,fs.x path=2F6120C3 dev=\"x\""),
            (ACCESS, MARK),
        ]);
        let told: Vec<_> = found.denials.iter().map(|d| (d.path.as_path(), &*d.rights)).collect();
        let bytes: OsString = std::os::unix::ffi::OsStringExt::from_vec(b"/a \xc3".to_vec());
        let expected = [("/mine".as_ref(), "fs.make_reg"), (bytes.as_ref(), "fs.refer,fs.x")];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_no_record_is_nothing() {
        for text in
            ["", "audit(1", "audit(1.2:3): domain=1a", "audit(1.2:3): domain=1a blockers=fs.x"]
        {
            assert!(found(&[(ACCESS, MARK), (ACCESS, text)]).denials.is_empty(), "{text}");
        }
        assert_eq!(kind(b"abc"), None);
        assert_eq!(spelled("\"open"), None);
        assert_eq!(spelled("0g"), None);
    }

    #[test]
    fn no_more_denials_are_kept_than_a_few() {
        let mut found = found(&[(ACCESS, MARK)]);
        for number in 0..2 * MOST_DENIALS {
            let text =
                format!("audit(1.2:3): domain=1a blockers=fs.x path=\"/{number}\" dev=\"x\"");
            found.look_at(&message(ACCESS, &text));
        }
        assert_eq!(found.denials.len(), MOST_DENIALS);
    }
}
