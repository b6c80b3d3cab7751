//! Which process this is, so that a child made by `fork(2)` does not take itself for its parent.

use std::os::unix::fs::MetadataExt;

/// What tells a process from its children: its id, and the PID namespace that the id is of. A child
/// in a namespace of its own can have the id of its parent.
pub(crate) type Process = (u32, u64);

pub(crate) fn this_process() -> Process {
    let namespace = std::fs::metadata("/proc/self/ns/pid");
    (std::process::id(), namespace.map_or(0, |namespace| namespace.ino()))
}
