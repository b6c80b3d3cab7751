//! Changes that are called off, and changes that are handed over without waiting for them.

mod submit;
mod waiting;

use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use ringfence_platform::{
    Cancel, Digest, Durability, ErrorKind, Fence, Mutation, Parents, Precondition, RelPath,
    Removal, RootedPath, Terms,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{CWD, FlockOperation, flock};
use rustix::io::Errno;

use crate::support::{Tree, dir, each_fence_on, file, link, open_dir};

/// Longer than a change may go on that has been called off.
const PATIENCE: Duration = Duration::from_secs(8);

fn terms(cancel: &Cancel) -> Terms {
    Terms { cancel: cancel.clone(), durability: Durability::None, at: None }
}

fn at(fence: &dyn Fence, path: &str) -> RootedPath {
    let root = fence.roots().iter().next().expect("a fence has a root").id();
    RootedPath::new(root, RelPath::new(path).unwrap())
}

fn write(fence: &dyn Fence, path: &str, when: Precondition) -> Mutation {
    let path = at(fence, path);
    Mutation::Write { path, contents: b"new".to_vec(), when, parents: Parents::Require }
}

fn make_dir(fence: &dyn Fence, path: &str) -> Mutation {
    Mutation::CreateDir { path: at(fence, path), parents: Parents::Require }
}

/// Replaces what is at `path` now.
fn replace(fence: &dyn Fence, path: &str) -> Mutation {
    let mut snapshot = fence.open(&at(fence, path)).unwrap();
    let mut bytes = Vec::new();
    snapshot.file.read_to_end(&mut bytes).unwrap();
    let digest = Some(Digest::of(&bytes));
    write(fence, path, Precondition::Matches { stamp: snapshot.stamp, digest })
}

fn tree() -> Tree {
    Tree::inside([file("d/f", "old"), link("out", "../out")]).outside([dir("out")])
}

/// Keeps every change of the directory waiting, until it is dropped.
pub(crate) fn lock(dir: &Path) -> OwnedFd {
    let fd = open_dir(CWD, dir).unwrap();
    flock(&fd, FlockOperation::LockExclusive).unwrap();
    fd
}

/// Sees changes come as far as a directory. They are not there all the time: they come again and
/// again until nobody has locked it.
#[derive(Debug)]
pub(crate) struct Tries(OwnedFd);

impl Tries {
    pub(crate) fn at(dir: &Path) -> Self {
        Self::watch(dir, WatchFlags::CLOSE_NOWRITE)
    }

    /// As [`at`](Self::at), but those that come as far as reading a file.
    pub(crate) fn to_read(file: &Path) -> Self {
        Self::watch(file, WatchFlags::ACCESS)
    }

    fn watch(path: &Path, what: WatchFlags) -> Self {
        let seen = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&seen, path, what).unwrap();
        Self(seen)
    }

    /// Returns once a change has held the directory and let it go, or has read of the file.
    pub(crate) fn wait(&self) {
        let deadline = Instant::now() + PATIENCE;
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        loop {
            match events.next() {
                // The others are about files in it.
                Ok(event) if event.file_name().is_none() => return,
                Ok(_) => {}
                Err(Errno::AGAIN) => {
                    let left = deadline.checked_duration_since(Instant::now());
                    let left = left.expect("no change comes as far as the directory");
                    let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
                    poll(&mut fds, Some(&left.try_into().unwrap())).unwrap();
                }
                Err(errno) => panic!("{errno}"),
            }
        }
    }
}

#[test]
fn a_change_that_is_cancelled_before_it_begins_is_refused_before_anything_else() {
    each_fence_on(&tree(), |stage, fence| {
        let cancel = Cancel::new();
        cancel.clone().cancel();
        let before = stage.snapshot();
        let changes = [
            write(fence, "d/f", Precondition::None),
            write(fence, "d/f", Precondition::Absent),
            write(fence, "out/f", Precondition::None),
            write(fence, "missing/f", Precondition::None),
            make_dir(fence, "new"),
            make_dir(fence, "d/f"),
            Mutation::Remove { path: at(fence, "d"), what: Removal::Tree },
            Mutation::Exchange { first: at(fence, "d/f"), second: at(fence, "missing") },
        ];
        for change in changes {
            let shown = format!("{change:?}");
            let error = fence.apply(change, &terms(&cancel)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{shown}");
        }
        stage.assert_unchanged(&before);
    });
}

#[test]
fn a_token_cancels_only_what_it_was_given_to() {
    each_fence_on(&tree(), |_, fence| {
        let (one, other) = (Cancel::new(), Cancel::new());
        one.cancel();
        Cancel::never().cancel();
        for cancel in [&other, &Cancel::never()] {
            assert!(!cancel.is_cancelled());
            let change = write(fence, "d/f", Precondition::None);
            drop(fence.apply(change, &terms(cancel)).unwrap());
        }
    });
}
