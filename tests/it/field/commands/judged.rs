//! What is told of a command that failed: a denial is one, and nothing else is.

use ringfence::{Approval, Ending, Evidence, Mode, Run, Runner, Session};

use super::{asking, by_tool, session, settings, stage};
use crate::shell::{run, stderr, stdout, usable};
use crate::support::{Person, Stage, Tree, as_user, dir, file, mode, say, this_test, told_by};

/// Each fails at something inside the root, or says words that a denial has.
const FAILURES: [&str; 12] = [
    "./f",
    "cd f",
    "rmdir d",
    "mkdir d",
    "rm d",
    "ln f d/g",
    "cat closed; exit 1",
    "echo 'error: sandbox denied' >&2; exit 1",
    "echo 'f: Operation not permitted' >&2; exit 1",
    "echo 'cannot write f: Read-only file system' >&2; exit 1",
    "echo 'sandbox: permission denied' >&2; exit 126",
    "mv d/g d/g",
];

fn fails_without_a_word_of_denial(runner: Runner) {
    let entries = [file("f", "old"), file("d/g", "g"), file("closed", "x"), mode("closed", 0)];
    let stage = Stage::new(&Tree::inside(entries));
    let person = Person::who_says(Approval::AllowedOnce);
    let session = asking(settings(&stage, runner), &person).open().unwrap();
    for command in FAILURES {
        let told = by_tool(&session, command);
        assert_eq!(told.value["kind"], "failed", "{command}: {}", told.text);
        assert_eq!(told.value["sandbox"]["denied"], false, "{command}: {}", told.text);
        for words in ["[sandbox:", "sandbox_permissions"] {
            assert!(!told.text.contains(words), "{command}: {}", told.text);
        }
    }
    assert!(person.asked().is_empty());
}

#[test]
fn no_failure_inside_the_root_is_a_denial() {
    for runner in usable() {
        fails_without_a_word_of_denial(runner);
    }
}

#[test]
fn nor_is_any_to_an_ordinary_user() {
    as_user(this_test!(), || usable().into_iter().for_each(fails_without_a_word_of_denial));
}

#[test]
fn words_of_a_denial_stay_in_the_output_as_they_were_written() {
    for runner in usable() {
        let stage = stage();
        let words = "sandbox: permission denied";
        let ran = run(&session(&stage, runner), &format!("printf '{words}'; exit 1"));
        assert_eq!((stdout(&ran), ran.ending), (words, Ending::Exited(1)));
        assert!(ran.sandbox.denied.is_none() && !ran.stdout.is_truncated());
    }
}

/// Sees that a command was denied this, and that the denial says so as data.
#[track_caller]
fn assert_denied(session: &Session, runner: Runner, command: Run, path: &std::path::Path) {
    let ran = session.run(command).unwrap();
    let denied = ran.sandbox.denied.as_ref();
    let denied = denied.unwrap_or_else(|| panic!("{runner}: {}", stderr(&ran)));
    assert_eq!(denied.path.as_deref(), Some(path), "{runner}");
    assert_eq!(denied.evidence, Evidence::PolicyReplay);
    assert_eq!(denied.narrowest, Some(Mode::DangerFullAccess));
    assert_eq!(ran.sandbox.mode, Mode::WorkspaceWrite);
    assert_eq!(ran.sandbox.held.unwrap().runner, runner);
}

#[test]
fn a_build_that_writes_in_the_home_is_told_which_path_was_refused() {
    for runner in usable() {
        let stage = Stage::new(&Tree::inside([dir("d")]).outside([file("home/x", "old")]));
        let before = stage.snapshot();
        let home = stage.base().join("home");
        let session = session(&stage, runner);
        for (build, refused) in [
            ("mkdir -p \"$HOME/.cache/build\"", ".cache"),
            ("echo x > \"$HOME/.built\"", ".built"),
            ("cp d/../../home/x \"$HOME/y\"", "y"),
            ("perl -e 'open(F, \">\", \"$ENV{HOME}/z\") or die \"$ENV{HOME}/z: $!\\n\"'", "z"),
        ] {
            assert_denied(
                &session,
                runner,
                Run::new(build).env("HOME", &home),
                &home.join(refused),
            );
        }
        stage.assert_unchanged(&before);
    }
}

#[test]
fn a_denied_write_is_told_once_by_a_tool_and_once_by_a_command() {
    for runner in usable() {
        let stage = stage();
        let outside = stage.base().join("out/n");
        let session = session(&stage, runner);
        let lines = told_by(|| drop(super::super::write(&session, &outside, "x").unwrap_err()));
        let of = |lines: &[String], what: &str| {
            let such = lines.iter().filter(|line| line.contains(what)).cloned();
            such.collect::<Vec<_>>()
        };
        let path = format!("{outside:?}");
        let denied = of(&lines, "decision=\"deny\"");
        assert_eq!(denied.len(), 1, "{lines:?}");
        for words in ["operation=write", "FS_SANDBOX_DENIED", "by=roots", &path] {
            assert!(denied[0].contains(words), "{words}: {}", denied[0]);
        }
        let lines = told_by(|| {
            run(&session, &format!("echo x > {}", outside.display()));
        });
        let denied = of(&lines, "denied=true");
        assert_eq!(denied.len(), 1, "{lines:?}");
        for words in ["operation=run", "evidence=policy_replay", "denied_path=", &path] {
            assert!(denied[0].contains(words), "{words}: {}", denied[0]);
        }
    }
}

#[test]
fn a_semaphore_can_be_made_or_what_was_refused_is_suspected() {
    let script = "import multiprocessing\nmultiprocessing.Semaphore()\n";
    for runner in usable() {
        let stage = stage();
        std::fs::write(stage.root().join("s.py"), script).unwrap();
        let session = session(&stage, runner);
        if run(&session, "python3 -c ''").ending != Ending::Exited(0) {
            return say(format_args!("left out: a semaphore: there is no python3"));
        }
        let ran = run(&session, "python3 s.py");
        if ran.ending == Ending::Exited(0) {
            assert_eq!(runner, Runner::Bwrap);
            continue;
        }
        // The library does not say which path it was.
        assert!(ran.sandbox.may_be_denied, "{runner}: {}", stderr(&ran));
        let file = run(&session, "echo x > /dev/shm/ringfence-semaphore");
        let path = file.sandbox.denied.unwrap().path;
        assert_eq!(path.as_deref(), Some("/dev/shm/ringfence-semaphore".as_ref()));
    }
}
