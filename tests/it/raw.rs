//! What the bare system calls do with a slash after a link, and that a fence given the same path
//! leaves everything outside as it was.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps};
use rustix::io::{Errno, Result};

use crate::act::{NOT_OFFERED, perform};
use crate::cases::{Args, Case, Ok as Answer, Op, Table, errno_of};
use crate::support::{NodeKind, Stage, each_fence_on, open_dir};

fn rows(table: &Table) -> impl Iterator<Item = &Case> {
    table.cases.iter().filter(|case| case.op == Op::Raw)
}

/// What a bare call gave back.
enum Raw {
    Opened(OwnedFd),
    Seen(NodeKind),
    Nothing,
}

fn call(root: &OwnedFd, call: &str, path: &str) -> Result<Raw> {
    let open = |flags| {
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::openat(root, path, flags | OFlags::CLOEXEC, mode).map(Raw::Opened)
    };
    let nothing = |done: Result<()>| done.map(|()| Raw::Nothing);
    let user = rustix::process::geteuid();
    let group = rustix::process::getegid();
    let one_second = Timespec { tv_sec: 1, tv_nsec: 0 };
    let times = Timestamps { last_access: one_second, last_modification: one_second };
    match call {
        "openat(root, path, O_RDONLY|O_NOFOLLOW)" => open(OFlags::RDONLY | OFlags::NOFOLLOW),
        "openat(root, path, O_PATH|O_NOFOLLOW)" => open(OFlags::PATH | OFlags::NOFOLLOW),
        "openat(root, path, O_CREAT|O_WRONLY|O_NOFOLLOW, 0600)" => {
            open(OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW)
        }
        "openat(root, path, O_CREAT|O_EXCL|O_WRONLY, 0600)" => {
            open(OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY)
        }
        "mkdirat(root, path, 0777)" => nothing(rustix::fs::mkdirat(root, path, Mode::all())),
        r#"renameat(root, path, root, "z")"# => {
            nothing(rustix::fs::renameat(root, path, root, "z"))
        }
        r#"renameat(root, "f", root, path)"# => {
            nothing(rustix::fs::renameat(root, "f", root, path))
        }
        r#"renameat(root, "d2", root, path)"# => {
            nothing(rustix::fs::renameat(root, "d2", root, path))
        }
        r#"symlinkat("x", root, path)"# => nothing(rustix::fs::symlinkat("x", root, path)),
        r#"linkat(root, "f", root, path, 0)"# => {
            nothing(rustix::fs::linkat(root, "f", root, path, AtFlags::empty()))
        }
        r#"linkat(root, path, root, "z", 0)"# => {
            nothing(rustix::fs::linkat(root, path, root, "z", AtFlags::empty()))
        }
        "unlinkat(root, path, 0)" => nothing(rustix::fs::unlinkat(root, path, AtFlags::empty())),
        "unlinkat(root, path, AT_REMOVEDIR)" => {
            nothing(rustix::fs::unlinkat(root, path, AtFlags::REMOVEDIR))
        }
        "fstatat(root, path, AT_SYMLINK_NOFOLLOW)" => {
            let stat = rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(Raw::Seen(NodeKind::of(&stat)))
        }
        "utimensat(root, path, 1 s, AT_SYMLINK_NOFOLLOW)" => {
            nothing(rustix::fs::utimensat(root, path, &times, AtFlags::SYMLINK_NOFOLLOW))
        }
        "fchownat(root, path, own uid, own gid, AT_SYMLINK_NOFOLLOW)" => nothing(
            rustix::fs::chownat(root, path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW),
        ),
        other => panic!("no such call is known: {other}"),
    }
}

/// The row's call as an operation of a fence, with the names that the call has beside `path`.
fn fence_op(case: &Case) -> (Op, Args, bool) {
    let op = case.args.fence_op.expect("a raw row names an operation");
    let call = case.args.call.as_deref().expect("a raw row has a call");
    let name = |name: &str| Some(name.to_owned());
    let mut args = Args::default();
    let mut path_is_new_name = false;
    if op == Op::Symlink {
        args.text = name("x");
    } else if op == Op::Rename && call.contains(r#"root, "z""#) {
        args.to = name("z");
    } else {
        path_is_new_name = op == Op::Rename;
    }
    (op, args, path_is_new_name)
}

#[test]
fn the_bare_calls_do_as_the_table_says() {
    let table = Table::resolve();
    assert_eq!(rows(&table).count(), 60);
    for case in rows(&table) {
        let stage = Stage::new(table.tree(case));
        let root = open_dir(CWD, stage.root()).unwrap();
        let before = stage.snapshot();
        let bare = case.args.call.as_deref().expect("a raw row has a call");
        let expect = &case.expect;
        match (expect.ok, call(&root, bare, &case.path)) {
            (Answer::Known(true), Ok(result)) => check_result(case, &stage, result),
            (Answer::Known(false), Err(errno)) => {
                assert!(errno_of(&expect.error, errno), "{case}: {bare} answers {errno:?}");
            }
            (_, result) => {
                let errno: Option<Errno> = result.err();
                panic!("{case}: {bare} answers {errno:?}");
            }
        }
        let effects = before.effects(&stage.snapshot(), stage.root_in_base());
        assert_eq!(Some(&effects), expect.effects.as_ref(), "{case}: {bare}");
    }
}

fn check_result(case: &Case, stage: &Stage, result: Raw) {
    match result {
        Raw::Opened(fd) => {
            let place = case.expect.resolves_to.as_ref().expect("an open row says where");
            let place = stage.root().join(stage.expand(place));
            let found = File::from(fd).metadata().unwrap();
            let real = place.symlink_metadata().unwrap();
            assert_eq!((found.dev(), found.ino()), (real.dev(), real.ino()), "{case}");
            assert_eq!(case.expect.leaves_root, !place.starts_with(stage.root()), "{case}");
        }
        Raw::Seen(kind) => assert_eq!(case.expect.kind, Some(kind), "{case}"),
        Raw::Nothing => {}
    }
}

#[test]
fn a_slash_after_a_link_leads_no_fence_outside() {
    let table = Table::resolve();
    let offered = |op: &Op| !NOT_OFFERED.iter().any(|(ops, _)| ops.contains(op));
    for case in rows(&table) {
        let (op, args, path_is_new_name) = fence_op(case);
        if !offered(&op) {
            continue;
        }
        // With the slash the types refuse the path; without it the fence has to judge the link.
        for path in [case.path.as_str(), case.path.trim_end_matches('/')] {
            each_fence_on(table.tree(case), |stage, fence| {
                let before = stage.snapshot();
                let outcome = if path_is_new_name {
                    let args = Args { to: Some(path.to_owned()), ..args.clone() };
                    perform(fence, op, "f", &args)
                } else {
                    perform(fence, op, path, &args)
                };
                stage.assert_outside_unchanged(&before);
                if outcome.is_err() {
                    stage.assert_unchanged(&before);
                }
            });
        }
    }
}
