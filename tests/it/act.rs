//! An operation of the case tables, done through a fence.

use std::ffi::OsString;

use ringfence_platform::{
    Cancel, Durability, Entry, ErrorKind, Fence, Follow, LinkText, Mutation, Parents, Precondition,
    Receipt, RelPath, Removal, RootedPath, Snapshot, Stat, Terms,
};

use crate::cases::{Args, Op, RenameFlag};

/// What a fence does not offer, and why.
pub(crate) const NOT_OFFERED: &[(&[Op], &str)] = &[
    (
        &[Op::LookupPartial],
        "how far a path goes is the fence's own business; its effect is seen by mkdir_all",
    ),
    (&[Op::ReadLink], "a fence follows links and tells no text"),
    (&[Op::HardLink], "a second name would make a file writable under other rights"),
    (
        &[Op::Chmod, Op::Chown, Op::SetTimes, Op::SetXattr],
        "Landlock does not mediate changes of metadata, so a fence makes none",
    ),
    (
        &[Op::MakeFifo, Op::MakeBlockDevice, Op::MakeCharDevice],
        "a fence makes regular files, directories and symlinks",
    ),
    (&[Op::Run], "commands go through a runner, not through a fence"),
];

/// The bytes that every write of these tests leaves.
pub(crate) const CONTENTS: &[u8] = b"the new contents";

/// What an operation gave back.
#[derive(Debug)]
pub(crate) enum Outcome {
    Seen(Stat),
    Opened(Snapshot),
    Listed(Vec<Entry>),
    Done(Receipt),
}

impl Outcome {
    pub(crate) fn names(&self) -> Vec<OsString> {
        match self {
            Self::Listed(entries) => entries.iter().map(|entry| entry.name.clone()).collect(),
            Self::Seen(_) | Self::Opened(_) | Self::Done(_) => Vec::new(),
        }
    }
}

/// Does `op` on `path` beneath the first root of `fence`.
///
/// A path or a text that cannot be made into one that a fence takes is refused as the fence's
/// types refuse it.
#[expect(clippy::wildcard_enum_match_arm, reason = "what does not read is a mutation, or fails")]
pub(crate) fn perform(
    fence: &dyn Fence,
    op: Op,
    path: &str,
    args: &Args,
) -> Result<Outcome, ErrorKind> {
    let path = beneath(fence, path)?;
    let kind = |error: ringfence_platform::Error| error.kind();
    let stat = |follow| match fence.stat(&path, follow) {
        Ok(stat) if stat.found.is_none() => Err(ErrorKind::NotFound),
        Ok(stat) => Ok(Outcome::Seen(stat)),
        Err(error) => Err(error.kind()),
    };
    match op {
        Op::Lookup | Op::Stat if args.nofollow => stat(Follow::No),
        Op::Lookup | Op::Stat => stat(Follow::Yes),
        Op::Lstat => stat(Follow::No),
        Op::Open => fence.open(&path).map(Outcome::Opened).map_err(kind),
        Op::OpenDir | Op::List => {
            fence.list(&path, &Cancel::never()).map(Outcome::Listed).map_err(kind)
        }
        _ => change(fence, mutation(fence, op, &path, args)?),
    }
}

/// `path` beneath the first root of `fence`.
pub(crate) fn beneath(fence: &dyn Fence, path: &str) -> Result<RootedPath, ErrorKind> {
    let root = fence.roots().iter().next().expect("a fence has a root").id();
    match RelPath::new(path) {
        Ok(path) => Ok(RootedPath::new(root, path)),
        Err(error) => Err(error.kind()),
    }
}

/// Whether `path` is spelled so that a fence, which takes plain names only, may refuse it for that.
pub(crate) fn is_spelled_oddly(path: &str) -> bool {
    path.is_empty()
        || path.starts_with('/')
        || path.ends_with('/')
        || path == "."
        || path.ends_with("/.")
        || path.split('/').any(|name| name == "..")
}

/// What the fence says beforehand of a change, where it does and `op` is one.
pub(crate) fn rehearse(
    fence: &dyn Fence,
    op: Op,
    path: &str,
    args: &Args,
) -> Option<Result<(), ErrorKind>> {
    let reads = [Op::Lookup, Op::Stat, Op::Lstat, Op::Open, Op::OpenDir, Op::List];
    let path = beneath(fence, path).ok().filter(|_| !reads.contains(&op))?;
    let mutation = mutation(fence, op, &path, args).ok()?;
    match fence.rehearse(&mutation).map(drop).map_err(|error| error.kind()) {
        Err(ErrorKind::Unsupported) => None,
        said => Some(said),
    }
}

/// Makes one change without syncing it, which no test of verdicts needs.
pub(crate) fn change(fence: &dyn Fence, mutation: Mutation) -> Result<Outcome, ErrorKind> {
    let terms = Terms { durability: Durability::None, ..Terms::default() };
    fence.apply(mutation, &terms).map(Outcome::Done).map_err(|error| error.kind())
}

/// The mutation that does `op`.
#[expect(clippy::wildcard_enum_match_arm, reason = "an operation without a mutation fails")]
fn mutation(
    fence: &dyn Fence,
    op: Op,
    path: &RootedPath,
    args: &Args,
) -> Result<Mutation, ErrorKind> {
    let path = path.clone();
    let write = |path, when| Mutation::Write {
        path,
        contents: CONTENTS.to_vec(),
        when,
        parents: Parents::Require,
    };
    Ok(match op {
        Op::CreateNew => write(path, Precondition::Absent),
        Op::Create if args.exclusive => write(path, Precondition::Absent),
        Op::Create | Op::CreateTruncate | Op::Write | Op::Replace => {
            write(path, Precondition::None)
        }
        Op::Mkdir => Mutation::CreateDir { path, parents: Parents::Require },
        Op::MkdirAll => Mutation::CreateDir { path, parents: Parents::Create },
        Op::RemoveFile => Mutation::Remove { path, what: Removal::File },
        Op::RemoveDir => Mutation::Remove { path, what: Removal::EmptyDir },
        Op::RemoveAll => Mutation::Remove { path, what: Removal::Tree },
        Op::Symlink => {
            let text = args.text.as_deref().expect("a link has a text");
            let text = LinkText::new(text).map_err(|error| error.kind())?;
            Mutation::Symlink { path, text }
        }
        Op::Rename => {
            let to = beneath(fence, args.to.as_deref().expect("a rename has a new name"))?;
            match args.flag {
                None => Mutation::Rename { from: path, to, when: Precondition::None },
                Some(RenameFlag::NoReplace) => {
                    Mutation::Rename { from: path, to, when: Precondition::Absent }
                }
                Some(RenameFlag::Exchange) => Mutation::Exchange { first: path, second: to },
                Some(RenameFlag::Whiteout) => panic!("a fence leaves no whiteouts"),
            }
        }
        _ => panic!("no mutation does {op}"),
    })
}
