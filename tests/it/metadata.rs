//! What a new file gets, what a replaced one keeps, and what is told where it cannot.

mod acl;
mod attributes;
mod mode;
mod owner;
mod refused;
mod scratch;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringfence_platform::{
    Durability, Error, Fence, Mutation, Parents, Precondition, Receipt, RelPath, Result,
    RootedPath, Terms,
};

use crate::support::{as_user, is_root, say};

/// What everything that is written begins with.
const NEW: &[u8] = b"new";

/// A user and a group that no process here runs as.
const SOMEBODY: u32 = 54_321;
const SOME_GROUP: u32 = 54_322;

fn at(fence: &dyn Fence, path: &str) -> RootedPath {
    let root = fence.roots().iter().next().expect("a fence has a root").id();
    RootedPath::new(root, RelPath::new(path).unwrap())
}

/// Makes a change, of which a rehearsal says before what comes of it.
fn apply(fence: &dyn Fence, mutation: Mutation) -> Result<Receipt> {
    let can_be_rehearsed = matches!(mutation, Mutation::Write { .. });
    let rehearsed = can_be_rehearsed.then(|| fence.rehearse(&mutation));
    let made = fence.apply(mutation, &Terms { durability: Durability::None, ..Terms::default() });
    if let Some(rehearsed) = rehearsed {
        let made = made.as_ref().map(drop).map_err(Error::kind);
        assert_eq!(rehearsed.map(drop).map_err(|error| error.kind()), made, "as it was rehearsed");
    }
    made
}

fn write(fence: &dyn Fence, path: &str, when: Precondition) -> Result<Receipt> {
    let path = at(fence, path);
    // What is there already would not be written.
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_string();
    let contents = [NEW, number.as_bytes()].concat();
    apply(fence, Mutation::Write { path, contents, when, parents: Parents::Create })
}

/// Both ways to replace the file at `path`: blindly, and by what is there.
fn replacements(fence: &dyn Fence, path: &str) -> [Precondition; 2] {
    let stamp = fence.open(&at(fence, path)).unwrap().stamp;
    [Precondition::Matches { stamp, digest: None }, Precondition::None]
}

/// What the receipt says was not kept, by name.
fn lost(receipt: &Receipt) -> Vec<String> {
    let mut tokens: Vec<_> = receipt.not_kept.iter().map(ToString::to_string).collect();
    tokens.sort_unstable();
    tokens
}

fn mode_of(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs `body` as this user and, if that is root, as an ordinary one too.
fn as_root_and_user(test: &str, body: impl Fn()) {
    if is_root() {
        body();
    }
    as_user(test, body);
}

/// Runs `body` if this is root, and says so if it is not.
fn as_root(test: &str, body: impl FnOnce()) {
    if is_root() {
        body();
    } else {
        say(format_args!("left out: {test}: not run as root"));
    }
}
