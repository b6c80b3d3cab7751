//! After `fork(2)` the child's fence refuses every change at once, and the parent's goes on.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::unistd::ForkResult;
use ringfence_platform::{
    Cancel, Digest, Durability, ErrorKind, Fence, Follow, Mutation, Parents, Precondition, RelPath,
    RootedPath, Roots, Terms,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions};

use crate::act::beneath;
use crate::cancel::Tries;
use crate::effort::rounds;
use crate::stop::StopOnDrop;
use crate::support::{
    FenceKind, Stage, Tree, file, in_own_process, offered, open_fence, this_test,
};

/// A child that has said nothing by then hangs.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a fence is forked in the middle of what it does.
const FORKS: usize = 40;

fn write(fence: &dyn Fence, path: &str) -> Mutation {
    let root = fence.roots().iter().next().expect("a fence has a root").id();
    let path = RootedPath::new(root, RelPath::new(path).unwrap());
    let (contents, when) = (b"new".to_vec(), Precondition::None);
    Mutation::Write { path, contents, when, parents: Parents::Require }
}

fn quick() -> Terms {
    Terms { durability: Durability::None, ..Terms::default() }
}

/// A forked process and the pipe by which it answers; killed when dropped.
struct Forked {
    child: Pid,
    answer: Option<OwnedFd>,
}

impl Drop for Forked {
    fn drop(&mut self) {
        rustix::process::kill_process(self.child, Signal::KILL).unwrap();
        rustix::process::waitpid(Some(self.child), WaitOptions::empty()).unwrap();
    }
}

/// Runs `child` in a forked process and returns what it answers, or nothing if it hangs.
pub(crate) fn forked(child: impl FnOnce() -> String) -> Option<String> {
    let mut forked = fork(child);
    answer_by(forked.answer.take().expect("nobody has asked yet"), Instant::now() + PATIENCE)
}

/// Runs `child` in a forked process.
#[expect(unsafe_code, reason = "no safe call forks, and what a fence does after it is a promise")]
fn fork(child: impl FnOnce() -> String) -> Forked {
    let (read, write) = rustix::pipe::pipe().unwrap();
    // SAFETY: the child runs `child` alone, which calls nothing but the library under test and
    // allocates: glibc and musl keep their allocators usable after a fork. It takes no lock of the
    // test harness, answers by the pipe, and ends by a signal without running anything else.
    match unsafe { nix::unistd::fork() }.unwrap() {
        ForkResult::Child => {
            drop(read);
            let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            let answer = answer.unwrap_or_else(|_| "panicked".to_owned());
            // If the parent has gone, nobody is there to be told.
            drop(std::fs::File::from(write).write_all(answer.as_bytes()));
            let this = rustix::process::getpid();
            rustix::process::kill_process(this, Signal::KILL).unwrap();
            unreachable!("it has killed itself");
        }
        ForkResult::Parent { child } => {
            drop(write);
            Forked { child: Pid::from_raw(child.as_raw()).unwrap(), answer: Some(read) }
        }
    }
}

/// All that comes out of the pipe until it is closed.
fn answer_by(pipe: OwnedFd, deadline: Instant) -> Option<String> {
    let mut answer = Vec::new();
    let mut file = std::fs::File::from(pipe);
    loop {
        let left = deadline.checked_duration_since(Instant::now())?;
        let left = left.try_into().expect("a minute fits");
        let mut fds = [PollFd::new(&file, PollFlags::IN)];
        if poll(&mut fds, Some(&left)).unwrap() == 0 {
            return None;
        }
        let mut piece = [0; 256];
        match file.read(&mut piece).unwrap() {
            0 => return Some(String::from_utf8(answer).unwrap()),
            length => answer.extend(&piece[..length]),
        }
    }
}

/// What a child says of the fence it inherited and of one that it opens.
fn in_the_child(inherited: &dyn Fence, kind: FenceKind, root: &Path) -> String {
    let says = |result: ringfence_platform::Result<_>| match result {
        Ok(_) => "made".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    let began = Instant::now();
    let refused = says(inherited.apply(write(inherited, "inherited"), &quick()));
    let submitted = {
        let pending = std::pin::pin!(inherited.submit(write(inherited, "inherited"), &quick()));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match pending.poll(&mut context) {
            std::task::Poll::Ready(result) => says(result),
            std::task::Poll::Pending => "pending".to_owned(),
        }
    };
    let at_once = if began.elapsed() < Duration::from_secs(1) { "at once" } else { "late" };
    let read = match inherited.open(&at_f(inherited)) {
        Ok(_) => "read".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    let own = open_fence(&Roots::open([root]).unwrap(), kind);
    let made = says(own.apply(write(own.as_ref(), "own"), &quick()));
    drop(own);
    format!("{refused} {submitted} {at_once}, {read}, {made}")
}

fn at_f(fence: &dyn Fence) -> RootedPath {
    let root = fence.roots().iter().next().expect("a fence has a root").id();
    RootedPath::new(root, RelPath::new("f").unwrap())
}

const RIGHT: &str = "ConfinementLost ConfinementLost at once, read, made";

#[test]
fn a_forked_child_is_refused_and_can_open_a_fence_of_its_own() {
    in_own_process(this_test!(), || {
        for kind in offered() {
            let stage = Stage::new(&Tree::inside([file("f", "old")]));
            let fence = open_fence(&stage.roots(), *kind);
            let fence = fence.as_ref();
            let answer = forked(|| in_the_child(fence, *kind, stage.root()));
            assert_eq!(answer.as_deref(), Some(RIGHT), "{kind}");
            assert!(!stage.root().join("inherited").exists(), "{kind}");
            assert!(stage.root().join("own").exists(), "{kind}");
            drop(fence.apply(write(fence, "after"), &quick()).unwrap());
        }
    });
}

/// The locks of the parent may be held at that moment, by threads that the child does not have.
#[test]
fn a_child_that_is_forked_in_the_middle_of_changes_does_not_hang() {
    in_own_process(this_test!(), || {
        for kind in offered() {
            let stage = Stage::new(&Tree::inside([file("f", "old")]));
            let fence = open_fence(&stage.roots(), *kind);
            let fence = fence.as_ref();
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let _stop = StopOnDrop(&stop);
                for _ in 0..2 {
                    scope.spawn(|| {
                        while !stop.load(Ordering::Relaxed) {
                            drop(fence.apply(write(fence, "f"), &quick()).unwrap());
                        }
                    });
                }
                for _ in 0..rounds(FORKS) {
                    let answer = forked(|| in_the_child(fence, *kind, stage.root()));
                    assert_eq!(answer.as_deref(), Some(RIGHT), "{kind}");
                }
            });
            assert!(!stage.root().join("inherited").exists(), "{kind}");
        }
    });
}

/// A child has the descriptors too, and with them what they hold locked.
#[test]
fn a_child_that_is_forked_while_a_directory_is_locked_does_not_keep_it_locked() {
    in_own_process(this_test!(), || {
        for kind in offered() {
            let stage = Stage::new(&Tree::inside([file("big", "")]));
            let path = stage.root().join("big");
            std::fs::File::options().write(true).open(&path).unwrap().set_len(BIG).unwrap();
            let fence = open_fence(&stage.roots(), *kind);
            let fence = fence.as_ref();
            let cancel = Cancel::new();
            let terms = Terms { cancel: cancel.clone(), ..quick() };
            let child = std::thread::scope(|scope| {
                let change = write_what_is_long(fence, "big");
                let reads = Tries::to_read(&path);
                let long = scope.spawn(move || fence.apply(change, &terms));
                // From now on it holds the lock, for as long as nobody calls it off.
                reads.wait();
                let child = fork(|| {
                    loop {
                        std::thread::park();
                    }
                });
                cancel.cancel();
                let error = long.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{kind}");
                child
            });
            for path in ["f", "g", "f"] {
                drop(fence.apply(write(fence, path), &quick()).unwrap());
            }
            drop(child);
        }
    });
}

/// More than is read in many seconds, and none of it on the disk.
const BIG: u64 = 1 << 33;

/// Replaces what is at `path` if it has certain bytes, which it has not.
fn write_what_is_long(fence: &dyn Fence, path: &str) -> Mutation {
    let path = beneath(fence, path).unwrap();
    let (_, stamp) = fence.stat(&path, Follow::No).unwrap().found.expect("it is there");
    let when = Precondition::Matches { stamp, digest: Some(Digest::of(b"other")) };
    Mutation::Write { path, contents: b"new".to_vec(), when, parents: Parents::Require }
}

#[test]
fn a_change_that_was_handed_over_before_is_lost_in_the_child_and_made_by_the_parent() {
    in_own_process(this_test!(), || {
        for kind in offered() {
            let stage = Stage::new(&Tree::inside([]));
            let fence = open_fence(&stage.roots(), *kind);
            let fence = fence.as_ref();
            let mut pending = std::pin::pin!(fence.submit(write(fence, "f"), &quick()));
            let mut says = || {
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                match pending.as_mut().poll(&mut context) {
                    std::task::Poll::Ready(Ok(_)) => "made".to_owned(),
                    std::task::Poll::Ready(Err(error)) => format!("{:?}", error.kind()),
                    std::task::Poll::Pending => "pending".to_owned(),
                }
            };
            let answer = forked(&mut says).expect("the child does not hang");
            let confined = kind.confinement == ringfence_platform::Confinement::Landlock;
            // Without a thread it was made before the fork.
            assert_eq!(answer, if confined { "ConfinementLost" } else { "made" }, "{kind}");
            let began = Instant::now();
            while !stage.root().join("f").exists() {
                assert!(began.elapsed() < PATIENCE, "{kind}: the parent does not go on");
                std::thread::yield_now();
            }
        }
    });
}
