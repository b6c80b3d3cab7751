//! Ways out of the mounts of a command.

use super::super::*;
use super::lack::{Lack, without};
use super::support::{On, bash, on, place, tree, within};

/// Each tries to make the file `$1`, which lies outside. `$2` is the process that embeds.
const WAYS_OUT: [&str; 14] = [
    ": >\"$1\"",
    "mount -o remount,rw / && : >\"$1\"",
    "mount -o remount,rw,bind / && : >\"$1\"",
    "umount -l / ; : >\"$1\"",
    "umount -l /proc ; : >\"/proc/$2/root$1\"",
    ": >\"/proc/$PPID/root$1\"",
    ": >\"/proc/1/root$1\"",
    ": >\"/proc/self/root$1\"",
    "nsenter -t 1 -m -- touch \"$1\"",
    "nsenter -t \"$2\" -m -- touch \"$1\"",
    "unshare -m -- sh -c 'mount -o remount,rw / ; mount -o remount,bind,rw / ; : >\"$1\"' sh \"$1\"",
    "unshare -Urm -- sh -c 'mount -o remount,rw / ; mount -o remount,bind,rw / ; umount -l / ; \
        : >\"$1\"' sh \"$1\"",
    "unshare -Urmpf --mount-proc -- sh -c ': >\"/proc/1/root$1\" ; : >\"$1\"' sh \"$1\"",
    "mknod \"$3/disk\" b 254 0 && : >\"$3/disk\"",
];

fn nobody_gets_out(on: On) {
    let place = place();
    let before = tree(&place.outside);
    let own = std::process::id().to_string();
    let target = place.outside.join("file");
    for way in WAYS_OUT {
        let words = [&*target, own.as_ref(), &*place.inside];
        let outcome = on.run(bash(way, &words), within(&[&place.inside]));
        assert_ne!(outcome.ended, Ended::Exited(0), "{way}: {}", outcome.err);
        assert_eq!(tree(&place.outside), before, "{way}");
    }
}

fn nobody_has_a_capability(on: On) {
    let script =
        "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs)' /proc/self/status | cut -f 2 | sort -u";
    assert_eq!(on.output(bash(script, &[]), within(&[])), "0000000000000000\n1\n");
}

fn root_writes_no_settings_of_the_kernel(on: On) {
    // Others may write those of their own namespaces.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let script = "find /proc/sys /proc/irq /proc/bus /proc/fs /proc/sysrq-trigger /sys -writable \
        -type f 2>/dev/null";
    assert_eq!(on.run(bash(script, &[]), within(&[])).out, "");
}

/// What holds with a user namespace of its own, and for root without.
const ALWAYS: [fn(On); 3] =
    [nobody_gets_out, nobody_has_a_capability, root_writes_no_settings_of_the_kernel];

#[test]
fn there_is_no_way_out_of_the_mounts_of_a_command() {
    for promise in ALWAYS {
        on(Runner::Bwrap, promise);
    }
}

#[test]
fn there_is_none_without_a_user_namespace_either() {
    without([Lack::UserNamespaces], || {
        for promise in ALWAYS {
            on(Runner::Bwrap, promise);
        }
    });
}

#[test]
fn what_is_written_in_dev_fails_and_does_not_vanish() {
    on(Runner::Bwrap, |on: On| {
        assert_eq!(on.run(bash(": >/dev/file", &[]), within(&[])).ended, Ended::Exited(1));
    });
}

#[test]
fn processes_outside_are_not_seen() {
    on(Runner::Bwrap, |on: On| {
        let script = "kill -0 \"$1\" 2>/dev/null || echo /proc/[0-9]*";
        let own = std::process::id().max(1_000_000_000).to_string();
        assert_eq!(on.output(bash(script, &[own.as_ref()]), within(&[])), "/proc/1 /proc/2\n");
    });
}

#[test]
fn a_command_without_a_network_has_none() {
    on(Runner::Bwrap, |on: On| {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = format!(": >/dev/tcp/127.0.0.1/{port}");
        assert_eq!(on.run(bash(&script, &[]), within(&[])).ended, Ended::Exited(0));
        let denied = Restrictions { network: Network::Denied, ..within(&[]) };
        assert_eq!(on.run(bash(&script, &[]), denied).ended, Ended::Exited(1));
    });
}

#[test]
fn a_directory_that_is_not_where_it_was_is_the_runners_failure() {
    on(Runner::Bwrap, |on: On| {
        let mut command = bash("echo ran", &[]);
        // Every command has its own there.
        command.workdir = Workdir::open("/dev/shm").unwrap();
        match on.plan(command, within(&[])).spawn() {
            Err(SpawnError::Runner(why)) => {
                assert_eq!(why.to_string(), "a directory is not at its path as it was opened");
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn what_bubblewrap_says_is_why_it_failed() {
    on(Runner::Bwrap, |on: On| {
        let base = place();
        let mut command = bash("echo ran", &[]);
        command.workdir = Workdir::open(&base.inside).unwrap();
        std::fs::remove_dir(&base.inside).unwrap();
        match on.plan(command, within(&[])).spawn() {
            Err(SpawnError::Runner(why)) => {
                assert!(why.to_string().starts_with("bwrap: Can't chdir"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    });
}
