//! Where commands may write: devices, temp areas, caches, and what comes and goes.

use ringfence::{Ending, Run, ShellGap, TempAreas};

use super::super::write;
use super::{session, settings, stage};
use crate::shell::{run, service, stderr, stdout, usable};
use crate::support::{Stage, Tree, as_user, dir, file, say, this_test, told_by};

/// A terminal of its own, and all that is written without changing a file.
const DEVICES: &str = "for name in null zero; do echo x > /dev/$name || exit; done; \
    : > /dev/full && exec 9<>/dev/ptmx && exec script -qec \
    'echo one > /dev/tty && echo two > \"$(tty)\" && echo three > /dev/stdout' /dev/null";

fn devices_can_be_written() {
    for runner in usable() {
        let stage = stage();
        let ran = run(&session(&stage, runner), DEVICES);
        if ran.ending == Ending::Exited(127) {
            return say(format_args!("left out: a terminal: there is no script"));
        }
        assert_eq!(stdout(&ran), "one\r\ntwo\r\nthree\r\n", "{runner}: {}", stderr(&ran));
    }
}

#[test]
fn the_same_devices_can_be_written_under_every_runner() {
    devices_can_be_written();
}

#[test]
fn an_ordinary_user_can_write_them_too() {
    as_user(this_test!(), devices_can_be_written);
}

#[test]
fn a_temp_area_that_is_lost_is_lost_to_files_and_commands_alike_and_the_rest_works() {
    for runner in usable() {
        let stage = Stage::new(&Tree::inside([dir("d")]).outside([dir("temp")]));
        let temp = stage.base().join("temp");
        let settings = settings(&stage, runner).temps(TempAreas::only(&temp));
        let session = service(settings).session().open().unwrap();
        let there = format!("echo x > {}", temp.join("n").display());
        assert_eq!(run(&session, &there).ending, Ending::Exited(0), "{runner}");
        std::fs::remove_dir_all(&temp).unwrap();
        let lines = told_by(|| {
            assert_eq!(run(&session, "echo x > n").ending, Ending::Exited(0), "{runner}");
        });
        let named = |line: &&String| line.contains("WARN") && line.contains(temp.to_str().unwrap());
        assert_eq!(lines.iter().filter(named).count(), 1, "{lines:?}");
        drop(write(&session, "m", "x").unwrap());
        std::fs::create_dir(&temp).unwrap();
        assert_ne!(run(&session, &there).ending, Ending::Exited(0), "another is no root");
        assert!(write(&session, temp.join("n"), "x").is_err());
    }
}

#[test]
fn what_is_protected_and_comes_to_be_there_is_held_from_the_next_command_or_a_gap() {
    for runner in usable() {
        let stage = stage();
        let settings = settings(&stage, runner).protected_subpaths([".cfg"]);
        let session = service(settings).session().open().unwrap();
        assert_eq!(run(&session, "true").ending, Ending::Exited(0));
        assert!(write(&session, ".cfg", "new").is_err());
        std::fs::write(stage.root().join(".cfg"), "made by somebody else").unwrap();
        let ran = run(&session, "echo x > .cfg");
        if !ran.sandbox.gaps().contains(&ShellGap::ProtectedSubpaths) {
            assert!(matches!(ran.ending, Ending::Exited(1..)), "{runner}");
            let text = std::fs::read_to_string(stage.root().join(".cfg")).unwrap();
            assert_eq!(text, "made by somebody else");
        }
    }
}

#[test]
fn a_cache_is_led_beneath_a_root_by_a_variable_and_the_home_stays_as_it_is() {
    for runner in usable() {
        let outside = [file("home/m.py", "x = 1\n"), dir("temp")];
        let stage = Stage::new(&Tree::inside([dir("d")]).outside(outside));
        let (home, temp) = (stage.base().join("home"), stage.base().join("temp"));
        let before = crate::support::Snapshot::take(&home);
        let settings = settings(&stage, runner).temps(TempAreas::only(&temp));
        let session = service(settings).session().open().unwrap();
        let build = "mkdir -p \"$XDG_CACHE_HOME/b\" && echo x > \"$XDG_CACHE_HOME/b/o\" && \
            if command -v python3 >/dev/null; then PYTHONPATH=\"$HOME\" python3 -c 'import m'; fi";
        let build = Run::new(build)
            .env("HOME", &home)
            .env("XDG_CACHE_HOME", temp.join("cache"))
            .env("PYTHONPYCACHEPREFIX", temp.join("py"));
        let ran = session.run(build).unwrap();
        assert_eq!(ran.ending, Ending::Exited(0), "{runner}: {}", stderr(&ran));
        assert!(temp.join("cache/b/o").exists());
        assert_eq!(before.differences(&crate::support::Snapshot::take(&home)), [""; 0]);
    }
}

#[test]
fn a_workspace_deeper_down_is_no_wider_for_commands() {
    for runner in usable() {
        let stage = stage();
        let before = stage.snapshot();
        let policy = service(settings(&stage, runner));
        let session = policy.session().cwd(stage.root().join("d")).open().unwrap();
        for path in ["../x", "../../x", "../f"] {
            let ran = run(&session, &format!("echo x > {path}"));
            assert!(matches!(ran.ending, Ending::Exited(1..)), "{path} by {runner}: {ran:?}");
            assert!(write(&session, path, "x").is_err(), "{path}");
        }
        stage.assert_unchanged(&before);
    }
}
