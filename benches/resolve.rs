//! Looking and reading, by depth, each beside the same by an absolute path and no safety at all.

#![expect(clippy::disallowed_methods, reason = "the baseline is what a fence is compared with")]

mod stage;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ringfence_platform::{Confinement, Follow};
use stage::{DEPTHS, Stage};

const CONTENTS: [u8; 4096] = [b'x'; 4096];

fn read_all(mut file: &File) -> usize {
    let mut buffer = [0; CONTENTS.len() + 1];
    file.read(&mut buffer).expect("it can be read")
}

fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("read 4 KiB");
    for depth in DEPTHS {
        let stage = Stage::new(depth, &CONTENTS);
        let path = stage.path(&stage.beneath);
        group.bench_function(BenchmarkId::new("std::fs", depth), |b| {
            b.iter(|| read_all(&File::open(black_box(&stage.file)).expect("it is there")));
        });
        for (name, fence) in stage.fences() {
            // Reads never leave the caller's thread.
            if fence.assurance().confinement == Confinement::Nothing {
                group.bench_function(BenchmarkId::new(name, depth), |b| {
                    b.iter(|| read_all(&fence.open(black_box(&path)).expect("it is there").file));
                });
            }
        }
    }
}

fn stat(c: &mut Criterion) {
    let mut group = c.benchmark_group("stat");
    for depth in DEPTHS {
        let stage = Stage::new(depth, &CONTENTS);
        let path = stage.path(&stage.beneath);
        group.bench_function(BenchmarkId::new("std::fs", depth), |b| {
            b.iter(|| fs::symlink_metadata(black_box(&stage.file)).expect("it is there"));
        });
        for (name, fence) in stage.fences() {
            if fence.assurance().confinement == Confinement::Nothing {
                group.bench_function(BenchmarkId::new(name, depth), |b| {
                    b.iter(|| fence.stat(black_box(&path), Follow::No).expect("it is there"));
                });
            }
        }
    }
}

criterion_group!(benches, read, stat);
criterion_main!(benches);
