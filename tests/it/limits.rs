//! Limits of the process: what is refused for want of something is no weaker fence, and no end of
//! the process.

use std::os::fd::OwnedFd;

use ringfence_platform::{
    Confinement, Durability, Enforcement, ErrorKind, Fence, Mutation, Options, Parents,
    Precondition, Terms, open,
};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::act::beneath;
use crate::support::{
    FenceKind, Stage, Tree, dir, each_fence_on, file, in_own_process, offered, say, this_test,
};

/// More descriptors than opening a fence takes.
const ENOUGH: usize = 24;

/// Every descriptor that the process may have, and those that were left already.
fn take_all() -> Vec<OwnedFd> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(128), ..limit }).unwrap();
    let mut taken = Vec::new();
    loop {
        match rustix::io::fcntl_dupfd_cloexec(std::io::stderr(), 0) {
            Ok(fd) => taken.push(fd),
            Err(errno) => {
                assert_eq!(errno, Errno::MFILE);
                return taken;
            }
        }
    }
}

#[test]
fn without_descriptors_no_weaker_fence_takes_the_place_of_the_strongest() {
    in_own_process(this_test!(), || {
        let [strongest, _, ..] = offered() else {
            return say("left out: a weaker fence for want of descriptors: there is only one");
        };
        let stage = Stage::new(&Tree::inside([]));
        let roots = stage.roots();
        let weakest = Options { at_least: Enforcement::Checked, ..Options::default() };
        assert_eq!(FenceKind::of(open(&roots, weakest).unwrap().as_ref()), *strongest);
        let mut taken = take_all();
        let mut opened = 0;
        for left in 0..=ENOUGH {
            match open(&roots, weakest) {
                Ok(fence) => {
                    let kind = FenceKind::of(fence.as_ref());
                    assert_eq!(kind, *strongest, "with {left} descriptors");
                    opened += 1;
                }
                Err(error) => assert_ne!(error.kind(), ErrorKind::TooWeak, "{left}: {error:?}"),
            }
            drop(taken.pop());
        }
        assert!(opened > 0 && opened <= ENOUGH, "{opened} of {ENOUGH}: there was no limit");
    });
}

fn write(
    fence: &dyn Fence,
    path: &str,
    size: u64,
) -> ringfence_platform::Result<ringfence_platform::Receipt> {
    let (path, when) = (beneath(fence, path).unwrap(), Precondition::None);
    let contents = vec![b'x'; usize::try_from(size).unwrap()];
    let write = Mutation::Write { path, contents, when, parents: Parents::Create };
    fence.apply(write, &Terms { durability: Durability::None, ..Terms::default() })
}

/// By default the kernel ends a process that writes beyond its limit, by a signal.
#[test]
fn a_file_beyond_the_limit_of_the_process_is_an_error_where_a_thread_of_the_fence_acts() {
    const MOST: u64 = 10_000;
    in_own_process(this_test!(), || {
        if !offered().iter().any(|kind| kind.confinement == Confinement::Landlock) {
            return say("left out: a file beyond the limit: no fence has a thread of its own");
        }
        let limit = getrlimit(Resource::Fsize);
        let tree = Tree::inside([file("f", "old"), dir("d")]);
        each_fence_on(&tree, |stage, fence| {
            if fence.assurance().confinement == Confinement::Nothing {
                return;
            }
            let before = stage.snapshot();
            setrlimit(Resource::Fsize, Rlimit { current: Some(MOST), ..limit }).unwrap();
            for path in ["f", "new", "d/new"] {
                let error = write(fence, path, MOST + 1).unwrap_err();
                assert_eq!((error.kind(), error.remains()), (ErrorKind::Io, false), "{error:?}");
                stage.assert_unchanged_but_times_of_dirs(&before);
            }
            let error = write(fence, "made/f", MOST + 1).unwrap_err();
            assert_eq!((error.kind(), error.remains()), (ErrorKind::Io, true), "{error:?}");
            // What is within the limit is written as ever.
            drop(write(fence, "f", MOST).unwrap());
            setrlimit(Resource::Fsize, limit).unwrap();
            assert_eq!(stage.root().join("f").metadata().unwrap().len(), MOST);
        });
    });
}
