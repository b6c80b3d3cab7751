//! Whether a change may be made, and where. Deciding is pure; only loading a policy looks at the
//! host.

mod areas;
mod bounds;
mod command;
mod decision;
mod escalation;
mod grant;
mod roots;
mod settings;
mod shell_limits;

pub(crate) use areas::{Areas, Required, Set};
pub(crate) use bounds::Bounds;
pub(crate) use command::{Confining, Surveyed};
pub use decision::{Decision, Policy};
pub use escalation::{Answer, Approval, Approver, Escalation, Question, Subject};
pub(crate) use escalation::{Wider, can_reach};
pub use grant::Grant;
pub(crate) use grant::Unmade;
pub(crate) use roots::{SESSION_DIRECTORY, WORKSPACE};
pub use roots::{TempAreas, writable_roots};
pub use settings::Settings;
pub use shell_limits::ShellLimits;
