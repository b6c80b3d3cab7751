//! Diffs within their deadline, each beside the same search without one.

use std::fmt::Write as _;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ringfence::{Diff, DiffLimits};
use similar::{Algorithm, capture_diff_slices};

/// Texts by what makes them slow.
fn pairs() -> Vec<(&'static str, String, String)> {
    let lines = |count: u64, line: &dyn Fn(u64) -> u64| {
        (0..count).fold(String::new(), |mut text, number| {
            writeln!(text, "line {}", line(number)).expect("a String takes everything");
            text
        })
    };
    let of_few = |salt: u64| move |number: u64| mixed(number ^ salt) % 3;
    let of_all = |salt: u64| move |number: u64| mixed(number ^ salt);
    let half = |salt: u64| move |number: u64| number ^ (salt * (number % 2));
    vec![
        ("4,000 lines, all others", lines(4_000, &of_all(0)), lines(4_000, &of_all(1 << 40))),
        ("4,000 lines, every other", lines(4_000, &half(0)), lines(4_000, &half(1 << 40))),
        ("4,000 lines, of three kinds", lines(4_000, &of_few(0)), lines(4_000, &of_few(1 << 40))),
        ("100,000 lines, all others", lines(100_000, &of_all(0)), lines(100_000, &of_all(1 << 40))),
        (
            "100,000 lines, of three kinds",
            lines(100_000, &of_few(0)),
            lines(100_000, &of_few(1 << 40)),
        ),
        ("one line of 5 MB", "a".repeat(5_000_000) + "b", "a".repeat(5_000_000) + "c"),
    ]
}

/// A number that looks like any other (Steele's and Lea's mixer).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn diff(c: &mut Criterion) {
    let mut group = c.benchmark_group("diff");
    group.sample_size(10);
    for (name, before, after) in pairs() {
        group.bench_function(BenchmarkId::new("no deadline", name), |b| {
            b.iter(|| {
                let [old, new] =
                    [&before, &after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
                capture_diff_slices(Algorithm::Myers, &old, &new)
            });
        });
        group.bench_function(BenchmarkId::new("Diff::between", name), |b| {
            b.iter(|| Diff::between(before.as_bytes(), &after, DiffLimits::default()));
        });
    }
}

criterion_group!(benches, diff);
criterion_main!(benches);
