//! An error says whether something was done that remains; and a removal that others work against
//! ends.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ringfence_platform::{
    Durability, Effect, Error, ErrorKind, Fence, LinkText, Mutation, Parents, Precondition,
    Receipt, Removal, Result, Roots, Terms,
};
use rustix::fs::Mode;
use rustix::mount::{MountFlags, mount};
use rustix::process::umask;

use crate::act::beneath;
use crate::actor;
use crate::effort::rounds;
use crate::stop::StopOnDrop;
use crate::strace;
use crate::support::{
    Stage, Tree, as_user, dir, each_fence, each_fence_on, fence_on, fences_on, file,
    in_own_process, link, mode, offered, this_test, tmpfs, with_own_mounts,
};

fn apply(fence: &dyn Fence, mutation: Mutation) -> Result<Receipt> {
    fence.apply(mutation, &Terms { durability: Durability::None, ..Terms::default() })
}

fn remove(fence: &dyn Fence, path: &str) -> Result<Receipt> {
    let path = beneath(fence, path).unwrap();
    apply(fence, Mutation::Remove { path, what: Removal::Tree })
}

fn write(fence: &dyn Fence, path: &str, contents: &[u8], parents: Parents) -> Result<Receipt> {
    let (path, contents, when) =
        (beneath(fence, path).unwrap(), contents.to_vec(), Precondition::None);
    apply(fence, Mutation::Write { path, contents, when, parents })
}

fn make_dir(fence: &dyn Fence, path: &str) -> Result<Receipt> {
    let path = beneath(fence, path).unwrap();
    apply(fence, Mutation::CreateDir { path, parents: Parents::Create })
}

/// What is wrong, and whether something remains; the text has to say so too.
#[track_caller]
fn told(result: Result<Receipt>) -> (ErrorKind, bool) {
    let error: Error = result.unwrap_err();
    assert_eq!(error.to_string().contains("remains"), error.remains(), "{error}");
    (error.kind(), error.remains())
}

#[test]
fn a_removal_that_ends_at_a_mount_says_whether_it_removed_something() {
    with_own_mounts(this_test!(), || {
        let tree = Tree::inside([
            tmpfs("bare/mnt"),
            file("bare/mnt/f", "kept"),
            tmpfs("full/mnt"),
            file("full/mnt/f", "kept"),
            file("full/f", "gone"),
            tmpfs("nested/d/mnt"),
            dir("nested/empty"),
        ]);
        for kind in offered() {
            let stage = Stage::with_mounts(&tree);
            let fence = fence_on(&stage, *kind);
            let fence = fence.as_ref();
            let before = stage.snapshot();
            for path in ["bare", "bare/mnt", "full/mnt"] {
                assert_eq!(told(remove(fence, path)), (ErrorKind::Busy, false), "{kind} {path}");
                stage.assert_unchanged(&before);
            }
            assert_eq!(told(remove(fence, "full")), (ErrorKind::Busy, true), "{kind}");
            assert!(!stage.root().join("full/f").exists(), "{kind}");
            assert!(stage.root().join("full/mnt/f").exists(), "{kind}");
            // Once more there is nothing left to remove.
            assert_eq!(told(remove(fence, "full")), (ErrorKind::Busy, false), "{kind}");
        }
    });
}

#[test]
fn a_removal_that_is_denied_says_whether_it_removed_something() {
    as_user(this_test!(), || {
        let tree = Tree::inside([
            file("d/closed/f", "kept"),
            mode("d/closed", 0o555),
            file("e/f", "gone"),
            file("e/closed/f", "kept"),
            mode("e/closed", 0o555),
            dir("g/empty"),
            mode("g", 0o555),
        ]);
        each_fence_on(&tree, |stage, fence| {
            let before = stage.snapshot();
            for path in ["d", "d/closed", "g"] {
                assert_eq!(told(remove(fence, path)), (ErrorKind::Denied, false), "{path}");
                stage.assert_unchanged(&before);
            }
            assert_eq!(told(remove(fence, "e")), (ErrorKind::Denied, true));
            assert!(!stage.root().join("e/f").exists());
            assert_eq!(std::fs::read(stage.root().join("e/closed/f")).unwrap(), b"kept");
        });
    });
}

/// How often a directory is removed that others work in.
const REMOVALS: usize = 20;

/// Makes, renames and removes the same few things in `dir` for as long as that is there.
fn work_in(dir: &Path, made: &AtomicUsize, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) && dir.exists() {
        // Each may be there still, or be gone with what it is in.
        drop(std::fs::create_dir(dir.join("d")));
        for name in ["d/f", "f", "g", "h"] {
            drop(std::fs::write(dir.join(name), ""));
        }
        drop(std::fs::rename(dir.join("f"), dir.join("d/g")));
        drop(std::fs::remove_file(dir.join("g")));
        made.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_directory_that_others_work_in_is_removed_or_an_error_says_that_a_part_is_gone() {
    each_fence_on(&Tree::inside([]), |stage, fence| {
        for _ in 0..rounds(REMOVALS) {
            let place = stage.root().join("d");
            std::fs::create_dir(&place).unwrap();
            let (stop, made) = (AtomicBool::new(false), AtomicUsize::new(0));
            let result = std::thread::scope(|scope| {
                let _stop = StopOnDrop(&stop);
                for _ in 0..2 {
                    scope.spawn(|| work_in(&place, &made, &stop));
                }
                while made.load(Ordering::Relaxed) < 2 {
                    std::thread::yield_now();
                }
                remove(fence, "d")
            });
            match result {
                Ok(receipt) => assert_eq!(receipt.effect, Effect::Removed),
                Err(error) => {
                    assert!(error.remains(), "{error:?}");
                    assert_eq!(error.kind(), ErrorKind::WrongKind, "{error:?}");
                    drop(remove(fence, "d").unwrap());
                }
            }
            assert!(!place.exists());
        }
    });
}

/// As if somebody filled it between each look into it and its removal.
#[test]
fn a_directory_that_is_never_found_empty_is_given_up() {
    if let Some((_, words)) = actor::part() {
        let fences = fences_on(&Roots::open(&words).unwrap());
        let answers = fences.iter().map(|fence| told(remove(fence.as_ref(), "d")));
        return actor::tell(format_args!("{:?}", answers.collect::<Vec<_>>()));
    }
    let test = this_test!();
    if !strace::is_there(test) {
        return;
    }
    let stage = Stage::new(&Tree::inside([dir("d")]));
    let before = stage.snapshot();
    let never = ["--seccomp-bpf", "-e", "trace=unlinkat", "-e", "inject=unlinkat:error=ENOTEMPTY"];
    let traced = strace::run(&never, test, "remover", &[stage.root().to_str().unwrap()]);
    let each = vec![(ErrorKind::WrongKind, false); offered().len()];
    assert_eq!(traced.said, format!("{each:?}"));
    stage.assert_unchanged(&before);
}

#[test]
fn parents_that_remain_of_a_write_are_told() {
    with_own_mounts(this_test!(), || {
        let stage = Stage::new(&Tree::inside([dir("mnt")]));
        let place = stage.root().join("mnt");
        mount("tmpfs", &place, "tmpfs", MountFlags::empty(), Some(c"size=64k")).unwrap();
        each_fence(&stage.roots(), |fence| {
            let large = vec![b'x'; 1 << 20];
            let full = write(fence, "mnt/a/b/f", &large, Parents::Create);
            assert_eq!(told(full), (ErrorKind::NoSpace, true));
            assert!(place.join("a/b").is_dir());
            // They are there by now, so this time it makes none.
            let full = write(fence, "mnt/a/b/f", &large, Parents::Create);
            assert_eq!(told(full), (ErrorKind::NoSpace, false));
            std::fs::remove_dir_all(place.join("a")).unwrap();
        });
    });
}

#[test]
fn parents_that_remain_since_they_cannot_be_entered_are_told() {
    // The mask is the process's, and other tests run in it.
    let test = this_test!();
    in_own_process(test, || {
        as_user(test, || {
            each_fence_on(&Tree::inside([]), |stage, fence| {
                let before = umask(Mode::from_raw_mode(0o777));
                let answers = [
                    told(write(fence, "a/b/f", b"new", Parents::Create)),
                    told(make_dir(fence, "c/d/e")),
                ];
                umask(before);
                assert_eq!(answers, [(ErrorKind::Denied, true); 2]);
                for made in ["a", "c"] {
                    let made = stage.root().join(made);
                    let mode = made.symlink_metadata().unwrap().permissions().mode();
                    assert_eq!(mode & 0o777, 0, "{}", made.display());
                }
            });
        });
    });
}

#[test]
fn of_a_plain_refusal_nothing_remains() {
    let tree = Tree::inside([
        file("f", "data"),
        file("d/f", "data"),
        dir("empty"),
        link("out", "../out"),
        link("dangling", "no/where"),
        link("loop", "loop"),
    ])
    .outside([file("out/secret", "out")]);
    each_fence_on(&tree, |stage, fence| {
        let at = |path| beneath(fence, path).unwrap();
        let (create, none) = (Parents::Create, Precondition::None);
        let long = format!("new/{}", "x".repeat(256));
        let writes = ["f/x/y", "out/secret", "out/new/f", "dangling", "dangling/f", "loop/f", "d"];
        for path in writes.into_iter().chain([&*long]) {
            let (kind, remains) = told(write(fence, path, b"new", create));
            assert!(!remains, "{path}: {kind:?}");
        }
        let text = LinkText::new("../../out").unwrap();
        let changes = [
            Mutation::CreateDir { path: at("f"), parents: create },
            Mutation::CreateDir { path: at("out/new"), parents: create },
            Mutation::CreateDir { path: at("dangling/new"), parents: create },
            Mutation::Remove { path: at("missing"), what: Removal::Tree },
            Mutation::Remove { path: at("out/secret"), what: Removal::Tree },
            Mutation::Remove { path: at("d"), what: Removal::EmptyDir },
            Mutation::Remove { path: at("d"), what: Removal::File },
            Mutation::Rename { from: at("missing"), to: at("f"), when: none.clone() },
            Mutation::Rename { from: at("f"), to: at("d"), when: none.clone() },
            Mutation::Rename { from: at("f"), to: at("d/f"), when: Precondition::Absent },
            Mutation::Rename { from: at("d"), to: at("d/new"), when: none },
            Mutation::Exchange { first: at("f"), second: at("missing") },
            Mutation::Symlink { path: at("d/l"), text },
        ];
        let before = stage.snapshot();
        for change in changes {
            let shown = format!("{change:?}");
            assert!(!told(apply(fence, change)).1, "{shown}");
        }
        stage.assert_unchanged(&before);
    });
}
