//! What a command can change, and what it cannot.

use super::super::*;
use super::support::{On, bash, on_each_runner, place, tree, within};

on_each_runner! {
    every_change_works_beneath_a_root,
    no_change_works_elsewhere,
    nothing_can_be_changed_without_a_root,
    files_move_between_roots_and_never_out_of_them,
    the_safe_devices_can_be_written,
    shared_memory_is_private_or_denied,
    a_root_in_the_temporary_directory_is_the_hosts,
    a_root_that_was_renamed_is_still_the_root,
    a_command_that_writes_nothing_leaves_no_trace,
}

/// Each kind of change, in a directory that [`filled`] has made ready.
const CHANGES: [(&str, &str); 15] = [
    ("create", ": >\"$d/new\""),
    ("truncate", "truncate -s 0 \"$d/truncated\""),
    ("append", "echo more >>\"$d/appended\""),
    ("overwrite", "echo other 1<>\"$d/overwritten\""),
    ("unlink", "rm \"$d/unlinked\""),
    ("mkdir", "mkdir \"$d/made\""),
    ("rmdir", "rmdir \"$d/empty\""),
    ("rename", "mv \"$d/renamed\" \"$d/elsewhere\""),
    ("rename into", "mv \"$d/moved\" \"$d/dir/\""),
    ("replace", "mv -f \"$d/replacing\" \"$d/replaced\""),
    ("symlink", "ln -s target \"$d/link\""),
    ("hard link", "ln \"$d/linked\" \"$d/dir/\""),
    ("fifo", "mkfifo \"$d/fifo\""),
    ("chmod", "chmod 0700 \"$d/mode\""),
    ("touch", "touch -d @1 \"$d/times\""),
];

/// Those that Landlock does not mediate.
const METADATA: [&str; 2] = ["chmod", "touch"];

fn filled(dir: &std::path::Path) {
    for name in ["empty", "dir"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    for name in [
        "truncated",
        "appended",
        "overwritten",
        "unlinked",
        "renamed",
        "moved",
        "replacing",
        "replaced",
        "linked",
        "mode",
        "times",
    ] {
        std::fs::write(dir.join(name), "text").unwrap();
    }
}

/// Which changes succeed in the directory.
fn changes(on: &On, dir: &std::path::Path, restrictions: &Restrictions) -> Vec<&'static str> {
    let does = |(_, change): &&(&str, &str)| {
        let script = format!("d=$1; {change}");
        on.run(bash(&script, &[dir]), restrictions.clone()).ended == Ended::Exited(0)
    };
    CHANGES.iter().filter(does).map(|(name, _)| *name).collect()
}

fn every_change_works_beneath_a_root(on: On) {
    let place = place();
    filled(&place.inside);
    let all: Vec<_> = CHANGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(changes(&on, &place.inside, &within(&[&place.inside])), all);
}

/// The changes that a runner may let through outside.
fn let_through(on: &On) -> Vec<&'static str> {
    let held = on.runners.survey().pop().unwrap().unwrap();
    if held.gaps.contains(&ShellGap::Metadata) { METADATA.to_vec() } else { Vec::new() }
}

fn no_change_works_elsewhere(on: On) {
    let place = place();
    filled(&place.outside);
    let before = tree(&place.outside);
    let changed = changes(&on, &place.outside, &within(&[&place.inside]));
    assert_eq!(changed, let_through(&on));
    if changed.is_empty() {
        assert_eq!(tree(&place.outside), before);
    }
    let names = |tree: &std::collections::BTreeMap<_, _>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&tree(&place.outside)), names(&before));
}

fn nothing_can_be_changed_without_a_root(on: On) {
    let place = place();
    filled(&place.inside);
    assert_eq!(changes(&on, &place.inside, &within(&[])), let_through(&on));
}

fn files_move_between_roots_and_never_out_of_them(on: On) {
    let place = place();
    let other = place.base.path().join("other");
    std::fs::create_dir(&other).unwrap();
    for dir in [&place.inside, &place.outside] {
        std::fs::write(dir.join("file"), "text").unwrap();
    }
    let before = tree(&place.outside);
    let roots = within(&[&place.inside, &other]);
    let script = "mv \"$1/file\" \"$2/\" && mv \"$2/file\" \"$1/\"";
    on.output(bash(script, &[&place.inside, &other]), roots.clone());
    // Each root is a mount of its own there, and no link leads from one mount to another.
    let link = on.run(bash("ln \"$1/file\" \"$2/\"", &[&place.inside, &other]), roots.clone());
    assert_eq!(link.ended == Ended::Exited(0), on.runner == Runner::Landlock, "{}", link.err);
    for change in [
        "mv \"$1/file\" \"$2/new\"",
        "ln \"$1/file\" \"$2/new\"",
        "mv \"$2/file\" \"$1/new\"",
        "ln \"$2/file\" \"$1/new\" && echo other >\"$1/new\"",
        "ln -s \"$2/file\" \"$1/link\" && echo other >\"$1/link\"",
        "mv \"$2\" \"$1/dir\"",
    ] {
        let command = bash(change, &[&place.inside, &place.outside]);
        assert_ne!(on.run(command, roots.clone()).ended, Ended::Exited(0), "{change}");
        assert_eq!(tree(&place.outside), before, "{change}");
    }
}

fn the_safe_devices_can_be_written(on: On) {
    let script = "for name in null zero full; do : >/dev/$name || exit; done; \
        exec 9<>/dev/ptmx && exec script -qec 'echo on a terminal' /dev/null";
    assert!(on.output(bash(script, &[]), within(&[])).contains("on a terminal"));
}

fn shared_memory_is_private_or_denied(on: On) {
    let name = format!("/dev/shm/ringfence-{}-{}", std::process::id(), on.runner);
    let script = "ls -A /dev/shm | wc -l; : >\"$1\" && echo written";
    let outcome = on.run(bash(script, &[name.as_ref()]), within(&[]));
    match on.runner {
        Runner::Bwrap => assert_eq!(outcome.out, "0\nwritten\n"),
        Runner::Landlock | Runner::Seatbelt => assert_eq!(outcome.ended, Ended::Exited(1)),
    }
    assert!(!std::path::Path::new(&name).exists());
}

fn a_root_in_the_temporary_directory_is_the_hosts(on: On) {
    let place = place();
    let tmp = std::env::temp_dir();
    let script = "mktemp -d -p \"$1\" && : >\"$2/file\"";
    let made = on.output(bash(script, &[&tmp, &place.outside]), within(&[&tmp]));
    std::fs::remove_dir(made.trim_end()).unwrap();
    assert!(place.outside.join("file").exists());
}

fn a_root_that_was_renamed_is_still_the_root(on: On) {
    let place = place();
    let restrictions = within(&[&place.inside]);
    let moved = place.base.path().join("moved");
    std::fs::rename(&place.inside, &moved).unwrap();
    std::fs::create_dir(&place.inside).unwrap();
    let script = "echo text >\"$1/file\"; ! echo text >\"$2/file\"";
    on.output(bash(script, &[&moved, &place.inside]), restrictions);
    assert!(moved.join("file").exists());
    assert!(!place.inside.join("file").exists());
}

fn a_command_that_writes_nothing_leaves_no_trace(on: On) {
    let place = place();
    filled(&place.inside);
    std::fs::create_dir_all(place.inside.join(".git/hooks")).unwrap();
    let before = tree(place.base.path());
    let protected = [".git/hooks", ".git/config", ".env", "no/such/file"];
    let restrictions = super::support::protecting(&place.inside, &protected);
    let mut child = on.spawn(bash("echo ready; exec sleep 300", &[]), restrictions);
    super::support::until_ready(&mut child);
    assert_eq!(tree(place.base.path()), before);
    child.kill();
    drop(child);
    assert_eq!(tree(place.base.path()), before);
}
