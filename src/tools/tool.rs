//! The tools by name.

use std::fmt;

/// A tool that an agent may be given. `Display` gives the name that it is called by.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
#[non_exhaustive]
pub enum Tool {
    /// Shows lines of a text file.
    Read,
    /// Creates a file or replaces one.
    Write,
    /// Replaces a part of a text file.
    Edit,
    /// Lists a directory.
    List,
    /// Runs a command.
    Bash,
    /// Shows what a command in the background has written.
    BashOutput,
    /// Ends a command in the background.
    BashKill,
}

impl Tool {
    pub(super) const ALL: [Self; 7] = [
        Self::Read,
        Self::Write,
        Self::Edit,
        Self::List,
        Self::Bash,
        Self::BashOutput,
        Self::BashKill,
    ];

    /// Those that are of use only where a command may go on in the background.
    pub(super) const OF_JOBS: [Self; 2] = [Self::BashOutput, Self::BashKill];

    /// The name that it is called by.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::List => "list",
            Self::Bash => "bash",
            Self::BashOutput => "bash_output",
            Self::BashKill => "bash_kill",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
