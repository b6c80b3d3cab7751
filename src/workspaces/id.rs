//! Which workspace.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::error::Error;

/// The id of a workspace: a random UUID, which says nothing of its directory. `Display` gives the
/// one spelling that [`FromStr`] takes, hyphenated and in lower case.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct WorkspaceId(Uuid);

impl WorkspaceId {
    pub(super) fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

impl FromStr for WorkspaceId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let id = Uuid::try_parse(text).ok().map(Self);
        // One id in two spellings would be two names for one workspace.
        let id = id.filter(|id| id.to_string() == text);
        id.ok_or_else(|| Error::WorkspaceUnknown { workspace: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        let id = WorkspaceId::random();
        assert_eq!(id.to_string().parse::<WorkspaceId>().unwrap(), id);
        assert_ne!(id, WorkspaceId::random());
        let text = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        assert_eq!(text.parse::<WorkspaceId>().unwrap().to_string(), text);
        let upper = text.to_uppercase();
        for other in [&*upper, &text.replace('-', ""), "", "x", "{67e55044}"] {
            assert!(other.parse::<WorkspaceId>().is_err(), "{other}");
        }
    }
}
