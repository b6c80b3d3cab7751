//! A reader sees all of the old file or all of the new one, no update is lost, and nothing is left
//! behind.

mod foreign;
mod increments;
mod killed;
mod leftovers;
mod readers;
mod unchanged;

use std::io::Read;
use std::path::Path;

use ringfence_platform::{
    Digest, Durability, ErrorKind, Fence, Mutation, Parents, Precondition, Receipt, RelPath,
    Result, RootedPath, Terms,
};

/// The terms of nearly every change here. What is on the disk after a crash is not tested.
fn quick() -> Terms {
    Terms { durability: Durability::None, ..Terms::default() }
}

fn at(fence: &dyn Fence, path: &str) -> RootedPath {
    let root = fence.roots().iter().next().expect("a fence has a root").id();
    RootedPath::new(root, RelPath::new(path).unwrap())
}

fn write(fence: &dyn Fence, path: &str, contents: &[u8], when: Precondition) -> Result<Receipt> {
    let path = at(fence, path);
    let contents = contents.to_vec();
    fence.apply(Mutation::Write { path, contents, when, parents: Parents::Require }, &quick())
}

/// The bytes at `path`, and the precondition that they are still there.
fn read(fence: &dyn Fence, path: &str) -> (Vec<u8>, Precondition) {
    let mut snapshot = fence.open(&at(fence, path)).unwrap();
    let mut bytes = Vec::new();
    snapshot.file.read_to_end(&mut bytes).unwrap();
    let digest = Some(Digest::of(&bytes));
    (bytes, Precondition::Matches { stamp: snapshot.stamp, digest })
}

/// Replaces what is at `path` by what `change` makes of it, however often that takes.
fn update(fence: &dyn Fence, path: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> Receipt {
    loop {
        let (bytes, unchanged) = read(fence, path);
        match write(fence, path, &change(bytes), unchanged) {
            Ok(receipt) => return receipt,
            Err(error) if error.kind() == ErrorKind::Stale => {
                assert_eq!(error.stranded(), None, "there are no foreign writers here");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

fn is_scratch(name: &str) -> bool {
    name.starts_with(".ringfence-")
}

/// Contents that tell whether they are whole: a size, and that many bytes which depend on it.
fn whole(size: usize) -> Vec<u8> {
    let mut bytes = format!("{size:8}\n").into_bytes();
    bytes.resize(bytes.len() + size, filler(size));
    bytes
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some((head, body)) = bytes.split_at_checked(9) else { return false };
    let size = std::str::from_utf8(head).ok().and_then(|head| head.trim().parse().ok());
    size == Some(body.len()) && body.iter().all(|&byte| byte == filler(body.len()))
}

fn filler(size: usize) -> u8 {
    u8::try_from(size % 251).expect("it is less than 251")
}
