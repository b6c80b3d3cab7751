//! A command under each runner, beside the same by `std::process` and no safety at all; with a small
//! memory and with a large one, which a copy of this process would pay for.

#![expect(clippy::disallowed_methods, reason = "the baseline is what a runner is compared with")]

use std::process::Command as StdCommand;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ringfence_platform::Roots;
use ringfence_platform::process::{
    Command, Ended, Happened, Restrictions, Runner, Runners, ShellEnforcement, Workdir,
};

/// How much memory this process holds, in MiB.
const RESIDENT: [usize; 2] = [0, 512];

fn by_std() {
    let status = StdCommand::new("/bin/true").status().expect("it can be started");
    assert!(status.success());
}

fn by_runner(runners: &Runners, restrictions: &Restrictions) {
    let command = Command::new("/bin/true", Workdir::open("/").expect("there is a root"));
    let plan = runners.confine(command, restrictions.clone(), ShellEnforcement::Partial);
    let mut child = plan.expect("it was proved").spawn().expect("it can be started");
    loop {
        match child.next(None).expect("it can be waited for") {
            Happened::Ended(Ended::Exited(0)) => break,
            Happened::Wrote(..) | Happened::Silent => {}
            other @ (Happened::Ended(_) | Happened::Late | _) => panic!("{other:?}"),
        }
    }
}

fn spawn(c: &mut Criterion) {
    let mut group = c.benchmark_group("spawn");
    let mut restrictions = Restrictions::default();
    let roots = Roots::open([std::env::temp_dir()]).expect("there is a temp directory");
    restrictions.roots = Some(roots);
    for size in RESIDENT {
        let resident = vec![1_u8; size << 20];
        group.bench_function(BenchmarkId::new("std::process", size), |b| b.iter(by_std));
        for runner in [Runner::Landlock, Runner::Bwrap] {
            let runners = Runners::only(runner);
            if runners.survey().iter().any(Result::is_err) {
                eprintln!("left out: {runner} is not usable here");
                continue;
            }
            group.bench_function(BenchmarkId::new(runner.to_string(), size), |b| {
                b.iter(|| by_runner(&runners, &restrictions));
            });
        }
        drop(std::hint::black_box(resident));
    }
    group.finish();
}

criterion_group!(benches, spawn);
criterion_main!(benches);
