//! Changes, by depth, each beside the same by an absolute path and no safety at all.

#![expect(clippy::disallowed_methods, reason = "the baseline is what a fence is compared with")]

mod stage;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use ringfence_platform::{
    Durability, Fence, Mutation, Parents, Precondition, Receipt, Removal, RootedPath, Terms,
};
use stage::{DEPTHS, Stage};

const CONTENTS: [u8; 4096] = [b'x'; 4096];

/// Runs `baseline`, and `change` on every fence, at each depth.
fn compare(
    group: &mut BenchmarkGroup<'_, WallTime>,
    baseline: impl Fn(&Path),
    change: impl Fn(&dyn Fence, &Stage),
) {
    for depth in DEPTHS {
        let stage = Stage::new(depth, &CONTENTS);
        group.bench_function(BenchmarkId::new("std::fs", depth), |b| {
            b.iter(|| baseline(&stage.file));
        });
        for (name, fence) in stage.fences() {
            group.bench_function(BenchmarkId::new(name, depth), |b| {
                b.iter(|| change(&*fence, &stage));
            });
        }
    }
}

fn write(
    fence: &dyn Fence,
    path: RootedPath,
    when: Precondition,
    durability: Durability,
) -> Receipt {
    // What is there already would not be written.
    static ROUND: AtomicU8 = AtomicU8::new(0);
    let mut contents = CONTENTS.to_vec();
    contents[0] = ROUND.fetch_add(1, Ordering::Relaxed);
    let terms = Terms { durability, ..Terms::default() };
    let mutation = Mutation::Write { path, contents, when, parents: Parents::Require };
    fence.apply(mutation, &terms).expect("it is beneath the root")
}

/// What a careful program does that knows of no fence: a scratch file, renamed over the old one.
fn replace_by_std(path: &Path, sync: bool) {
    let scratch = path.with_extension("scratch");
    fs::write(&scratch, CONTENTS).expect("it can be written");
    if sync {
        fs::File::open(&scratch).and_then(|file| file.sync_all()).expect("it can be synced");
    }
    fs::rename(&scratch, path).expect("it can be renamed");
}

fn replace(c: &mut Criterion) {
    compare(
        &mut c.benchmark_group("replace 4 KiB"),
        |file| replace_by_std(file, false),
        |fence, stage| {
            let path = stage.path(&stage.beneath);
            drop(write(fence, path, Precondition::None, Durability::None));
        },
    );
}

fn replace_synced(c: &mut Criterion) {
    compare(
        &mut c.benchmark_group("replace 4 KiB, synced"),
        |file| replace_by_std(file, true),
        |fence, stage| {
            let path = stage.path(&stage.beneath);
            drop(write(fence, path, Precondition::None, Durability::File));
        },
    );
}

/// Read, and write back only over what was read.
fn edit(c: &mut Criterion) {
    compare(
        &mut c.benchmark_group("edit 4 KiB, guarded"),
        |file| {
            fs::read(file).expect("it can be read");
            replace_by_std(file, false);
        },
        |fence, stage| {
            let path = stage.path(&stage.beneath);
            let stamp = fence.open(&path).expect("it is there").stamp;
            let when = Precondition::Matches { stamp, digest: None };
            drop(write(fence, path, when, Durability::None));
        },
    );
}

fn create_and_remove(c: &mut Criterion) {
    compare(
        &mut c.benchmark_group("create and remove 4 KiB"),
        |file| {
            let new = file.with_file_name("new");
            fs::write(&new, CONTENTS).expect("it can be written");
            fs::remove_file(&new).expect("it can be removed");
        },
        |fence, stage| {
            let path = stage.path(stage.beneath.with_file_name("new"));
            drop(write(fence, path.clone(), Precondition::Absent, Durability::None));
            let remove = Mutation::Remove { path, what: Removal::File };
            drop(fence.apply(remove, &Terms::default()).expect("it is there"));
        },
    );
}

criterion_group!(benches, replace, replace_synced, edit, create_and_remove);
criterion_main!(benches);
