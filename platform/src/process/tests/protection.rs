//! What is protected beneath a root.

use std::path::Path;

use super::super::*;
use super::support::{On, bash, on, place, protecting, tree, within};

/// Each tries to change what is in `.git/hooks` of the directory that it runs in.
const WAYS_IN: [&str; 12] = [
    "echo other >.git/hooks/own",
    ": >.git/hooks/new",
    "rm .git/hooks/own",
    "chmod 0 .git/hooks/own",
    "chmod 0 .git/hooks",
    "rm -rf .git/hooks",
    "mv .git/hooks .git/h2",
    "mv -T .git/other .git/hooks",
    "mv .git g2 && echo other >g2/hooks/own",
    "mv -T dir .git",
    "rm -rf .git",
    "mv .git/other/file .git/hooks/own",
];

fn repository(place: &Path) {
    for dir in [".git/hooks", ".git/other", "dir"] {
        std::fs::create_dir_all(place.join(dir)).unwrap();
    }
    for file in [".git/hooks/own", ".git/other/file"] {
        std::fs::write(place.join(file), "text").unwrap();
    }
}

#[test]
fn a_protected_directory_and_those_above_it_cannot_be_changed_or_moved() {
    on(Runner::Bwrap, |on: On| {
        for way in WAYS_IN {
            let place = place();
            repository(&place.inside);
            let hooks = place.inside.join(".git/hooks");
            let before = tree(&hooks);
            let mut command = bash(way, &[]);
            command.workdir = Workdir::open(&place.inside).unwrap();
            let outcome = on.run(command, protecting(&place.inside, &[".git/hooks"]));
            assert_ne!(outcome.ended, Ended::Exited(0), "{way}");
            assert_eq!(tree(&hooks), before, "{way}");
        }
    });
}

#[test]
fn what_lies_beside_it_can_be_changed() {
    on(Runner::Bwrap, |on: On| {
        let place = place();
        repository(&place.inside);
        let script = "echo text >.git/config; rm .git/other/file; mkdir .git/new; mv dir dir2; \
            mv .git/other .git/renamed";
        let mut command = bash(&format!("set -e; {script}"), &[]);
        command.workdir = Workdir::open(&place.inside).unwrap();
        let protected = [".git/hooks", ".git/hooks/own", ".git/hooks/deep/er"];
        on.output(command, protecting(&place.inside, &protected));
        assert!(place.inside.join("dir2").is_dir() && place.inside.join(".git/renamed").is_dir());
    });
}

#[test]
fn a_protected_file_cannot_be_changed() {
    on(Runner::Bwrap, |on: On| {
        let place = place();
        std::fs::write(place.inside.join("file"), "text").unwrap();
        let before = tree(&place.inside.join("file"));
        let script = "cd \"$1\"; echo other >file; rm file; mv file other; : >other; mv other file";
        let restrictions = protecting(&place.inside, &["file"]);
        let outcome = on.run(bash(script, &[&place.inside]), restrictions);
        assert_eq!(outcome.ended, Ended::Exited(1));
        assert_eq!(tree(&place.inside.join("file")), before);
    });
}

#[test]
fn the_root_itself_can_be_protected() {
    on(Runner::Bwrap, |on: On| {
        let place = place();
        let restrictions = protecting(&place.inside, &[""]);
        let outcome = on.run(bash(": >\"$1/file\"", &[&place.inside]), restrictions);
        assert_eq!(outcome.ended, Ended::Exited(1));
    });
}

#[test]
fn a_protected_path_is_looked_up_anew_for_each_command() {
    on(Runner::Bwrap, |on: On| {
        let place = place();
        let write = || bash("echo text >\"$1/late\"", &[&place.inside]);
        let restrictions = protecting(&place.inside, &["late"]);
        assert_eq!(on.run(write(), restrictions.clone()).ended, Ended::Exited(0));
        assert_eq!(on.run(write(), restrictions).ended, Ended::Exited(1));
    });
}

#[test]
fn a_protected_path_over_a_link_is_not_guessed_at() {
    on(Runner::Bwrap, |on: On| {
        let place = place();
        std::fs::create_dir_all(place.inside.join("real/hooks")).unwrap();
        std::os::unix::fs::symlink("real", place.inside.join("link")).unwrap();
        for path in ["link", "link/hooks"] {
            let restrictions = protecting(&place.inside, &[path]);
            let required = ShellEnforcement::Partial;
            let NoRunner(why) =
                on.runners.confine(bash(":", &[]), restrictions, required).unwrap_err();
            assert!(why[0].why.contains("symbolic link"), "{why:?}");
        }
    });
}

#[test]
fn many_protected_paths_are_taken_and_too_many_are_refused() {
    on(Runner::Bwrap, |on: On| {
        let place = place();
        let names: Vec<_> = (0..5000).map(|number| format!("d/{number}")).collect();
        std::fs::create_dir(place.inside.join("d")).unwrap();
        for name in &names[..100] {
            std::fs::write(place.inside.join(name), "").unwrap();
        }
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let restrictions = protecting(&place.inside, &names);
        let script = "cd \"$1/d\"; echo text >99; echo text >100";
        on.output(bash(script, &[&place.inside]), restrictions.clone());
        let length = |name: &str| place.inside.join("d").join(name).metadata().unwrap().len();
        assert_eq!((length("99"), length("100")), (0, 5));
        for name in &names {
            std::fs::write(place.inside.join(name), "").unwrap();
        }
        let required = ShellEnforcement::Partial;
        let NoRunner(why) = on.runners.confine(bash(":", &[]), restrictions, required).unwrap_err();
        assert!(why[0].why.contains("more than"), "{why:?}");
    });
}

#[test]
fn a_commit_is_made_while_the_hooks_are_protected() {
    on(Runner::Bwrap, |on: On| {
        let place = place();
        let script = "cd \"$1\" && git init -q . && : >file";
        let outcome = on.run(bash(script, &[&place.inside]), within(&[&place.inside]));
        if outcome.ended != Ended::Exited(0) {
            return eprintln!("ringfence: left out: there is no git: {}", outcome.err);
        }
        let script = "cd \"$1\" && git add file && git -c user.name=u -c user.email=u@example.org \
            commit -q -m text && git status --porcelain";
        let restrictions = protecting(&place.inside, &[".git/hooks"]);
        assert_eq!(on.output(bash(script, &[&place.inside]), restrictions), "");
    });
}
