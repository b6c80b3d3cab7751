//! How hard a boundary is: what is asked for, and what was seen.

/// Who holds the boundary, weakest first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Enforcement {
    /// Nobody.
    Unfenced,
    /// This process, which pins a directory and then proves where it is. A concurrent writer with
    /// the same rights can still move that directory after the proof. The least that an opened
    /// fence has, so the default of what is required.
    #[default]
    Checked,
    /// The kernel, which refuses to resolve a path outside the root (`openat2`, `RESOLVE_BENEATH`).
    Kernel,
    /// The acting thread has also given up the right to write anywhere else (Landlock), so the
    /// kernel refuses even what was resolved wrongly.
    Confined,
}

/// Who resolves a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Resolution {
    /// The kernel: `openat2` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`.
    Openat2,
    /// This process, name by name from descriptor to descriptor, with a proof at the end.
    Walk,
}

/// What confines the thread that acts.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Confinement {
    /// Nothing: changes are made on the caller's thread.
    Nothing,
    /// A Landlock domain over every right to change files.
    Landlock,
}

/// What is known not to be held. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Gap {
    /// A root is, or contains, a bind mount: a directory that is moved away on the other side of
    /// the mount still counts as beneath it.
    BindRoot,
    /// The mounts beneath the roots could not be read, so there may be bind mounts.
    MountsUnknown,
    /// The confinement could not be seen to hold: a root covers `/dev/null`, or there is none.
    Unproved,
    /// The kernel does not resolve beneath a directory here (`openat2`).
    NoOpenat2,
    /// The acting thread is not confined (Landlock).
    NoLandlock,
}

/// What a fence was seen to hold when it was opened.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Assurance {
    /// The level that may be claimed.
    pub level: Enforcement,
    /// Who resolves paths.
    pub resolution: Resolution,
    /// What confines the acting thread. It is used even where `level` cannot claim it.
    pub confinement: Confinement,
    /// The version of the Landlock that confines.
    pub landlock_abi: Option<i32>,
    /// Why `level` is not higher.
    pub gaps: Vec<Gap>,
}

/// How a fence is to be opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// The weakest enforcement that is accepted.
    pub at_least: Enforcement,
    /// Whether a path that crosses from one mount to another beneath a root is refused
    /// (`RESOLVE_NO_XDEV`), as an [`Escape`](crate::ErrorKind::Escape). Where the kernel does not
    /// tell which mount a place is on (before Linux 5.8), what is there is
    /// [`Unsupported`](crate::ErrorKind::Unsupported).
    pub no_xdev: bool,
}
