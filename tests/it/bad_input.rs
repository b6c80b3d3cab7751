//! Input that no change can be made of, and hosts that cannot make one: each is a typed error, the
//! same on every fence, and nothing has changed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use ringfence_platform::{
    Cancel, ErrorKind, Fence, Mutation, Parents, Precondition, RelPath, Removal, RootedPath, Roots,
};
use rustix::mount::{MountFlags, mount, mount_remount};

use crate::act::{Outcome, beneath, change, perform};
use crate::cases::{Args, Op};
use crate::support::{
    LeftOut, Needs, Stage, Tree, as_user, dir, each_fence_on, fence_on, fifo, file, is_root, link,
    mode, offered, say, sock, this_test, tmpfs, with_own_mounts,
};

pub(crate) fn left_out() -> Vec<LeftOut> {
    let missing = Needs::Mknod.missing();
    missing.map(|why| LeftOut::new("devices in the place of files", why, 1)).into_iter().collect()
}

/// Every operation that a fence offers, with arguments that let it act on any path.
const ALL: [Op; 12] = [
    Op::Stat,
    Op::Lstat,
    Op::Open,
    Op::List,
    Op::Write,
    Op::CreateNew,
    Op::Mkdir,
    Op::MkdirAll,
    Op::RemoveFile,
    Op::RemoveDir,
    Op::RemoveAll,
    Op::Symlink,
];

fn answer(fence: &dyn Fence, op: Op, path: &str) -> Result<Outcome, ErrorKind> {
    let args = Args { text: Some("text".to_owned()), ..Args::default() };
    perform(fence, op, path, &args)
}

fn rename(fence: &dyn Fence, from: &str, to: &str) -> Result<Outcome, ErrorKind> {
    perform(fence, Op::Rename, from, &Args { to: Some(to.to_owned()), ..Args::default() })
}

/// Writes so that missing parents would be made.
fn write_deep(fence: &dyn Fence, path: &str, when: Precondition) -> Result<Outcome, ErrorKind> {
    let path = beneath(fence, path)?;
    let contents = b"new".to_vec();
    change(fence, Mutation::Write { path, contents, when, parents: Parents::Create })
}

/// Each of `ops` on `path` answers `kind`, and everything is as it was.
#[track_caller]
fn refused(stage: &Stage, fence: &dyn Fence, ops: &[Op], path: &str, kind: ErrorKind) {
    let before = stage.snapshot();
    for op in ops {
        let found = answer(fence, *op, &stage.expand(path));
        assert_eq!(found.as_ref().err(), Some(&kind), "{op} {path}: {found:?}");
        stage.assert_unchanged(&before);
    }
}

/// Ends the process if `work` takes longer than anything that does not wait.
fn at_once(work: impl FnOnce()) {
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if waits.recv_timeout(Duration::from_secs(30))
            == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            say("a call waits that should not");
            std::process::abort();
        }
    });
    work();
    drop(done);
    watch.join().unwrap();
}

#[test]
fn a_path_that_is_not_made_of_plain_names_is_no_path() {
    let paths = [
        "",
        "/",
        "//",
        ".",
        "./",
        "..",
        "../",
        "a\0b",
        "\0",
        "/etc/passwd",
        "a/../b",
        "a/..",
        "a/",
        "a/.",
    ];
    for path in paths {
        let error = RelPath::new(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidPath, "{path:?}");
    }
    assert_eq!(RelPath::new("./a//b/./c").unwrap().as_path(), Path::new("a/b/c"));
}

#[test]
fn a_path_that_is_too_long_is_refused_by_every_operation() {
    let tree = Tree::inside([dir("a"), link("a/back", "."), file("f", "data")]);
    each_fence_on(&tree, |stage, fence| {
        // By one byte, by much, and by so much only if its links are put together.
        for path in ["{a/*2047}aa", "{a/*2499}a", "{abcdefghi/*500}x"] {
            refused(stage, fence, &ALL, path, ErrorKind::NameTooLong);
            let before = stage.snapshot();
            let path = stage.expand(path);
            for when in [Precondition::None, Precondition::Absent] {
                let outcome = write_deep(fence, &path, when);
                assert_eq!(outcome.err(), Some(ErrorKind::NameTooLong));
            }
            assert_eq!(rename(fence, "f", &path).err(), Some(ErrorKind::NameTooLong));
            assert_eq!(rename(fence, &path, "g").err(), Some(ErrorKind::NameTooLong));
            stage.assert_unchanged(&before);
        }
        let longest = stage.expand("{./*10}{a/*2046}abc");
        assert!(beneath(fence, &longest).unwrap().path.as_path().as_os_str().len() == 4095);
        assert_eq!(answer(fence, Op::Stat, &longest).err(), Some(ErrorKind::NotFound));
    });
}

#[test]
fn a_name_that_is_too_long_is_refused_and_no_parent_is_made_for_it() {
    let tree = Tree::inside([dir("d"), file("f", "data")]);
    each_fence_on(&tree, |stage, fence| {
        for path in ["{x*256}", "d/{x*256}", "{x*256}/f"] {
            refused(stage, fence, &ALL, path, ErrorKind::NameTooLong);
        }
        let before = stage.snapshot();
        for path in ["new/{x*256}", "new/{x*256}/f", "d/new/{x*256}"] {
            let path = stage.expand(path);
            let made = write_deep(fence, &path, Precondition::None);
            assert_eq!(made.err(), Some(ErrorKind::NameTooLong), "write {path}");
            let made = answer(fence, Op::MkdirAll, &path);
            assert_eq!(made.err(), Some(ErrorKind::NameTooLong), "mkdir_all {path}");
            stage.assert_unchanged(&before);
        }
        let longest = stage.expand("{x*255}");
        answer(fence, Op::Write, &longest).unwrap();
        // A name that can be read can be written again.
        answer(fence, Op::Write, &longest).unwrap();
        assert_eq!(std::fs::read_dir(stage.root()).unwrap().count(), 3);
    });
}

#[test]
fn the_root_itself_is_looked_at_and_listed_and_never_changed() {
    each_fence_on(&Tree::inside([file("f", "data")]), |stage, fence| {
        let before = stage.snapshot();
        let root = RootedPath::new(fence.roots().iter().next().unwrap().id(), RelPath::root());
        let f = beneath(fence, "f").unwrap();
        let stat = fence.stat(&root, ringfence_platform::Follow::No).unwrap();
        assert_eq!(stat.key, fence.roots().iter().next().unwrap().key());
        assert_eq!(fence.list(&root, &Cancel::never()).unwrap().len(), 1);
        assert_eq!(fence.open(&root).unwrap_err().kind(), ErrorKind::WrongKind);
        let text = ringfence_platform::LinkText::new("f").unwrap();
        let parents = Parents::Create;
        let write = |when| Mutation::Write { path: root.clone(), contents: vec![], when, parents };
        let changes = [
            write(Precondition::None),
            write(Precondition::Absent),
            Mutation::Remove { path: root.clone(), what: Removal::File },
            Mutation::Remove { path: root.clone(), what: Removal::EmptyDir },
            Mutation::Remove { path: root.clone(), what: Removal::Tree },
            Mutation::Rename { from: root.clone(), to: f.clone(), when: Precondition::None },
            Mutation::Rename { from: f.clone(), to: root.clone(), when: Precondition::None },
            Mutation::Rename { from: f.clone(), to: root.clone(), when: Precondition::Absent },
            Mutation::Exchange { first: root.clone(), second: f.clone() },
            Mutation::Exchange { first: f.clone(), second: root.clone() },
            Mutation::Symlink { path: root.clone(), text },
        ];
        for mutation in changes {
            let shown = format!("{mutation:?}");
            assert_eq!(change(fence, mutation).err(), Some(ErrorKind::WrongKind), "{shown}");
        }
        // It is there already, which is all that was asked for.
        change(fence, Mutation::CreateDir { path: root.clone(), parents }).unwrap();
        stage.assert_unchanged(&before);
    });
}

#[test]
fn what_is_no_regular_file_is_neither_read_nor_replaced_and_nobody_waits_for_it() {
    let tree = Tree::inside([fifo("fifo"), sock("sock"), dir("dir"), link("to-fifo", "fifo")]);
    at_once(|| {
        each_fence_on(&tree, |stage, fence| {
            for path in ["fifo", "sock", "to-fifo"] {
                let ops = [Op::Open, Op::Write, Op::CreateNew, Op::List, Op::RemoveDir];
                refused(stage, fence, &ops, path, ErrorKind::WrongKind);
                refused(stage, fence, &[Op::Mkdir, Op::MkdirAll], path, ErrorKind::AlreadyExists);
            }
            let ops = [Op::Open, Op::Write, Op::CreateNew, Op::RemoveFile];
            refused(stage, fence, &ops, "dir", ErrorKind::WrongKind);
            for path in ["to-fifo", "fifo", "sock"] {
                answer(fence, Op::RemoveFile, path).unwrap();
            }
        });
    });
}

#[test]
fn a_device_is_neither_read_nor_written_nor_replaced() {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    if let Some(why) = Needs::Mknod.missing() {
        return say(format_args!("left out: {}: {why}", this_test!()));
    }
    at_once(|| {
        each_fence_on(&Tree::inside([link("to-zero", "zero")]), |stage, fence| {
            let zero = stage.root().join("zero");
            let mode = Mode::from_raw_mode(0o666);
            mknodat(CWD, &zero, FileType::CharacterDevice, mode, makedev(1, 5)).unwrap();
            let ops = [Op::Open, Op::Write, Op::CreateNew, Op::List];
            for path in ["zero", "to-zero"] {
                refused(stage, fence, &ops, path, ErrorKind::WrongKind);
            }
        });
    });
}

#[test]
fn a_file_is_not_used_as_a_directory() {
    let tree = Tree::inside([file("f", "data"), link("l", "f")]);
    each_fence_on(&tree, |stage, fence| {
        refused(stage, fence, &[Op::List, Op::RemoveDir], "f", ErrorKind::WrongKind);
        refused(stage, fence, &[Op::List], "l", ErrorKind::WrongKind);
        for path in ["f/child", "l/child", "f/child/deeper"] {
            refused(stage, fence, &ALL, path, ErrorKind::WrongKind);
            let before = stage.snapshot();
            let made = write_deep(fence, path, Precondition::None);
            assert_eq!(made.err(), Some(ErrorKind::WrongKind), "write {path}");
            assert_eq!(rename(fence, "f", path).err(), Some(ErrorKind::WrongKind), "to {path}");
            stage.assert_unchanged(&before);
        }
    });
}

#[test]
fn a_loop_of_links_is_told_from_everything_else() {
    let tree = Tree::inside([link("a", "b"), link("b", "a"), link("self", "self")]);
    each_fence_on(&tree, |stage, fence| {
        let follow = [Op::Stat, Op::Open, Op::List, Op::Write, Op::CreateNew, Op::MkdirAll];
        for path in ["a", "self"] {
            refused(stage, fence, &follow, path, ErrorKind::Loop);
        }
        for path in ["a/x", "self/x"] {
            refused(stage, fence, &ALL, path, ErrorKind::Loop);
        }
    });
}

#[test]
fn what_is_missing_is_not_found_and_nothing_is_made_for_it() {
    let tree = Tree::inside([link("dangling", "nowhere"), link("deep", "no/where")]);
    each_fence_on(&tree, |stage, fence| {
        let need = [Op::Open, Op::List, Op::RemoveFile, Op::RemoveDir, Op::RemoveAll];
        refused(stage, fence, &need, "missing", ErrorKind::NotFound);
        let parents = [Op::Write, Op::CreateNew, Op::Mkdir, Op::Symlink];
        refused(stage, fence, &parents, "missing/f", ErrorKind::NotFound);
        refused(stage, fence, &ALL, "dangling/f", ErrorKind::NotFound);
        refused(stage, fence, &[Op::Write, Op::CreateNew], "deep", ErrorKind::NotFound);
        let before = stage.snapshot();
        for path in ["dangling/f", "deep/f", "deep"] {
            let made = write_deep(fence, path, Precondition::None);
            assert_eq!(made.err(), Some(ErrorKind::NotFound), "{path}");
        }
        assert_eq!(rename(fence, "missing", "new").err(), Some(ErrorKind::NotFound));
        assert_eq!(rename(fence, "dangling", "no/new").err(), Some(ErrorKind::NotFound));
        stage.assert_unchanged(&before);
    });
}

#[test]
fn no_fence_is_put_up_around_what_is_no_directory() {
    let stage = Stage::new(&Tree::inside([file("f", "data"), link("loop", "loop"), fifo("fifo")]));
    let before = stage.snapshot();
    let open = |path: &str| Roots::open([stage.root().join(path)]).unwrap_err().kind();
    assert_eq!(open("missing"), ErrorKind::NotFound);
    assert_eq!(open("f"), ErrorKind::WrongKind);
    assert_eq!(open("f/below"), ErrorKind::WrongKind);
    assert_eq!(open("loop"), ErrorKind::Loop);
    at_once(|| assert_eq!(open("fifo"), ErrorKind::WrongKind));
    assert_eq!(Roots::open([""]).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(Roots::open::<&str>([]).unwrap_err().kind(), ErrorKind::InvalidPath);
    let one_is_missing = Roots::open([stage.root(), &stage.root().join("missing")]);
    assert_eq!(one_is_missing.unwrap_err().kind(), ErrorKind::NotFound);
    stage.assert_unchanged(&before);
}

#[test]
fn a_root_that_was_removed_takes_no_change() {
    each_fence_on(&Tree::inside([]), |stage, fence| {
        std::fs::remove_dir(stage.root()).unwrap();
        let before = stage.snapshot();
        for op in [Op::Write, Op::CreateNew, Op::Mkdir, Op::MkdirAll, Op::Symlink, Op::RemoveAll] {
            assert_eq!(answer(fence, op, "f").err(), Some(ErrorKind::NotFound), "{op}");
        }
        let deep = write_deep(fence, "d/f", Precondition::None);
        assert_eq!(deep.err(), Some(ErrorKind::NotFound));
        for op in [Op::Stat, Op::Open, Op::List] {
            assert_eq!(answer(fence, op, "f").err(), Some(ErrorKind::NotFound), "{op}");
        }
        stage.assert_unchanged(&before);
        // Another directory in its place is not the root.
        std::fs::create_dir(stage.root()).unwrap();
        assert_eq!(answer(fence, Op::Write, "f").err(), Some(ErrorKind::NotFound));
        assert_eq!(std::fs::read_dir(stage.root()).unwrap().count(), 0);
    });
}

#[test]
fn a_root_that_was_renamed_keeps_its_fence() {
    each_fence_on(&Tree::inside([file("f", "data")]), |stage, fence| {
        let elsewhere = stage.base().join("elsewhere");
        std::fs::rename(stage.root(), &elsewhere).unwrap();
        std::fs::create_dir(stage.root()).unwrap();
        answer(fence, Op::Write, "f").unwrap();
        answer(fence, Op::Write, "new").unwrap();
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 2);
        assert_eq!(std::fs::read_dir(stage.root()).unwrap().count(), 0);
    });
}

#[test]
fn what_an_ordinary_user_may_not_change_is_denied() {
    as_user(this_test!(), || {
        assert!(!is_root());
        let tree = Tree::inside([
            file("read-only", "data"),
            mode("read-only", 0o444),
            file("closed/f", "data"),
            mode("closed", 0o555),
            file("shut/f", "data"),
            mode("shut", 0o000),
            file("secret", "data"),
            mode("secret", 0o000),
        ]);
        each_fence_on(&tree, |stage, fence| {
            refused(stage, fence, &[Op::Write], "read-only", ErrorKind::Denied);
            let new = [Op::Write, Op::CreateNew, Op::Mkdir, Op::Symlink];
            refused(stage, fence, &new, "closed/new", ErrorKind::Denied);
            let old = [Op::Write, Op::RemoveFile, Op::RemoveAll];
            refused(stage, fence, &old, "closed/f", ErrorKind::Denied);
            refused(stage, fence, &[Op::RemoveAll], "closed", ErrorKind::Denied);
            refused(stage, fence, &ALL, "shut/f", ErrorKind::Denied);
            refused(stage, fence, &[Op::List], "shut", ErrorKind::Denied);
            refused(stage, fence, &[Op::Open], "secret", ErrorKind::Denied);
            let before = stage.snapshot();
            assert_eq!(rename(fence, "closed/f", "new").err(), Some(ErrorKind::Denied));
            assert_eq!(rename(fence, "secret", "closed/new").err(), Some(ErrorKind::Denied));
            stage.assert_unchanged(&before);
        });
        let stage = Stage::new(&Tree::inside([dir("shut/d"), mode("shut", 0o000)]));
        let shut = Roots::open([stage.root().join("shut/d")]);
        assert_eq!(shut.unwrap_err().kind(), ErrorKind::Denied);
    });
}

/// A stage whose `mnt` is a tmpfs with these options, and `entries` in it.
fn small(options: &std::ffi::CStr, entries: &[(&str, &[u8])]) -> Stage {
    let stage = Stage::new(&Tree::inside([dir("mnt")]));
    let at = stage.root().join("mnt");
    mount("tmpfs", &at, "tmpfs", MountFlags::empty(), Some(options)).unwrap();
    for (name, contents) in entries {
        std::fs::write(at.join(name), contents).unwrap();
    }
    stage
}

#[test]
fn a_full_disk_is_told_and_leaves_the_old_file_whole() {
    with_own_mounts(this_test!(), || {
        for kind in offered() {
            let stage = small(c"size=64k", &[("old", b"old contents")]);
            let fence = fence_on(&stage, *kind);
            let before = stage.snapshot();
            for path in ["mnt/new", "mnt/old"] {
                for when in whens(fence.as_ref(), path) {
                    let path = beneath(fence.as_ref(), path).unwrap();
                    let contents = vec![b'x'; 1 << 20];
                    let parents = Parents::Require;
                    let write = Mutation::Write { path, contents, when, parents };
                    assert_eq!(
                        change(fence.as_ref(), write).err(),
                        Some(ErrorKind::NoSpace),
                        "{kind}"
                    );
                    stage.assert_unchanged_but_times_of_dirs(&before);
                }
            }
            // What is small still fits: nothing holds the space.
            answer(fence.as_ref(), Op::Write, "mnt/old").unwrap();
        }
    });
}

/// The preconditions that hold at `path` now.
fn whens(fence: &dyn Fence, path: &str) -> [Precondition; 2] {
    let path = beneath(fence, path).unwrap();
    let stat = fence.stat(&path, ringfence_platform::Follow::No).unwrap();
    let guarded = match stat.found {
        Some((_, stamp)) => Precondition::Matches { stamp, digest: None },
        None => Precondition::Absent,
    };
    [Precondition::None, guarded]
}

#[test]
fn a_disk_without_inodes_is_told() {
    with_own_mounts(this_test!(), || {
        for kind in offered() {
            let stage = small(c"size=1m,nr_inodes=2", &[("old", b"old contents")]);
            let fence = fence_on(&stage, *kind);
            let ops = [Op::Write, Op::CreateNew, Op::Mkdir, Op::MkdirAll, Op::Symlink];
            refused(&stage, fence.as_ref(), &ops, "mnt/new", ErrorKind::NoSpace);
            refused(&stage, fence.as_ref(), &[Op::Write], "mnt/old", ErrorKind::NoSpace);
        }
    });
}

#[test]
fn a_mount_that_is_read_only_is_denied_and_read() {
    with_own_mounts(this_test!(), || {
        for kind in offered() {
            let stage = small(c"", &[("old", b"old contents")]);
            let flags = MountFlags::RDONLY;
            mount_remount(stage.root().join("mnt"), flags, c"").unwrap();
            let fence = fence_on(&stage, *kind);
            let new = [Op::Write, Op::CreateNew, Op::Mkdir, Op::MkdirAll, Op::Symlink];
            refused(&stage, fence.as_ref(), &new, "mnt/new", ErrorKind::Denied);
            let old = [Op::Write, Op::RemoveFile, Op::RemoveAll];
            refused(&stage, fence.as_ref(), &old, "mnt/old", ErrorKind::Denied);
            let before = stage.snapshot();
            assert_eq!(rename(fence.as_ref(), "mnt/old", "mnt/new").err(), Some(ErrorKind::Denied));
            let Ok(Outcome::Opened(_)) = answer(fence.as_ref(), Op::Open, "mnt/old") else {
                panic!("it can be read");
            };
            stage.assert_unchanged(&before);
        }
    });
}

#[test]
fn a_mount_point_is_neither_removed_nor_replaced() {
    with_own_mounts(this_test!(), || {
        let tree = Tree::inside([tmpfs("d/mnt"), file("d/mnt/f", "data"), file("other", "data")]);
        for kind in offered() {
            let stage = Stage::with_mounts(&tree);
            let fence = fence_on(&stage, *kind);
            refused(&stage, fence.as_ref(), &[Op::RemoveAll], "d/mnt", ErrorKind::Busy);
            let before = stage.snapshot();
            assert_eq!(
                rename(fence.as_ref(), "d/mnt", "new").err(),
                Some(ErrorKind::Busy),
                "{kind}"
            );
            let across = rename(fence.as_ref(), "other", "d/mnt/other");
            assert_eq!(across.err(), Some(ErrorKind::CrossDevice), "{kind}");
            stage.assert_unchanged(&before);
            // What lies on another mount is not deleted with the tree that the mount point is in.
            let removed = answer(fence.as_ref(), Op::RemoveAll, "d");
            assert_eq!(removed.err(), Some(ErrorKind::Busy), "{kind}");
            assert!(stage.root().join("d/mnt/f").exists(), "{kind}");
        }
    });
}

#[test]
fn permissions_of_what_a_user_made_are_not_in_the_way_of_removing_it() {
    as_user(this_test!(), || {
        let tree = Tree::inside([file("d/e/f", "data"), mode("d/e/f", 0o000)]);
        each_fence_on(&tree, |stage, fence| {
            answer(fence, Op::RemoveAll, "d").unwrap();
            assert_eq!(std::fs::read_dir(stage.root()).unwrap().count(), 0);
            let mode = stage.root().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755);
        });
    });
}
