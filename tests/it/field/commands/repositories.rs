//! Repositories: what is committed, and what is protected in them.

use std::path::Path;
use std::process::Command;

use ringfence::{Ending, Run, Runner, Session, ShellGap};

use super::super::names_in;
use super::settings;
use crate::shell::{run, service, stderr, stdout, usable};
use crate::support::{Stage, Tree, as_user, file, say, this_test};

/// Runs git on the stage, outside of any runner.
fn git(at: &Path, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=a@b.c"]).args(words).current_dir(at);
    command.env("HOME", at).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A repository in which nothing was committed, with another one in it.
fn repository() -> Option<Stage> {
    let stage = Stage::new(&Tree::inside([file("f", "old"), file("sub/f", "old")]));
    for at in [stage.root().to_owned(), stage.root().join("sub")] {
        let made = git(&at, &["-c", "init.templateDir=", "init", "-q"])
            .and_then(|_| git(&at, &["config", "user.name", "n"]))
            .and_then(|_| git(&at, &["config", "user.email", "a@b.c"]));
        if made.is_none() {
            say(format_args!("left out: repositories: git cannot be run here"));
            return None;
        }
        std::fs::create_dir_all(at.join(".git/hooks")).unwrap();
        std::fs::write(at.join(".git/hooks/own"), "old").unwrap();
    }
    Some(stage)
}

fn protecting(stage: &Stage, runner: Runner, places: &[&str]) -> Session {
    service(settings(stage, runner).protected_subpaths(places)).session().open().unwrap()
}

/// Runs a command as a person would in this repository.
#[track_caller]
fn done(session: &Session, stage: &Stage, command: &str) -> String {
    let ran = session.run(Run::new(command).env("HOME", stage.root())).unwrap();
    assert_eq!(ran.ending, Ending::Exited(0), "{command}: {}", stderr(&ran));
    stdout(&ran).to_owned()
}

const HOOKS: [&str; 3] = [".git/hooks", ".git/config", "sub/.git/hooks"];

/// Each tries to change what is protected.
const WAYS_IN: [&str; 6] = [
    "echo x > .git/hooks/pre-commit",
    "echo x > sub/.git/hooks/pre-commit",
    "git config user.name other",
    "echo x > .git/x; mv .git/x .git/hooks/pre-commit",
    "mv .git g2 && echo x > g2/hooks/pre-commit; mv g2 .git",
    "rm -rf .git/hooks",
];

fn commits(runner: Runner) {
    let Some(stage) = repository() else { return };
    let session = protecting(&stage, runner, &HOOKS);
    done(&session, &stage, "git add f && git commit -qm one && git -C sub add f");
    let hooks = || ["", "sub/"].map(|at| names_in(&stage.root().join(format!("{at}.git/hooks"))));
    let config = || std::fs::read_to_string(stage.root().join(".git/config")).unwrap();
    let (before, config_before) = (hooks(), config());
    for way in WAYS_IN {
        let ran = session.run(Run::new(way).env("HOME", stage.root())).unwrap();
        if ran.sandbox.gaps().contains(&ShellGap::ProtectedSubpaths) {
            assert_eq!(runner, Runner::Landlock, "{way}");
            continue;
        }
        assert!(matches!(ran.ending, Ending::Exited(1..)), "{way} by {runner}: {ran:?}");
        assert_eq!((hooks(), config()), (before.clone(), config_before.clone()), "{way}");
    }
}

fn is_emptied(runner: Runner) {
    let Some(stage) = repository() else { return };
    let objects = stage.root().join(".git/objects");
    let before = names_in(&objects);
    let ran = run(&protecting(&stage, runner, &[".git/objects"]), "rm -rf .git/objects");
    if !ran.sandbox.gaps().contains(&ShellGap::ProtectedSubpaths) {
        assert!(matches!(ran.ending, Ending::Exited(1..)), "{runner}: {ran:?}");
        assert_eq!(names_in(&objects), before);
    }
    done(&protecting(&stage, runner, &HOOKS), &stage, "rm -rf .git/objects");
    assert!(!objects.exists());
}

fn status_is_clean(runner: Runner) {
    let Some(stage) = repository() else { return };
    let session = protecting(&stage, runner, &[".git/hooks", ".env", ".agent/settings"]);
    done(&session, &stage, "git add f && git commit -qm one");
    let status = "git status --porcelain -- . ':!sub'";
    assert_eq!(done(&session, &stage, status), "");
    let after = git(stage.root(), &["status", "--porcelain", "--", ".", ":!sub"]);
    assert_eq!(after.as_deref(), Some(""));
}

const PROMISES: [fn(Runner); 3] = [commits, is_emptied, status_is_clean];

#[test]
fn commits_work_and_what_is_protected_is_held_or_named_as_a_gap() {
    for runner in usable() {
        PROMISES.iter().for_each(|promise| promise(runner));
    }
}

#[test]
fn they_work_for_an_ordinary_user() {
    as_user(this_test!(), || {
        for runner in usable() {
            PROMISES.iter().for_each(|promise| promise(runner));
        }
    });
}
