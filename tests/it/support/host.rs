//! What the host gives, and saying aloud what it does not.

use std::fmt;
use std::io::Write;

/// Says something where the test harness does not swallow it, also when the test passes.
pub(crate) fn say(text: impl fmt::Display) {
    let lines: String =
        text.to_string().lines().map(|line| format!("ringfence: {line}\n")).collect();
    // The harness captures what `print!` and `eprint!` write, not the stream itself.
    std::io::stderr().write_all(lines.as_bytes()).expect("standard error is open");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Something that the tests have and this run does not do.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub(crate) struct LeftOut {
    pub(crate) what: String,
    pub(crate) reason: String,
    pub(crate) count: usize,
}

impl LeftOut {
    pub(crate) fn new(what: impl Into<String>, reason: impl Into<String>, count: usize) -> Self {
        Self { what: what.into(), reason: reason.into(), count }
    }
}

/// Prints what is left out, one line a reason, in one piece.
pub(crate) fn report(mut left_out: Vec<LeftOut>) {
    left_out.retain(|entry| entry.count > 0);
    let mut text = format!("{} kinds of row or test are left out here:", left_out.len());
    for LeftOut { what, reason, count } in left_out {
        text += &format!("\n  {count:4} x {what}: {reason}");
    }
    say(text);
}

/// What a row of a case table needs beyond the fence.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Needs {
    Root,
    Mount,
    Mknod,
    Landlock,
    Seccomp,
}

impl Needs {
    /// Why this host cannot give it to this process, if so. A private mount namespace and a
    /// filter are made for the test, so they are not asked about here.
    pub(crate) fn missing(self) -> Option<&'static str> {
        match self {
            Self::Root if !is_root() => Some("not run as root"),
            Self::Mknod if !can_make_devices() => Some("this user may not make devices"),
            Self::Landlock if !has_landlock() => Some("the kernel has no Landlock with ABI 3"),
            Self::Root | Self::Mknod | Self::Landlock | Self::Mount | Self::Seccomp => None,
        }
    }
}

fn can_make_devices() -> bool {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    let base = super::Base::new();
    mknodat(CWD, base.path().join("null"), FileType::CharacterDevice, Mode::RUSR, makedev(1, 3))
        .is_ok()
}

fn has_landlock() -> bool {
    use landlock::{ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(ABI::V3))
        .and_then(Ruleset::create)
        .is_ok()
}

/// The size of this process's memory, in bytes.
pub(crate) fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}
