//! Whether a change may be made, and where. Deciding is pure; only loading a policy looks at the
//! host.

mod decision;
mod grant;
mod roots;

pub use decision::{Decision, Policy};
pub use grant::Grant;
pub(crate) use grant::Unmade;
pub use roots::{TempAreas, writable_roots};
