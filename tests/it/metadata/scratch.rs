//! A file in the making is at no moment more open than the one that it becomes.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD};

use super::{SOME_GROUP, SOMEBODY, as_root, as_root_and_user, replacements, set_mode, write};
use crate::effort::rounds;
use crate::stop::StopOnDrop;
use crate::support::{Stage, Tree, fence_on, file, offered, open_dir, this_test};

/// So often is a scratch file to be met while it is there.
const MEETINGS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(60);

/// Looks at every scratch file in `root` until `stop`, and counts those that were there.
fn watch(root: &Path, stop: &AtomicBool, met: &AtomicUsize) {
    let end = root.join("f").metadata().unwrap();
    let (user, group, mode) = (end.uid(), end.gid(), end.mode());
    let dir = open_dir(CWD, root).unwrap();
    while !stop.load(Ordering::Relaxed) {
        for entry in rustix::fs::Dir::read_from(&dir).unwrap() {
            let entry = entry.unwrap();
            if !entry.file_name().to_bytes().starts_with(b".ringfence-") {
                continue;
            }
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let Ok(found) = rustix::fs::statat(&dir, entry.file_name(), flags) else { continue };
            // What came out of an exchange is the old file, of which the same is asked.
            met.fetch_add(1, Ordering::Relaxed);
            // To another group, and the mask of a list, only what everybody has in the end.
            let to_group = if found.st_gid == group { mode } else { mode << 3 & mode };
            let allowed = mode & 0o707 | to_group & 0o070;
            let open = found.st_mode & 0o777 & !allowed;
            assert_eq!(open, 0, "{:o} for a file with {mode:o}", found.st_mode);
            assert!(found.st_uid == user || found.st_mode & 0o077 & !mode == 0);
        }
    }
}

/// Replaces the file until its scratch files have been met often enough.
fn replace_under_watch(prepare: impl Fn(&Stage)) {
    for kind in offered() {
        let stage = Stage::new(&Tree::inside([file("f", "old")]));
        prepare(&stage);
        let fence = fence_on(&stage, *kind);
        let (stop, met) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let _stop = StopOnDrop(&stop);
            let watching = scope.spawn(|| watch(stage.root(), &stop, &met));
            let began = Instant::now();
            while met.load(Ordering::Relaxed) < rounds(MEETINGS) && !watching.is_finished() {
                assert!(began.elapsed() < PATIENCE, "{kind}: {met:?} scratch files were met");
                for when in replacements(fence.as_ref(), "f") {
                    drop(write(fence.as_ref(), "f", when).unwrap());
                }
            }
        });
    }
}

#[test]
fn a_scratch_file_is_never_more_open_than_the_file() {
    as_root_and_user(this_test!(), || {
        for mode in [0o600, 0o640, 0o606, 0o644, 0o660] {
            replace_under_watch(|stage| {
                set_mode(&stage.root().join("f"), mode);
                set_mode(stage.root(), 0o2777);
            });
        }
    });
}

#[test]
fn a_scratch_file_does_not_open_to_the_group_of_its_directory() {
    as_root(this_test!(), || {
        for mode in [0o660, 0o640, 0o664] {
            replace_under_watch(|stage| {
                chown(stage.root().join("f"), Some(SOMEBODY), Some(SOME_GROUP)).unwrap();
                set_mode(&stage.root().join("f"), mode);
                chown(stage.root(), None, Some(SOME_GROUP + 1)).unwrap();
                set_mode(stage.root(), 0o2777);
            });
        }
    });
}

#[test]
fn a_scratch_file_does_not_open_to_those_whom_a_default_list_names() {
    as_root_and_user(this_test!(), || {
        let base = crate::support::Base::new();
        if super::acl::open_to_somebody(base.path()).is_err() {
            return crate::support::say("left out: scratch files beneath a default list: no lists");
        }
        replace_under_watch(|stage| {
            set_mode(&stage.root().join("f"), 0o600);
            super::acl::open_to_somebody(stage.root()).unwrap();
        });
    });
}
