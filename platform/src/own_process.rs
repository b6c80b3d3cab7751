//! Which process this is, so that a child made by `fork(2)` does not take itself for its parent.

use std::os::unix::fs::MetadataExt;

/// What tells a process from its children: its id and, for the first process of a PID namespace,
/// whose parent can be the first of another, that namespace. To ask for the namespace takes longer
/// than many a change, so nobody else does.
pub(crate) type Process = (u32, u64);

pub(crate) fn this_process() -> Process {
    let id = std::process::id();
    let first = (id == 1).then(|| std::fs::metadata("/proc/self/ns/pid").ok()).flatten();
    (id, first.map_or(0, |namespace| namespace.ino()))
}
