//! A directory held open, and the calls that take a single name in it.
//!
//! [`Dir`] is where the system is called. Each method takes [`Name`](crate::path::Name)s, so none
//! of them can walk: the kernel looks one entry up in one directory, follows nothing, and acts.
//! What is called on a `Dir` therefore happens in that directory, wherever it is by then; whether
//! it may still be there is what the Landlock domain of the calling thread decides.
//!
//! Every open is non-blocking, never takes a terminal, and is closed on `exec`.

mod carry;
mod unix;

pub(crate) use carry::{Carried, Old, shed_acl};
pub(crate) use unix::{Dir, DirLock, Hold, Meta, Onto, READ, Spot, mount_id, place};
