//! A command and the process that has started it are apart.

use super::super::*;
use super::support::{On, bash, on, within};

/// Tries to reach each thread of the process that has started it: by ptrace(2), by kill(2), by what
/// it has open. Says what it can.
const REACHES: &str = "exec perl -e 'my $own = getppid(); \
    for my $thread (glob \"/proc/$own/task/*\") { \
        my ($id) = $thread =~ /(\\d+)$/; \
        print \"traces\\n\" if syscall($ARGV[0] + 0, 0x4206, $id + 0, 0, 0) == 0; \
        print \"signals\\n\" if kill 0, $id; \
        print \"sees\\n\" if grep { readlink } glob \"$thread/fd/*\"; \
        print \"writes\\n\" if open my $memory, \"+<\", \"$thread/mem\"; } \
    print \"done\\n\"' \"$1\"";

/// The number of `ptrace`.
fn ptrace() -> &'static str {
    if std::env::consts::ARCH == "x86_64" { "101" } else { "117" }
}

#[test]
fn a_command_does_not_reach_what_has_started_it() {
    on(Runner::Landlock, |on: On| {
        let command = || bash(REACHES, &[ptrace().as_ref()]);
        // Several, since what one leaves behind another may find.
        let _others: Vec<_> =
            (0..3).map(|_| on.spawn(bash("sleep 300", &[]), within(&[]))).collect();
        for _ in 0..20 {
            assert_eq!(on.output(command(), within(&[])), "done\n");
        }
    });
}
