//! The trusted base of ringfence: race-free changes beneath a set of directories.
//!
//! A [`Fence`] is opened on [`Roots`] and makes one [`Mutation`] at a time beneath them. Paths are
//! resolved in the call that acts, by the kernel where it can (`openat2`, `RESOLVE_BENEATH`), and
//! on a thread that Landlock keeps from writing anywhere else. [`Fence::assurance`] says what the
//! host really gave, proved by effect when the fence was opened.
//!
//! Nothing here decides *whether* a change may be made. That is the policy's work, one crate up.

mod assurance;
mod cancel;
mod confine;
mod dir;
mod error;
mod fence;
mod held;
mod host;
mod local;
mod locks;
mod mutate;
mod mutation;
mod own_process;
mod path;
mod pending;
pub mod process;
mod protect;
mod resolve;
mod roots;
mod stat;
#[cfg(not(target_os = "linux"))]
mod unsupported;

pub use assurance::{Assurance, Confinement, Enforcement, Gap, Options, Resolution};
pub use cancel::Cancel;
pub use error::{Error, ErrorKind, Result};
pub use fence::Fence;
pub use host::{AmbientAuthority, Offer, ambient_authority, open, survey, unfenced};
pub use mutation::{
    Cas, Digest, Durability, Effect, Hasher, Lost, Mutation, Parents, Precondition, Receipt,
    Removal, Terms,
};
pub use path::{LinkText, RelPath, RootedPath};
pub use pending::Pending;
pub use roots::{Root, RootId, Roots};
pub use stat::{Entry, Follow, Kind, Snapshot, Stamp, Stat, TargetKey};
