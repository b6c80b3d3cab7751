//! How far file effects may reach.

use std::fmt;
use std::str::FromStr;

/// The file-effect ladder. `Ord` is "wider than".
///
/// A mode speaks of file changes only: every mode may read whatever the host lets this user read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Mode {
    /// No change anywhere.
    #[default]
    ReadOnly,
    /// Changes beneath the workspace and the temp areas.
    WorkspaceWrite,
    /// Changes anywhere this user may make them, without a fence.
    DangerFullAccess,
}

impl Mode {
    pub(crate) const ALL: [Self; 3] =
        [Self::ReadOnly, Self::WorkspaceWrite, Self::DangerFullAccess];

    /// The stable name, which is also what [`FromStr`] takes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let named = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        named.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// A text that is none of the three names.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is no mode: expected read-only, workspace-write or danger-full-access")]
pub struct UnknownMode(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_names_are_the_whole_set() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse::<Mode>().unwrap(), mode);
        }
        for text in ["", "Read-Only", "read_only", "read-only ", "workspace", "full", "danger"] {
            assert_eq!(text.parse::<Mode>(), Err(UnknownMode(text.to_owned())));
        }
    }

    #[test]
    fn a_wider_mode_is_greater_and_the_default_is_the_narrowest() {
        assert!(Mode::ReadOnly < Mode::WorkspaceWrite);
        assert!(Mode::WorkspaceWrite < Mode::DangerFullAccess);
        assert_eq!(Mode::default(), Mode::ReadOnly);
    }
}
