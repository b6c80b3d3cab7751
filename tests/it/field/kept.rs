//! What is left of a file that is changed, and what else there is afterwards.

use std::fs::{File, Permissions};
use std::io::Read as _;
use std::mem::MaybeUninit;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use ringfence::{Code, Durability, Lost, Mode, Session, TempAreas};
use rustix::fs::inotify;
use rustix::io::Errno;
use rustix::process::umask;

use super::{CHANGES, edit, names_in, read, write};
use crate::actor;
use crate::strace;
use crate::support::{
    Stage, Tree, as_user, each_session_on, file, hard, in_own_process, is_root, mode, offered,
    this_test,
};

fn mode_of(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn every_change_keeps_the_permissions_whatever_the_umask() {
    // The mask is the process's, and other tests run in it.
    let test = this_test!();
    in_own_process(test, || {
        if is_root() {
            keep_permissions();
        }
        as_user(test, keep_permissions);
    });
}

fn keep_permissions() {
    for mask in [0o022, 0o027, 0o077] {
        let before = umask(rustix::fs::Mode::from_raw_mode(mask));
        for bits in [0o755, 0o744, 0o700, 0o640, 0o600, 0o664] {
            each_session_on(&Tree::inside([file("f", "old")]), |stage, session| {
                let path = stage.root().join("f");
                for change in CHANGES {
                    std::fs::write(&path, "old").unwrap();
                    std::fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
                    let receipt = change(session, "f").unwrap();
                    assert_eq!(mode_of(&path), bits, "{bits:o} under {mask:o}");
                    assert_eq!(receipt.not_kept, []);
                }
            });
        }
        umask(before);
    }
}

#[test]
fn a_file_that_its_owner_may_not_write_is_refused_and_stays() {
    as_user(this_test!(), || {
        let tree = Tree::inside([file("f", "old"), mode("f", 0o444)]);
        each_session_on(&tree, |stage, session| {
            let before = stage.snapshot();
            for change in CHANGES {
                let error = change(session, "f").unwrap_err();
                assert_eq!(error.code(), Code::FsPermissionDenied, "{error}");
                stage.assert_unchanged(&before);
            }
        });
    });
}

#[test]
fn an_edit_leaves_no_copy_of_the_file() {
    let inside = [file("f", "old"), mode("f", 0o600), file("other", "")];
    each_session_on(&Tree::inside(inside), |stage, session| {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let watch = inotify::init(flags).unwrap();
        let came = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO;
        inotify::add_watch(&watch, stage.root(), came).unwrap();

        drop(edit(session, "f", "old", "new").unwrap());
        assert_eq!(names_in(stage.root()), ["f", "other"]);
        assert_eq!(mode_of(&stage.root().join("f")), 0o600);
        let mut buffer = [MaybeUninit::uninit(); 4_096];
        let mut events = inotify::Reader::new(&watch, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_bytes().to_vec());
                    let name = name.expect("it is about an entry");
                    let shown = String::from_utf8_lossy(&name);
                    assert!(name == b"f" || name.starts_with(b".ringfence-"), "{shown} was there");
                }
                Err(Errno::AGAIN) => break,
                Err(error) => panic!("{error}"),
            }
        }
    });
}

#[test]
fn nothing_is_written_into_the_file_that_is_there() {
    each_session_on(&Tree::inside([file("f", "old")]), |stage, session| {
        let path = stage.root().join("f");
        for change in CHANGES {
            std::fs::write(&path, "old").unwrap();
            let mut held = File::open(&path).unwrap();
            drop(change(session, "f").unwrap());
            let mut text = String::new();
            held.read_to_string(&mut text).unwrap();
            assert_eq!(text, "old");
            assert_eq!(held.metadata().unwrap().nlink(), 0, "it is replaced");
        }
    });
}

#[test]
fn what_is_written_is_told_so_though_its_directory_is_not_synced() {
    let test = this_test!();
    if let Some((kind, words)) = actor::part() {
        return write_in_full(kind.parse().unwrap(), Path::new(&words[0]));
    }
    if !strace::is_there("a directory that cannot be synced") {
        return;
    }
    for number in 0..offered().len() {
        // The content is synced first, and then the directory.
        for (faults, told) in
            [(&[][..], "full"), (&["-e", "inject=fsync:error=EIO:when=2"], "file")]
        {
            let stage = Stage::new(&Tree::inside([file("f", "old")]));
            let options = [&["-e", "trace=fsync"], faults].concat();
            let root = stage.root().to_str().unwrap();
            let traced = strace::run(&options, test, &number.to_string(), &[root]);
            assert_eq!(traced.said, format!("replaced {told}"), "{:#?}", traced.calls);
            assert_eq!(traced.count("fsync"), 2, "{:#?}", traced.calls);
            assert_eq!(std::fs::read_to_string(stage.root().join("f")).unwrap(), "new");
            assert_eq!(names_in(stage.root()), ["f"]);
        }
    }
}

fn write_in_full(kind: usize, root: &Path) {
    let kind = offered()[kind];
    let session = Session::builder()
        .workspace(root)
        .temps(TempAreas::none())
        .mode(Mode::WorkspaceWrite)
        .durability(Durability::Full)
        .exactly(kind.resolution, kind.confinement)
        .build()
        .unwrap();
    match write(&session, "f", "new") {
        Ok(receipt) => actor::tell(format_args!("{} {}", receipt.effect, receipt.durability)),
        Err(error) => actor::tell(error),
    }
}

#[test]
fn the_other_names_of_a_changed_file_keep_its_bytes() {
    for other in ["ROOT/other", "out/other"] {
        let beside = [file("out/there", "")];
        let tree = Tree::inside([file("f", "old"), hard("g", "ROOT/f")]).outside(beside);
        each_session_on(&tree, |stage, session| {
            let (path, other) = (stage.root().join("f"), stage.base().join(other));
            for change in CHANGES {
                std::fs::remove_file(stage.root().join("g")).unwrap();
                std::fs::write(&path, "old").unwrap();
                std::fs::hard_link(&path, stage.root().join("g")).unwrap();
                std::fs::hard_link(&path, &other).unwrap();
                assert_eq!(read(session, "f").text, "old");
                assert_eq!(read(session, &other).text, "old");
                let inode = path.metadata().unwrap().ino();
                let receipt = change(session, "f").unwrap();
                assert_eq!(receipt.not_kept, [Lost::HardLink(2)]);
                assert_ne!(path.metadata().unwrap().ino(), inode);
                for name in [&other, &stage.root().join("g")] {
                    assert_eq!(std::fs::read_to_string(name).unwrap(), "old");
                    assert_eq!(name.metadata().unwrap().ino(), inode);
                }
                std::fs::remove_file(&other).unwrap();
            }
        });
    }
}

#[test]
fn a_refusal_by_the_directory_says_so_and_nothing_changes() {
    as_user(this_test!(), || {
        let tree = Tree::inside([file("d/f", "old"), mode("d", 0o555)]);
        each_session_on(&tree, |stage, session| {
            let before = stage.snapshot();
            for change in CHANGES {
                let error = change(session, "d/f").unwrap_err();
                assert_eq!(error.code(), Code::FsPermissionDenied, "{error}");
                assert!(error.to_string().contains("it is the directory"), "{error}");
                stage.assert_unchanged(&before);
            }
        });
    });
}
