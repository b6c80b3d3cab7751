//! Whether a person is asked.

use std::fmt;
use std::str::FromStr;

/// What becomes of a question whether one call may run in a wider mode.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash)]
pub enum ApprovalPolicy {
    /// It is put to the approver.
    #[default]
    Ask,
    /// It is rejected, and nobody is shown it.
    Never,
}

impl ApprovalPolicy {
    const ALL: [Self; 2] = [Self::Ask, Self::Never];

    /// The stable name, which is also what [`FromStr`] takes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for ApprovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ApprovalPolicy {
    type Err = UnknownApprovalPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownApprovalPolicy> {
        let named = Self::ALL.into_iter().find(|policy| policy.as_str() == text);
        named.ok_or_else(|| UnknownApprovalPolicy(text.to_owned()))
    }
}

/// A text that is neither of the two names.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is no approval policy: expected ask or never")]
pub struct UnknownApprovalPolicy(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_names_are_the_whole_set() {
        for policy in ApprovalPolicy::ALL {
            assert_eq!(policy.to_string().parse::<ApprovalPolicy>().unwrap(), policy);
        }
        for text in ["", "Ask", "ask ", "always", "on-request"] {
            let unknown = Err(UnknownApprovalPolicy(text.to_owned()));
            assert_eq!(text.parse::<ApprovalPolicy>(), unknown);
        }
    }
}
