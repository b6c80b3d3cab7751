//! How long a command may take, and how much it may write.

use std::time::Duration;

/// How long a command may take, and how much of what it writes is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ShellLimits {
    /// How long a command may take that says nothing of it: 120 s.
    pub timeout: Duration,
    /// How long it may take at most, whatever it says: 600 s.
    pub max_timeout: Duration,
    /// How long it has between `SIGTERM` and `SIGKILL`: 3 s.
    pub grace: Duration,
    /// How many bytes of each stream are kept in memory, the last ones: 64,000.
    pub max_output_bytes: usize,
    /// How many bytes of each stream are kept in a file: 67,108,864.
    pub max_spill_bytes: u64,
}

impl Default for ShellLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(600),
            grace: Duration::from_secs(3),
            max_output_bytes: 64_000,
            max_spill_bytes: 67_108_864,
        }
    }
}
