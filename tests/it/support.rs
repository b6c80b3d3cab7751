//! What the tests stand on: a stage to act on, pictures of it before and after, every fence the
//! host offers, and a way to run a test again under other circumstances.

mod approver;
mod attacker;
mod base;
mod child;
mod fences;
pub(crate) mod filter;
mod host;
mod runners;
mod sessions;
mod snapshot;
mod told;
mod tree;

pub(crate) use approver::Person;
pub(crate) use attacker::while_exchanging;
pub(crate) use base::{Base, open_dir};
pub(crate) use child::{as_user, in_own_process, left_out, test_name, this_test, with_own_mounts};
pub(crate) use fences::{
    FenceKind, each_fence, each_fence_on, fence_on, fences_on, offered, open_fence, open_fence_with,
};
pub(crate) use host::{LeftOut, Needs, is_root, memory, report, say};
pub(crate) use runners::runs_commands;
pub(crate) use sessions::{builder_in, each_session_on, session_in};
pub(crate) use snapshot::{Effect, NodeKind, Snapshot};
pub(crate) use told::{told_by, told_in_full_by};
pub(crate) use tree::{Entry, Stage, Tree, dir, fifo, file, hard, link, mode, sock, tmpfs};
