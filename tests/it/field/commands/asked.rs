//! Consent for commands, and what a command can do about the settings.

use ringfence::{Approval, Code, Ending, Mode, ModeSource, Question, Session, ShellGap, Subject};

use super::super::{edit, write};
use super::{asking, settings, stage, wider};
use crate::effort::rounds;
use crate::shell::{run, service, usable};
use crate::support::{Person, Stage, Tree, file, told_by};

#[test]
fn consent_is_for_one_call_and_nothing_is_remembered() {
    for runner in usable() {
        let stage = stage();
        let before = stage.snapshot();
        let person = Person::who_says(Approval::AllowedOnce);
        let policy = service(settings(&stage, runner).mode(Mode::ReadOnly));
        let same = || wider("cat f", Mode::WorkspaceWrite);
        for (session, questions) in [(1, [1, 2]), (2, [3, 4])] {
            let options = policy.session().approver(std::sync::Arc::<Person>::clone(&person));
            let own = options.open().unwrap();
            for asked in questions {
                assert_eq!(own.run(same()).unwrap().ending, Ending::Exited(0), "{session}");
                assert_eq!(person.asked().len(), asked);
            }
        }
        stage.assert_unchanged(&before);
    }
}

#[test]
fn each_command_is_asked_for_whole_and_another_mode_ends_the_questions() {
    for runner in usable() {
        let stage = stage();
        let person = Person::who_says(Approval::AllowedOnce);
        let session =
            asking(settings(&stage, runner).mode(Mode::ReadOnly), &person).open().unwrap();
        let commands = ["echo 1 > n", "echo 2 > n", "echo 1 >  n"];
        for command in commands {
            session.run(wider(command, Mode::WorkspaceWrite)).unwrap();
        }
        let asked = person.asked();
        let command = |question: &Question| {
            let Subject::Command { command, .. } = &question.subject else { panic!("a command") };
            command.clone()
        };
        let shown: Vec<_> = asked.iter().map(command).collect();
        assert_eq!(shown, commands);
        session.set_mode(Mode::WorkspaceWrite, ModeSource::Host);
        for command in commands {
            assert_eq!(run(&session, command).ending, Ending::Exited(0));
        }
        assert_eq!(person.asked().len(), commands.len());
        let log = session.log();
        let modes = log.iter().filter(|event| event.name == "sandbox/mode").count();
        assert_eq!(modes, 1, "{log:?}");
    }
}

/// Sees that a command and a tool may do what `mode` says, and no more.
fn assert_in_force(session: &Session, stage: &Stage, mode: Mode) {
    let may = [mode >= Mode::WorkspaceWrite, mode == Mode::DangerFullAccess];
    let ran = run(session, "echo command > n; echo command > ../n; true");
    assert_eq!((ran.ending, ran.sandbox.mode), (Ending::Exited(0), mode));
    for (path, may) in ["n", "../n"].into_iter().zip(may) {
        let file = stage.root().join(path);
        assert_eq!(file.exists(), may, "{path} under {mode}");
        assert_eq!(write(session, path, "tool").is_ok(), may, "{path} under {mode}");
        drop(std::fs::remove_file(file));
    }
}

#[test]
fn a_mode_is_changed_whole_a_hundred_times() {
    for (number, runner) in usable().into_iter().enumerate() {
        let stage = stage();
        let session = service(settings(&stage, runner)).session().open().unwrap();
        let modes = [Mode::ReadOnly, Mode::WorkspaceWrite, Mode::DangerFullAccess, Mode::ReadOnly];
        // What a command is held by makes no difference to the mode.
        let turns = rounds(if number == 0 { 25 } else { 5 });
        for mode in modes.into_iter().cycle().take(turns * modes.len()) {
            session.set_mode(mode, ModeSource::Host);
            assert_in_force(&session, &stage, mode);
        }
    }
}

#[test]
fn settings_that_are_protected_or_outside_are_not_changed_and_those_in_force_stay() {
    for runner in usable() {
        let inside = [file(".agent/settings", "old"), file("f", "old")];
        let stage = Stage::new(&Tree::inside(inside).outside([file("out/settings", "old")]));
        let settings = settings(&stage, runner).protected_subpaths([".agent"]);
        let session = service(settings).session().open().unwrap();
        for (place, gap) in [(".agent/settings", true), ("../out/settings", false)] {
            let before = stage.snapshot();
            for denied in [write(&session, place, "new"), edit(&session, place, "old", "new")] {
                assert_eq!(denied.unwrap_err().code(), Code::FsSandboxDenied, "{place}");
            }
            for way in ["echo new > \"$p\"", "cp f n && mv n \"$p\""] {
                let ran = run(&session, &format!("p={place}; {way}"));
                if gap && ran.sandbox.gaps().contains(&ShellGap::ProtectedSubpaths) {
                    std::fs::write(stage.root().join(place), "old").unwrap();
                    continue;
                }
                assert!(matches!(ran.ending, Ending::Exited(1..)), "{way} by {runner}: {ran:?}");
                drop(std::fs::remove_file(stage.root().join("n")));
                assert_eq!(std::fs::read(stage.root().join(place)).unwrap(), b"old");
            }
            stage.assert_outside_unchanged(&before);
        }
        std::fs::write(stage.base().join("out/settings"), "mode = danger-full-access").unwrap();
        let lines = told_by(|| {
            assert_eq!(run(&session, "true").sandbox.mode, Mode::WorkspaceWrite);
        });
        assert!(lines.iter().all(|line| !line.contains("danger-full-access")), "{lines:?}");
    }
}
