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
