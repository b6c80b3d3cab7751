//! What a host may expect of a tool before it is called.

use super::tool::Tool;

/// What a tool may do, for a host that shows it or asks before a call. The policy does not go by
/// it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// What it changes may be lost by that.
    pub destructive: bool,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It reaches beyond this machine's files.
    pub open_world: bool,
}

impl Hints {
    const READS: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    const CHANGES: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: false };

    pub(super) fn of(tool: Tool) -> Self {
        match tool {
            // A look at a job shows what no look has shown before, and changes nothing else.
            Tool::Read | Tool::List | Tool::BashOutput => Self::READS,
            Tool::Write | Tool::BashKill => Self { idempotent: true, ..Self::CHANGES },
            Tool::Edit => Self::CHANGES,
            Tool::Bash => Self { open_world: true, ..Self::CHANGES },
        }
    }
}
