//! What a server is given by whoever starts it.

use std::fmt;
use std::sync::Arc;

use ringfence::{PolicyService, Root, ToolSet};

/// What is done before a call.
pub(crate) type Refresh = Box<dyn Fn() + Send + Sync>;

/// What a server serves, to one client.
pub(crate) struct Options {
    /// The policy that all calls are judged by.
    pub(crate) service: Arc<PolicyService>,
    /// The tools that the client is offered.
    pub(crate) tools: ToolSet,
    /// Whether the client has a say in where the calls act.
    pub(crate) client_roots: ClientRoots,
    /// Where a root of the client may lie, beside the workspace of the service: these directories,
    /// whatever their names lead to later.
    pub(crate) allowed: Vec<Root>,
    /// What is done before each call, on a thread that may wait.
    pub(crate) refresh: Option<Refresh>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, tools, client_roots, allowed, refresh: _ } = self;
        f.debug_struct("Options")
            .field("service", service)
            .field("tools", tools)
            .field("client_roots", client_roots)
            .field("allowed", allowed)
            .finish_non_exhaustive()
    }
}

/// What becomes of the roots that a client names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ClientRoots {
    /// The first that the operator allows is where the calls act.
    Honoured,
    /// The calls act in the workspace of the service.
    Ignored,
}
