//! Commands that are confined within commands.

use std::process::Command;

use landlock::{AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _};
use ringfence::{Approval, Code, Ending, Enforcement, Mode, ModeSource, Run, Runner};

use super::super::write;
use super::{asking, assert_unavailable, session, settings, stage};
use crate::actor::{self, Actor};
use crate::shell::{run, usable};
use crate::strace;
use crate::support::{Person, say, this_test};

/// Renames and links between directories, as every layer has to grant them.
const MOVES: &str = "mkdir a b && mv f a/ && mv a/f b/x && ln b/x a/y && mv a b/";

#[test]
fn three_levels_of_runners_let_files_move_between_directories() {
    let runners = usable();
    if !runners.contains(&Runner::Landlock) {
        return say(format_args!("left out: runners in runners: there is no landlock"));
    }
    let own = env!("CARGO_BIN_EXE_ringfence");
    let bwrap = runners.contains(&Runner::Bwrap).then_some(&["--protect", "d"][..]);
    for outermost in [Some(&[][..]), bwrap].into_iter().flatten() {
        let stage = stage();
        let before = stage.snapshot();
        let mut command = Command::new(own);
        command.args(["--mode", "workspace-write"]);
        command.current_dir(stage.root()).env("TMPDIR", "/tmp").arg("exec").args(outermost);
        for _ in 0..2 {
            command.args(["--", own, "--mode", "workspace-write", "exec"]);
        }
        command.args(["--", "bash", "-c", MOVES]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{outermost:?}: {output:?}");
        assert!(stage.root().join("b/a/y").is_file());
        stage.assert_outside_unchanged(&before);
    }
}

/// Has this thread in so many layers of Landlock that forbid nothing.
fn enter(layers: usize) {
    for _ in 0..layers {
        let ruleset = Ruleset::default().handle_access(AccessFs::Refer).unwrap().create().unwrap();
        let everything = PathBeneath::new(PathFd::new("/").unwrap(), AccessFs::Refer);
        ruleset.add_rule(everything).unwrap().restrict_self().unwrap();
    }
}

#[test]
fn where_the_layers_are_used_up_that_is_said_and_no_denial() {
    if let Some((layers, _)) = actor::part() {
        enter(layers.parse().unwrap());
        let stage = stage();
        let person = Person::who_says(Approval::AllowedOnce);
        let settings = settings(&stage, Runner::Landlock).mode(Mode::ReadOnly);
        let session = asking(settings, &person).open().unwrap();
        let error = session.run(Run::new("true")).unwrap_err();
        assert_eq!(error.code(), Code::SandboxUnavailable);
        assert!(error.to_string().contains("sixteen layers"), "{layers}: {error}");
        assert_unavailable(&session);
        assert!(person.asked().is_empty());
        session.set_mode(Mode::WorkspaceWrite, ModeSource::Host);
        match write(&session, "n", "x") {
            Ok(receipt) => assert!(layers == "15" || receipt.enforcement < Enforcement::Confined),
            Err(error) => assert_eq!(error.code(), Code::SandboxUnavailable, "{layers}: {error}"),
        }
        return actor::tell("done");
    }
    if !usable().contains(&Runner::Landlock) {
        return say(format_args!("left out: too many layers: there is no landlock"));
    }
    for layers in ["15", "16"] {
        let told = Actor::start(this_test!(), layers, &[]).end();
        assert_eq!(told.as_deref(), Some("done"), "{layers}");
    }
}

#[test]
fn each_command_is_in_two_layers_of_its_own() {
    let test = this_test!();
    if let Some((commands, _)) = actor::part() {
        let stage = stage();
        let session = session(&stage, Runner::Landlock);
        for _ in 0..commands.parse().unwrap() {
            assert_eq!(run(&session, "mkdir n && mv f n/ && mv n/f . && rmdir n").ending, DONE);
        }
        return actor::tell("done");
    }
    if !usable().contains(&Runner::Landlock) || !strace::is_there(test) {
        return say(format_args!("left out: layers that are counted"));
    }
    let layers = |commands: &str| {
        let traced = strace::run(&["-e", "trace=landlock_restrict_self"], test, commands, &[]);
        traced.count("landlock_restrict_self")
    };
    // One in which it may change files, and one around that, in which it is ended.
    assert_eq!(layers("3") - layers("1"), 4);
}

const DONE: Ending = Ending::Exited(0);

/// Has this thread in a layer that does not let anything move between directories.
fn forbid_moves() {
    let rights = AccessFs::MakeReg;
    let ruleset = Ruleset::default().handle_access(rights).unwrap().create().unwrap();
    let everything = PathBeneath::new(PathFd::new("/").unwrap(), rights);
    ruleset.add_rule(everything).unwrap().restrict_self().unwrap();
}

#[test]
fn a_move_that_another_layer_forbids_is_no_denial_of_the_policy() {
    if !usable().contains(&Runner::Landlock) {
        return say(format_args!("left out: a layer around: there is no landlock"));
    }
    std::thread::spawn(|| {
        forbid_moves();
        let stage = stage();
        let before = stage.snapshot();
        let session = crate::support::session_in(stage.root(), crate::support::offered()[0]);
        let (from, to) = ("f".into(), "d/f".into());
        let when = ringfence::Precondition::None;
        let error = session.perform(ringfence::Request::Rename { from, to, when }).unwrap_err();
        assert_ne!(error.code(), Code::FsSandboxDenied, "{error}");
        assert!(error.to_string().contains("or a sandbox around this process"), "{error}");
        stage.assert_unchanged(&before);
    })
    .join()
    .unwrap();
}
