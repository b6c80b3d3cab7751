//! Writers that know nothing of fences.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ringfence_platform::{ErrorKind, Fence};
use rustix::fs::{CWD, RenameFlags};

use super::{is_scratch, names_in, read, write};
use crate::effort::rounds;
use crate::stop::StopOnDrop;
use crate::support::{Stage, Tree, fence_on, file, offered};

const FOREIGN: usize = 150;
const GUARDED: usize = 2;
const PATIENCE: Duration = Duration::from_secs(60);

fn text(fence: &dyn Fence) -> String {
    String::from_utf8(read(fence, "f").0).unwrap()
}

/// A file that lies beside `path`, for a foreign writer to publish.
fn prepared(path: &Path, contents: &str) -> PathBuf {
    let beside = path.with_extension("foreign");
    std::fs::write(&beside, contents).unwrap();
    beside
}

/// What came of the guarded writers.
#[derive(Debug, Default)]
struct Guarded {
    tries: AtomicUsize,
    stop: AtomicBool,
    /// The lines that were answered with success, with the contents they were added to.
    done: Mutex<Vec<(String, String)>>,
    /// The lines that were answered with `Stale`.
    stale: Mutex<Vec<String>>,
    /// The files that could not be put back.
    stranded: Mutex<Vec<PathBuf>>,
}

impl Guarded {
    /// Adds lines to what is there.
    fn write(&self, fence: &dyn Fence, name: usize) {
        for number in 0.. {
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            let line = format!("guarded {name} {number}\n");
            let (bytes, unchanged) = read(fence, "f");
            let old = String::from_utf8(bytes).unwrap();
            match write(fence, "f", format!("{old}{line}").as_bytes(), unchanged) {
                Ok(_) => self.done.lock().unwrap().push((line, old)),
                Err(error) if error.kind() == ErrorKind::Stale => {
                    self.stale.lock().unwrap().push(line);
                    self.stranded.lock().unwrap().extend(error.stranded().map(PathBuf::from));
                }
                Err(error) => panic!("{error:?}"),
            }
            self.tries.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn a_file_renamed_into_place_by_a_foreign_writer_is_never_lost() {
    for kind in offered() {
        let stage = Stage::new(&Tree::inside([file("f", "foreign 0\n")]));
        let fence = fence_on(&stage, *kind);
        let (fence, path) = (fence.as_ref(), stage.root().join("f"));
        let (guarded, foreign) = (Guarded::default(), rounds(FOREIGN));
        std::thread::scope(|scope| {
            let _stop = StopOnDrop(&guarded.stop);
            for name in 0..GUARDED {
                let guarded = &guarded;
                scope.spawn(move || guarded.write(fence, name));
            }
            for number in 1..foreign {
                let line = format!("foreign {number}\n");
                std::fs::rename(prepared(&path, &line), &path).unwrap();
                // Some guarded writer has begun after that, and one has ended.
                let tries = guarded.tries.load(Ordering::SeqCst);
                let began = Instant::now();
                // What is taken back may be seen for a moment, so one look is not enough.
                while guarded.tries.load(Ordering::SeqCst) < tries + 2
                    || !text(fence).starts_with(&line)
                {
                    assert!(began.elapsed() < PATIENCE, "{kind}: {line:?} is lost");
                }
            }
        });
        let found = text(fence);
        let last = format!("foreign {}\n", foreign - 1);
        assert!(found.starts_with(&last), "{kind}: {found}");
        let stale = guarded.stale.into_inner().unwrap();
        let done = guarded.done.into_inner().unwrap();
        assert!(!stale.is_empty() && !done.is_empty(), "{kind}: there was no race");
        for line in &stale {
            assert!(!found.contains(line.as_str()), "{kind}: {line:?} was stale and is there");
        }
        let after_last = done.iter().filter(|(_, old)| old.starts_with(&last));
        let expected: BTreeSet<_> = after_last.map(|(line, _)| line.as_str()).collect();
        let lines: BTreeSet<_> = found.split_inclusive('\n').skip(1).collect();
        assert_eq!(lines, expected, "{kind}: what was answered with success is there");
        assert_leftovers(stage.root(), &guarded.stranded.into_inner().unwrap());
    }
}

/// An exchange shows a foreign writer what it replaced. So each content must have been replaced
/// exactly once, by somebody who knew it, but the last.
#[test]
fn every_content_is_replaced_by_one_who_saw_it() {
    for kind in offered() {
        let stage = Stage::new(&Tree::inside([file("f", "foreign 0\n")]));
        let fence = fence_on(&stage, *kind);
        let (fence, path) = (fence.as_ref(), stage.root().join("f"));
        let (guarded, foreign) = (Guarded::default(), rounds(FOREIGN));
        let mut replaced = Vec::new();
        std::thread::scope(|scope| {
            let _stop = StopOnDrop(&guarded.stop);
            for name in 0..GUARDED {
                let guarded = &guarded;
                scope.spawn(move || guarded.write(fence, name));
            }
            let began = Instant::now();
            for number in 1..foreign {
                let tries = guarded.tries.load(Ordering::SeqCst);
                while guarded.tries.load(Ordering::SeqCst) == tries {
                    assert!(began.elapsed() < PATIENCE, "{kind}: nobody else writes");
                    std::thread::yield_now();
                }
                let mine = prepared(&path, &format!("foreign {number}\n"));
                let flags = RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, &mine, CWD, &path, flags).unwrap();
                replaced.push(std::fs::read_to_string(mine).unwrap());
            }
        });
        std::fs::remove_file(path.with_extension("foreign")).unwrap();
        let stale = guarded.stale.into_inner().unwrap();
        let stranded = guarded.stranded.into_inner().unwrap();
        let done = guarded.done.into_inner().unwrap();
        replaced.extend(done.iter().map(|(_, old)| old.clone()));
        replaced.extend(
            stranded.iter().map(|p| std::fs::read_to_string(stage.root().join(p)).unwrap()),
        );
        replaced.push(text(fence));
        // One that was there for a moment and taken back is nobody's to lose.
        replaced.retain(|contents| !stale.iter().any(|line| contents.ends_with(line)));
        let distinct: BTreeSet<_> = replaced.iter().collect();
        assert_eq!(distinct.len(), replaced.len(), "{kind}: one was replaced twice");
        let published = (0..foreign).map(|number| format!("foreign {number}\n"));
        for contents in published.chain(done.iter().map(|(line, old)| format!("{old}{line}"))) {
            assert!(distinct.contains(&contents), "{kind}: {contents:?} is lost");
        }
        assert_leftovers(stage.root(), &stranded);
    }
}

/// Nothing is left but what an error told of.
fn assert_leftovers(root: &Path, stranded: &[PathBuf]) {
    let left: Vec<_> = names_in(root).into_iter().filter(|name| is_scratch(name)).collect();
    let mut told: Vec<_> = stranded.iter().map(|path| path.to_str().unwrap()).collect();
    told.sort_unstable();
    assert_eq!(left, told);
}
