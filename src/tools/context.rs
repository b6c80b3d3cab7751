//! What a host says of a call beside its arguments.

use ringfence_platform::Cancel;

/// What a host says of a call of a tool, beside what the model said.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// How the host names the call, for questions and the audit.
    pub call_id: Option<String>,
    /// Cancels the call while nothing is published.
    pub cancel: Cancel,
}
