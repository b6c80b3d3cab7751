//! What a host says of a call beside its arguments.

use std::fmt;
use std::sync::Arc;

use ringfence_platform::Cancel;
use ringfence_platform::process::Stream;

use crate::shell::Listener;

/// What a host says of a call of a tool, beside what the model said.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// How the host names the call, for questions and the audit.
    pub call_id: Option<String>,
    /// Cancels the call while nothing is published.
    pub cancel: Cancel,
    /// Is told what a command writes while the call waits for it.
    pub listener: Option<OutputListener>,
}

/// Is told what a command writes, piece by piece as it comes.
#[derive(Clone)]
pub struct OutputListener(Listener);

impl OutputListener {
    /// A listener that is called by the thread of the call. While it is busy the command waits too,
    /// once a pipe is full.
    pub fn new(listener: impl Fn(Stream, &[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    pub(super) fn into_inner(self) -> Listener {
        self.0
    }
}

impl fmt::Debug for OutputListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OutputListener(..)")
    }
}
