//! How a program gets its environment from a shell that runs before it, whose own must not be led
//! astray by it: what names libraries and start files is exported at the last moment.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;

use rustix::fs::MemfdFlags;

/// The program that sets what a shell would not.
const ENV: &str = "/usr/bin/env";

/// An environment in three parts.
#[derive(Debug)]
pub(super) struct Handover {
    /// What the shell may have from the start.
    pub(super) early: Vec<(OsString, OsString)>,
    /// A line for each variable that it exports before it becomes the program.
    pub(super) late: OwnedFd,
    /// What stands before the program: a shell drops a name that it could not have itself.
    pub(super) odd: Vec<OsString>,
}

impl Handover {
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if a late variable has a line break.
    pub(super) fn of(env: &[(OsString, OsString)]) -> io::Result<Self> {
        let (mut early, mut late, mut odd) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in env {
            if !is_identifier(name) {
                odd.push(pair(name, value));
            } else if is_late(name) {
                let line = pair(name, value).into_encoded_bytes();
                if line.contains(&b'\n') {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                late.extend([&line[..], b"\n"].concat());
            } else {
                early.push((name.clone(), value.clone()));
            }
        }
        if !odd.is_empty() {
            odd.splice(0..0, [ENV.into(), "--".into()]);
        }
        Ok(Self { early, late: file_of(&late)?, odd })
    }
}

fn pair(name: &OsStr, value: &OsStr) -> OsString {
    [name, OsStr::new("="), value].into_iter().collect()
}

/// What a shell takes for a name.
fn is_identifier(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_next = |byte: &u8| is_first(byte) || byte.is_ascii_digit();
    bytes.first().is_some_and(is_first) && bytes.iter().all(is_next)
}

/// What says where the shell, or what it runs, takes code from, and how it reads.
const LEADING: [&str; 5] = ["PATH", "ENV", "BASH_ENV", "GLIBC_TUNABLES", "IFS"];

/// What the shell sets by itself. The program gets what it was given, or nothing.
const SET_BY_SHELLS: [&str; 3] = ["PWD", "OLDPWD", "SHLVL"];

fn is_late(name: &OsStr) -> bool {
    let late = LEADING.iter().chain(&SET_BY_SHELLS).any(|own| name == *own);
    late || name.as_encoded_bytes().starts_with(b"LD_")
}

/// A file in memory that has no name.
pub(super) fn file_of(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create("ringfence", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}
