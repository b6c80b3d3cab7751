//! Which calls to the file system each change makes, and what for.
//!
//! The sequences are the smallest that are safe; each check beyond them has a line of its own here.
//! A call more is slower for everybody, a call less is a check that is gone.

use std::io::Read;
use std::sync::atomic::{AtomicU8, Ordering};

use ringfence_platform::{
    Confinement, Digest, Durability, Fence, Mutation, Parents, Precondition, RelPath, Removal,
    Resolution, RootedPath, Roots, Terms,
};
use rustix::fs::{Access, Mode};
use rustix::process::umask;

use crate::actor;
use crate::strace;
use crate::support::{FenceKind, Stage, Tree, file, offered, open_fence, say, this_test};

/// The fence that is counted: the kernel resolves, and the caller's thread acts.
const COUNTED: FenceKind =
    FenceKind { resolution: Resolution::Openat2, confinement: Confinement::Nothing };

/// How the calls between two marks are told from all others.
const MARK: &str = "/ringfence-budget";

/// Calls that are about memory, threads and time, and not about files; and the question whether a
/// descriptor is open that std asks before it closes one, in a build with debug assertions.
const NOT_COUNTED: &[&str] = &[
    "brk",
    "clock_gettime",
    "fcntl",
    "futex",
    "getpid",
    "getrandom",
    "madvise",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "rt_sigprocmask",
    "sched_yield",
];

/// One call, and what it is for.
type Step = (&'static str, &'static str);

// What any way needs that is safe.
const PIN: Step = ("openat2", "pins the directory");
const LOOK: Step = ("newfstatat", "what is there: a regular file, its mode and owner");
const MAKE: Step = ("openat", "the new file");
const WRITE: Step = ("write", "the content");
const CLOSE_NEW: Step = ("close", "the new file");
const UNPIN: Step = ("close", "the directory");
const OPEN: Step = ("openat", "the file that is compared");
const CONTENTS: Step = ("read", "its bytes");
const DIGEST: Step = ("pread64", "its bytes");
const END: Step = ("pread64", "that these were all");
const CLOSE: Step = ("close", "the file that is compared");

// What the checks of the contract add.
const KEY: Step = ("fstat", "which directory it is: key of the lock and of the receipt");
const OLD: Step = ("openat", "the old file, for what it has to hand on");
const MAY_WRITE: Step = ("faccessat2", "the caller's own right to write it");
const OTHER_BYTES: Step = ("pread64", "that it has not these bytes already");
const ATTRIBUTES: Step = ("flistxattr", "attributes of the old file");
const INHERITED: Step = ("flistxattr", "a list that the new file got from the directory");
const OWNER: Step = ("fstat", "owner, group and mode of the new file");
const AFTER: Step = ("fstat", "the stamp for the receipt");
const LOOK_AFTER: Step = ("newfstatat", "the stamp for the receipt");
const CLOSE_OLD: Step = ("close", "the old file");
const LOCK: Step = ("flock", "keeps other processes of ours out of the directory");
const UNLOCK: Step = ("flock", "lets them in, though a child of fork(2) holds the descriptor too");
const OURS: Step = ("newfstatat", "which file is ours, before the exchange");
const CAME_OUT: Step = ("newfstatat", "which file came out of the exchange");
const NOT_DANGLING: Step = ("newfstatat", "that it is missing, and no link that dangles");

/// A thing to do, and the calls that it may take.
struct Budget {
    name: &'static str,
    what: What,
    steps: &'static [Step],
}

enum What {
    Read,
    Change(fn(&dyn Fence) -> Mutation),
}

/// In this order each finds what it needs.
const BUDGETS: &[Budget] = &[
    Budget {
        name: "read",
        what: What::Read,
        steps: &[PIN, ("fstat", "that it is a regular file, and its stamp"), CONTENTS, CLOSE],
    },
    Budget {
        name: "replace",
        what: What::Change(|fence| write(fence, FILE, Precondition::None)),
        steps: &[
            PIN,
            KEY,
            LOCK,
            LOOK,
            OLD,
            MAY_WRITE,
            OTHER_BYTES,
            ATTRIBUTES,
            MAKE,
            INHERITED,
            OWNER,
            WRITE,
            ("renameat", "publishes"),
            AFTER,
            CLOSE_NEW,
            CLOSE_OLD,
            UNLOCK,
            UNPIN,
        ],
    },
    Budget {
        name: "replace-what-was-read",
        what: What::Change(|fence| write(fence, FILE, read(fence))),
        steps: &[
            PIN,
            KEY,
            LOCK,
            LOOK,
            OLD,
            DIGEST,
            END,
            MAY_WRITE,
            OTHER_BYTES,
            ATTRIBUTES,
            MAKE,
            INHERITED,
            OWNER,
            WRITE,
            OURS,
            ("renameat2", "publishes by an exchange"),
            CAME_OUT,
            OPEN,
            DIGEST,
            END,
            CLOSE,
            AFTER,
            ("unlinkat", "the old file"),
            CLOSE_NEW,
            CLOSE_OLD,
            UNLOCK,
            UNPIN,
        ],
    },
    Budget {
        name: "create",
        what: What::Change(|fence| write(fence, NEW, Precondition::Absent)),
        steps: &[
            PIN,
            KEY,
            LOCK,
            LOOK,
            MAKE,
            WRITE,
            ("linkat", "publishes"),
            AFTER,
            CLOSE_NEW,
            UNLOCK,
            UNPIN,
        ],
    },
    Budget {
        name: "remove",
        what: What::Change(|fence| Mutation::Remove { path: at(fence, NEW), what: Removal::File }),
        steps: &[PIN, KEY, LOCK, ("unlinkat", "removes"), UNLOCK, UNPIN],
    },
    Budget {
        name: "create-directory",
        what: What::Change(|fence| make_dir(fence, NEW)),
        steps: &[PIN, LOOK, ("mkdirat", "makes it"), LOOK_AFTER, UNPIN],
    },
    Budget {
        name: "create-directory-that-is-there",
        what: What::Change(|fence| make_dir(fence, NEW)),
        steps: &[PIN, LOOK, UNPIN],
    },
    Budget {
        name: "remove-directory",
        what: What::Change(|fence| Mutation::Remove {
            path: at(fence, NEW),
            what: Removal::EmptyDir,
        }),
        steps: &[PIN, KEY, LOCK, ("unlinkat", "removes"), UNLOCK, UNPIN],
    },
    Budget {
        name: "create-three-directories",
        what: What::Change(|fence| make_dir(fence, DEEP)),
        steps: &[
            ("openat2", "the parent, which is missing"),
            ("openat2", "its parent, which is missing too"),
            PIN,
            NOT_DANGLING,
            ("mkdirat", "makes the first"),
            ("openat", "enters it"),
            UNPIN,
            ("mkdirat", "makes the second"),
            ("openat", "enters it"),
            UNPIN,
            LOOK,
            ("mkdirat", "makes the last"),
            LOOK_AFTER,
            UNPIN,
        ],
    },
    Budget {
        name: "rename",
        what: What::Change(|fence| Mutation::Rename {
            from: at(fence, DEEP),
            to: at(fence, "a/b/c/new/e"),
            when: Precondition::Absent,
        }),
        steps: &[
            PIN,
            PIN,
            KEY,
            KEY,
            LOCK,
            LOCK,
            ("renameat2", "renames"),
            LOOK_AFTER,
            UNLOCK,
            UNLOCK,
            UNPIN,
            UNPIN,
        ],
    },
];

fn at(fence: &dyn Fence, path: &str) -> RootedPath {
    let root = fence.roots().iter().next().expect("a fence has a root").id();
    RootedPath::new(root, RelPath::new(path).unwrap())
}

/// 4 KiB at depth 4.
const FILE: &str = "a/b/c/f";
const NEW: &str = "a/b/c/new";
const DEEP: &str = "a/b/c/new/d/e";
const SIZE: usize = 4_096;

fn write(fence: &dyn Fence, path: &str, when: Precondition) -> Mutation {
    let path = at(fence, path);
    // What is there already would not be written.
    static ROUND: AtomicU8 = AtomicU8::new(0);
    let contents = vec![ROUND.fetch_add(1, Ordering::Relaxed); SIZE];
    Mutation::Write { path, contents, when, parents: Parents::Require }
}

fn make_dir(fence: &dyn Fence, path: &str) -> Mutation {
    Mutation::CreateDir { path: at(fence, path), parents: Parents::Create }
}

/// Reads as few times as there are pieces: a size that is known needs no call to find the end.
fn read(fence: &dyn Fence) -> Precondition {
    let mut snapshot = fence.open(&at(fence, FILE)).unwrap();
    let mut bytes = [0; SIZE];
    snapshot.file.read_exact(&mut bytes).unwrap();
    Precondition::Matches { stamp: snapshot.stamp, digest: Some(Digest::of(&bytes)) }
}

#[test]
fn each_change_takes_the_calls_of_its_budget_and_no_other() {
    if let Some((_, words)) = actor::part() {
        return do_everything(&words[0]);
    }
    let test = this_test!();
    if !offered().contains(&COUNTED) {
        return say(format_args!("left out: {test}: no fence {COUNTED} on this host"));
    }
    if !strace::is_there(test) {
        return;
    }
    let stage = Stage::new(&Tree::inside([file(FILE, &"x".repeat(SIZE))]));
    let traced = strace::run(&[], test, "everything", &[stage.root().to_str().unwrap()]);
    assert_eq!(traced.said, "done");
    let (mut counts, mut wrong) = (Vec::new(), Vec::new());
    for Budget { name, steps, .. } in BUDGETS {
        let calls = between_marks(&traced.calls, name);
        let expected: Vec<_> = steps.iter().map(|(call, _)| (*call).to_owned()).collect();
        counts.push(format!("{name} {}", calls.len()));
        if calls != expected {
            wrong.push(format!("{name}: {} and not {}", calls.join(" "), expected.join(" ")));
        }
    }
    say(format_args!("calls to the file system: {}", counts.join(", ")));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Everything some times, so that what is done once is not counted, and then between marks.
fn do_everything(root: &str) {
    // With another, a new file would not get the mode of the old one by being made.
    umask(Mode::from_raw_mode(0o022));
    let fence = open_fence(&Roots::open([root]).unwrap(), COUNTED);
    let fence = fence.as_ref();
    let terms = Terms { durability: Durability::None, ..Terms::default() };
    let mark = |name: &str| {
        // There is nothing at that place: the question alone is the mark.
        let there = rustix::fs::access(format!("{MARK}/{name}"), Access::EXISTS);
        assert!(there.is_err());
    };
    for round in ["first", "second", "counted"] {
        for Budget { name, what, .. } in BUDGETS {
            let mark = || mark(&format!("{round}/{name}"));
            match what {
                What::Read => {
                    mark();
                    let was_read = read(fence);
                    mark();
                    assert!(matches!(was_read, Precondition::Matches { .. }));
                }
                What::Change(change) => {
                    let change = change(fence);
                    mark();
                    let result = fence.apply(change, &terms);
                    mark();
                    drop(result.unwrap());
                }
            }
        }
        let undo = Mutation::Remove { path: at(fence, NEW), what: Removal::Tree };
        drop(fence.apply(undo, &terms).unwrap());
    }
    actor::tell("done");
}

/// The names of the calls to the file system between the two marks of `name`, by the thread that
/// set them.
fn between_marks(lines: &[String], name: &str) -> Vec<String> {
    let mark = format!("\"{MARK}/counted/{name}\"");
    let marks: Vec<_> = lines
        .iter()
        .enumerate()
        .filter_map(|(i, line)| line.contains(&mark).then_some((i, strace::call_of(line)?.0)))
        .collect();
    let [(begin, thread), (end, other)] = marks[..] else { panic!("{name}: {marks:?}") };
    assert_eq!(thread, other, "one thread sets both marks");
    lines[begin + 1..end]
        .iter()
        .filter(|line| strace::call_of(line).is_some_and(|(by, _)| by == thread))
        .filter_map(|line| strace::name_of(line))
        .filter(|call| !NOT_COUNTED.contains(call))
        .map(ToOwned::to_owned)
        .collect()
}
