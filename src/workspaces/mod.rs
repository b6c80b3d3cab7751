//! A durable list of known workspaces, and of the sessions that belong to them. It grants nothing:
//! no policy reads it.

mod answer;
mod current;
mod document;
mod fields;
mod id;
mod membership;
mod place;
mod registry;
mod state;
mod time;

pub use answer::{Workspace, WorkspaceStatus};
pub use id::WorkspaceId;
pub use membership::{SessionHeader, Sessions};
pub use registry::Workspaces;
