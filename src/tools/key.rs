//! The keys of arguments.

use std::fmt;

/// A key of arguments. `Display` gives its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Key {
    FilePath,
    Path,
    Offset,
    Limit,
    Content,
    OldString,
    NewString,
    ReplaceAll,
    Command,
    Description,
    TimeoutMs,
    Workdir,
    RunInBackground,
    Job,
    SandboxPermissions,
    Justification,
}

impl Key {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::FilePath => "file_path",
            Self::Path => "path",
            Self::Offset => "offset",
            Self::Limit => "limit",
            Self::Content => "content",
            Self::OldString => "old_string",
            Self::NewString => "new_string",
            Self::ReplaceAll => "replace_all",
            Self::Command => "command",
            Self::Description => "description",
            Self::TimeoutMs => "timeoutMs",
            Self::Workdir => "workdir",
            Self::RunInBackground => "run_in_background",
            Self::Job => "job",
            Self::SandboxPermissions => "sandbox_permissions",
            Self::Justification => "justification",
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
