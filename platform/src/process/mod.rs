//! Commands that can change files only beneath the same roots as a fence, and how surely.

mod begin;
mod bwrap;
mod child;
mod command;
mod descent;
mod domain;
mod entry;
mod handover;
mod interrupts;
mod landlock;
mod mounts;
mod namespace;
mod plan;
mod probe;
mod proven;
mod records;
mod report;
mod rights;
mod seatbelt;
mod spawn;
mod spill;
mod supervisor;
mod tree;

pub use child::{Child, Ended, Happened, KernelDenial, Killer, Stream};
pub use command::{Command, Network, Restrictions, SAFE_DEVICES, Streams, Workdir};
pub use interrupts::leave_interrupts_to_the_command;
pub use plan::{Plan, Runners, SpawnError, unconfined};
pub use report::{
    Cause, Held, NoRunner, NotCovered, PassedOver, Runner, ShellEnforcement, ShellGap,
    kernel_release,
};
pub use rights::may_write;
pub use spill::SpillFile;

#[cfg(test)]
mod tests;
