//! What an agent that speaks the Agent Client Protocol embeds, so that its client shows the policy,
//! switches it, and asks its user for more. Protocol version 1; the feature is `acp`.
//!
//! The protocol's session and the [`Session`](crate::Session) have the same name. The modes of the
//! protocol are the [`Presets`](crate::Presets), a [`Question`](crate::Question) is a permission
//! request, and what a [`ToolSet`](crate::ToolSet) does is told as tool calls. Nothing here decides
//! anything, and no client can widen a policy but by these two: a preset that the operator offers,
//! and an answer to a question.
//!
//! ```
//! use std::sync::Arc;
//! use ringfence::acp::SessionModes;
//! use ringfence::acp::protocol::v1::schema::{NewSessionRequest, NewSessionResponse};
//! use ringfence::{PolicyService, Presets, Settings, acp};
//! # let workspace = env!("CARGO_MANIFEST_DIR");
//! let settings = Settings::default().workspace(workspace);
//! let presets = Arc::new(Presets::shipped(&settings)?);
//! let service = PolicyService::load(settings)?;
//!
//! # let request = NewSessionRequest::new(workspace);
//! acp::refuse_additional(&request.additional_directories)?;
//! let options = service.session().name("s1").cwd(request.cwd).presets(Arc::clone(&presets));
//! let session = options.open().map_err(|error| acp::refusal(&error))?;
//! let mut modes = SessionModes::new(presets);
//! let answer = NewSessionResponse::new("s1").modes(modes.state(&session)?);
//!
//! modes.set(&session, &"workspace-write".into())?;
//! assert!(modes.set(&session, &"custom".into()).is_err());
//! # assert_eq!(answer.modes.map(|modes| modes.available_modes.len()), Some(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calls;
mod directories;
mod markdown;
mod modes;
mod permission;
mod refusal;

/// The protocol, in the version that this is made for.
pub use agent_client_protocol as protocol;
pub use calls::{call_begun, call_ended, call_running};
pub use directories::refuse_additional;
pub use modes::SessionModes;
pub use permission::PermissionRequests;
pub use refusal::refusal;
