//! Hosts that lack what confines commands, or have it and it does nothing or breaks.

use std::path::{Path, PathBuf};

use ringfence::{
    Approval, Code, Enforcement, Error, Mode, PolicyService, Run, Runner, Settings,
    ShellEnforcement, TempAreas,
};
use rustix::io::Errno;

use super::super::{edit, write};
use super::{asking, assert_unavailable, by_tool, session, settings, stage, wider};
use crate::actor::{self, Actor};
use crate::shell::{run, service, usable};
use crate::strace;
use crate::support::filter::{LANDLOCK, pretend, refuse, refuse_everywhere, refuse_namespaces};
use crate::support::{
    Person, Stage, Tree, as_user, dir, in_own_process, mode, say, this_test, with_own_mounts,
};

/// Where bubblewrap may be.
const BWRAP: [&str; 3] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// Runs `body` on a thread whose filters end with it.
fn filtered(body: impl FnOnce() + Send + 'static) {
    std::thread::spawn(body).join().unwrap();
}

fn of(stage: &Stage) -> Settings {
    Settings::default().workspace(stage.root()).temps(TempAreas::none()).mode(Mode::WorkspaceWrite)
}

/// Puts `instead` where these programs are, for this test alone.
fn replace(programs: &[&str], instead: &Path) {
    for program in programs.iter().filter_map(|path| std::fs::canonicalize(path).ok()) {
        rustix::mount::mount_bind(instead, program).unwrap();
    }
}

#[test]
fn where_nothing_confines_no_command_runs_and_the_cause_of_each_is_told() {
    in_own_process(this_test!(), || {
        for (errno, why) in [
            (Errno::NOSYS, "landlock: the kernel has no landlock"),
            (Errno::OPNOTSUPP, "landlock: landlock is not enabled"),
        ] {
            filtered(move || {
                refuse(LANDLOCK, errno);
                refuse_namespaces();
                let stage = stage();
                let before = stage.snapshot();
                let person = Person::who_says(Approval::AllowedOnce);
                let session = asking(of(&stage), &person).open().unwrap();
                let error = session.run(Run::new("echo x > n")).unwrap_err();
                assert_eq!(error.code(), Code::SandboxUnavailable);
                let Error::NoRunner(told) = &error else { panic!("{error}") };
                assert_eq!(told.0.len(), 2, "{told}");
                for words in [why, "; bwrap: "] {
                    assert!(error.to_string().contains(words), "{words}: {error}");
                }
                assert_unavailable(&session);
                assert!(by_tool(&session, "true").text.contains("`ringfence doctor`"));
                assert!(person.asked().is_empty());
                stage.assert_unchanged(&before);

                let confined = of(&stage).require(Enforcement::Confined);
                let error = PolicyService::load(confined).unwrap_err();
                assert_eq!(error.code(), Code::SandboxUnavailable, "{error}");
                drop(write(&session, "f", "new").unwrap());

                let open = service(of(&stage).mode(Mode::DangerFullAccess));
                let ran = run(&open.session().open().unwrap(), "true");
                assert_eq!(ran.sandbox.held, None, "that nobody holds it is told");
            });
        }
    });
}

#[test]
fn a_landlock_that_only_says_so_is_no_runner_and_no_fence() {
    in_own_process(this_test!(), || {
        let [_, _, restrict] = LANDLOCK;
        filtered(move || {
            pretend([restrict]);
            let stage = stage();
            let before = stage.snapshot();
            let error = session(&stage, Runner::Landlock).run(Run::new("echo x > n")).unwrap_err();
            assert_eq!(error.code(), Code::SandboxUnavailable, "{error}");
            stage.assert_unchanged(&before);
            let confined = of(&stage).require(Enforcement::Confined);
            let error = PolicyService::load(confined).unwrap_err();
            assert_eq!(error.code(), Code::SandboxUnavailable, "{error}");
        });
    });
}

#[test]
fn privileges_that_were_given_up_before_are_no_hindrance() {
    let shown = || usable().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    if actor::part().is_some() {
        rustix::thread::set_no_new_privs(true).unwrap();
        return actor::tell(shown());
    }
    say(format_args!("left out: a security module that checks at exec: there is none here"));
    let told = Actor::start(this_test!(), "give up", &[]).end();
    assert_eq!(told.as_deref(), Some(&*shown()));
}

#[test]
fn without_namespaces_changes_are_as_confined_as_before_and_so_are_commands() {
    in_own_process(this_test!(), || {
        let level = || {
            let stage = stage();
            let session = service(of(&stage)).session().open().unwrap();
            drop(write(&session, "n", "x").unwrap());
            edit(&session, "f", "old", "new").unwrap().enforcement
        };
        let (before, has_one) = (level(), usable().contains(&Runner::Landlock));
        filtered(move || {
            refuse_namespaces();
            assert_eq!(level(), before);
            if has_one {
                let stage = stage();
                let ran = run(&session(&stage, Runner::Landlock), "echo x > n; ! echo x > ../n");
                assert_eq!(ran.ending, ringfence::Ending::Exited(0));
                assert!(stage.root().join("n").exists());
            }
        });
    });
}

#[test]
fn file_tools_start_no_process() {
    let test = this_test!();
    if let Some((_, words)) = actor::part() {
        let settings = Settings::default().workspace(&words[0]).temps(TempAreas::none());
        let session = service(settings.mode(Mode::WorkspaceWrite)).session().open().unwrap();
        drop(write(&session, "n", "x").unwrap());
        drop(edit(&session, "f", "old", "new").unwrap());
        return actor::tell("done");
    }
    if !strace::is_there(test) {
        return;
    }
    let stage = stage();
    let traced = strace::run(
        &["-e", "trace=execve,execveat,fork,vfork,clone,clone3"],
        test,
        "change",
        &[stage.root().to_str().unwrap()],
    );
    assert_eq!(traced.count("execve"), 1, "{:?}", traced.calls);
    assert_eq!(["execveat", "fork", "vfork"].map(|call| traced.count(call)), [0; 3]);
    let starts = |line: &&String| line.contains("clone") && line.contains("flags=");
    for start in traced.calls.iter().filter(starts) {
        assert!(start.contains("CLONE_THREAD"), "{start}");
    }
}

#[test]
fn without_bubblewrap_the_native_runner_is_taken_and_it_is_told_why() {
    with_own_mounts(this_test!(), || {
        if !usable().contains(&Runner::Landlock) {
            return say(format_args!("left out: commands without bubblewrap: no other runner"));
        }
        replace(&BWRAP, "/dev/null".as_ref());
        let stage = stage();
        let session = service(of(&stage).protect_metadata()).session().open().unwrap();
        assert_eq!(run(&session, "true").sandbox.held.unwrap().runner, Runner::Landlock);
        let told = session.explain(&ringfence::Exec::new(["true"])).unwrap().passed_over;
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].to_string(), "bwrap: bubblewrap is not installed");
    });
}

/// Has a runner that was seen to be effective fail from now on, for this test alone.
fn break_it(runner: Runner, program: &Path) {
    match runner {
        Runner::Bwrap => replace(&BWRAP, program),
        Runner::Landlock => refuse_everywhere(LANDLOCK, Errno::NOSYS),
        Runner::Seatbelt | _ => panic!("{runner} is not for this system"),
    }
}

#[test]
fn a_runner_that_fails_after_consent_is_told_as_that_and_nobody_is_asked_again() {
    with_own_mounts(this_test!(), || {
        // What is done to the last one is done to the whole process.
        for runner in usable().into_iter().rev() {
            let stage = stage();
            let program = stage.base().join("fails");
            std::fs::write(&program, "#!/bin/sh\nexit 1\n").unwrap();
            make_executable(&program);
            let before = stage.snapshot();
            let person =
                Person::who_first(move || break_it(runner, &program), Approval::AllowedOnce);
            let settings = settings(&stage, runner).mode(Mode::ReadOnly);
            let session = asking(settings, &person).open().unwrap();
            assert_eq!(run(&session, "true").ending, ringfence::Ending::Exited(0));
            let error = session.run(wider("echo x > n", Mode::WorkspaceWrite)).unwrap_err();
            assert!(matches!(error, Error::RunnerFailed { .. }), "{runner}: {error}");
            assert_eq!(error.code(), Code::SandboxUnavailable);
            assert_unavailable(&session);
            assert_eq!(person.asked().len(), 1);
            stage.assert_unchanged(&before);
        }
    });
}

fn make_executable(program: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn programs_of_a_runner_that_cannot_be_executed_are_its_failure_and_no_denial() {
    with_own_mounts(this_test!(), || {
        let runners = usable();
        let stage = stage();
        let plain: PathBuf = stage.base().join("plain");
        std::fs::write(&plain, "").unwrap();
        replace(&["/bin/sh"], &plain);
        replace(&BWRAP[..1], &plain);
        for runner in runners {
            let before = stage.snapshot();
            let person = Person::who_says(Approval::AllowedOnce);
            let session = asking(settings(&stage, runner), &person).open().unwrap();
            let error = session.run(Run::new("echo x > n")).unwrap_err();
            assert_eq!(error.code(), Code::SandboxUnavailable, "{runner}: {error}");
            assert!(error.to_string().contains("ermission denied"), "{runner}: {error}");
            assert_unavailable(&session);
            assert!(person.asked().is_empty());
            stage.assert_unchanged(&before);
        }
    });
}

#[test]
fn a_root_that_cannot_be_opened_is_refused_by_its_name() {
    as_user(this_test!(), || {
        let entries = [dir("closed"), dir("closed/ws"), mode("closed", 0)];
        let stage = Stage::new(&Tree::inside(entries));
        let closed = stage.root().join("closed/ws");
        let error = PolicyService::load(of(&stage).workspace(&closed)).unwrap_err();
        assert_eq!(error.code(), Code::PolicyInvalid);
        assert!(error.to_string().contains(closed.to_str().unwrap()), "{error}");
    });
}

#[test]
fn what_is_required_of_a_runner_is_held_or_nothing_runs() {
    for runner in usable() {
        let stage = stage();
        let before = stage.snapshot();
        let settings = settings(&stage, runner).require_for_commands(ShellEnforcement::Full);
        let session = service(settings).session().open().unwrap();
        match session.run(Run::new("echo x > n")) {
            Ok(ran) => assert_eq!(ran.sandbox.gaps(), [], "{runner}"),
            Err(error) => {
                assert_eq!(error.code(), Code::SandboxUnavailable, "{runner}");
                assert!(error.to_string().contains("it does not hold metadata"), "{error}");
                stage.assert_unchanged(&before);
            }
        }
    }
}

/// What the directory for temporary files has to do with commands: only that it is a root.
#[test]
fn a_directory_for_temporary_files_that_is_missing_keeps_no_command_from_running() {
    let test = this_test!();
    let shown = || usable().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    if actor::part().is_some() {
        return actor::tell(shown());
    }
    let mut command = std::process::Command::new("env");
    command.args(["TMPDIR=/nowhere"]).arg(std::env::current_exe().unwrap());
    assert_eq!(Actor::start_by(command, test, "look", &[]).end().as_deref(), Some(&*shown()));
}
