//! Commands: what they may change, how they end, what is told of them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringfence::{
    Code, Ending, Mode, PolicyService, Ran, Run, Runner, Session, Settings, ShellLimits, Spill,
    TempAreas,
};

use crate::support::{Stage, Tree, dir, file, link, runs_commands, say};

mod ending;
mod jobs;
mod parity;
mod racing;
mod telling;
mod work;

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

fn stage() -> Stage {
    let inside = [file("f", "text\n"), dir("d"), file("d/g", "g\n"), link("out", "$BASE/out")];
    Stage::new(&Tree::inside(inside).outside([file("out/x", "outside\n")]))
}

fn settings(stage: &Stage, mode: Mode) -> Settings {
    Settings::default().workspace(stage.root()).temps(TempAreas::none()).mode(mode)
}

pub(crate) fn service(settings: Settings) -> Arc<PolicyService> {
    PolicyService::load(settings).unwrap()
}

/// A session in which commands run, with short graces.
fn session(stage: &Stage, mode: Mode) -> Session {
    let mut limits = ShellLimits::default();
    limits.grace = Duration::from_millis(200);
    service(settings(stage, mode).shell_limits(limits)).session().open().unwrap()
}

/// The runners that this host has.
pub(crate) fn usable() -> Vec<Runner> {
    let has = |runner: &Runner| {
        let stage = stage();
        let settings = settings(&stage, Mode::ReadOnly).runner(*runner);
        let ran = service(settings).session().open().unwrap().run(Run::new("true"));
        if let Err(error) = &ran {
            say(format_args!("left out: commands by {runner}: {error}"));
        }
        ran.is_ok()
    };
    [Runner::Landlock, Runner::Bwrap].into_iter().filter(has).collect()
}

pub(crate) fn run(session: &Session, command: &str) -> Ran {
    session.run(Run::new(command)).unwrap()
}

pub(crate) fn stdout(ran: &Ran) -> &str {
    str::from_utf8(&ran.stdout.tail).unwrap()
}

pub(crate) fn stderr(ran: &Ran) -> &str {
    str::from_utf8(&ran.stderr.tail).unwrap()
}

/// Waits until this is so, for as long as it may take.
#[track_caller]
pub(crate) fn within(limit: Duration, mut is_so: impl FnMut() -> bool, what: &str) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < limit, "{what}");
        std::thread::yield_now();
    }
}

/// Whether a process sleeps for this time.
pub(crate) fn is_slept_for(time: &str) -> bool {
    let line = format!("sleep\0{time}\0");
    let processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    processes
        .map(|own| std::fs::read(own.join("cmdline")))
        .any(|read| read.is_ok_and(|read| read == line.as_bytes()))
}

/// Whether a process runs that is no zombie.
pub(crate) fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn a_command_changes_what_the_mode_lets_it_and_nothing_else() {
    if !runs_commands() {
        return;
    }
    let everything = "echo new > n; rm d/g; mv f d/f; mkdir m; ln -s f l; \
        echo x > ../out/n; rm ../out/x; echo x > out/n; mv n ../out/n; ln ../out/x h; true";
    let stage_of = |mode| {
        let stage = stage();
        let before = stage.snapshot();
        let session = session(&stage, mode);
        assert_eq!(run(&session, everything).ending, Ending::Exited(0));
        (stage, before)
    };
    let (stage, before) = stage_of(Mode::ReadOnly);
    stage.assert_unchanged(&before);

    let (stage, before) = stage_of(Mode::WorkspaceWrite);
    stage.assert_outside_unchanged(&before);
    let is_there = |path: &str| stage.root().join(path).symlink_metadata().is_ok();
    assert_eq!(["n", "d/f", "m", "l"].map(is_there), [true; 4]);
    assert_eq!(["d/g", "f", "h"].map(is_there), [false; 3]);

    let (stage, _) = stage_of(Mode::DangerFullAccess);
    let is_there = |path: &str| stage.base().join("out").join(path).symlink_metadata().is_ok();
    assert_eq!(["n", "x"].map(is_there), [true, false]);
}

#[test]
fn a_command_that_writes_nothing_leaves_nothing() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::WorkspaceWrite);
    let before = stage.snapshot();
    let ran = run(&session, "ls -A; cat f");
    assert_eq!(stdout(&ran), "d\nf\nout\ntext\n", "{}", stderr(&ran));
    stage.assert_unchanged(&before);
}

#[test]
fn it_begins_in_the_workspace_or_where_it_is_said_to() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::WorkspaceWrite);
    let root = stage.root().display().to_string();
    let at = |workdir: &str| session.run(Run::new("pwd -P").workdir(workdir));
    assert_eq!(stdout(&run(&session, "pwd -P")), root.clone() + "\n");
    assert_eq!(stdout(&at("d").unwrap()), root.clone() + "/d\n");
    assert_eq!(stdout(&at("/").unwrap()), "/\n");
    assert_eq!(stdout(&at("./d/..").unwrap()), root + "\n");
    for (workdir, code) in [
        ("missing", Code::FsNotFound),
        ("f", Code::FsNotDirectory),
        ("", Code::FsNotFound),
        ("a\0b", Code::FsNotFound),
    ] {
        assert_eq!(at(workdir).unwrap_err().code(), code, "{workdir:?}");
    }
}

#[test]
fn its_environment_has_no_secrets_and_it_asks_nobody() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::ReadOnly);
    let command = Run::new("env; cat; ls /proc/self/fd; tty").env("MY_TOKEN", "given");
    let ran = session.run(command).unwrap();
    let text = stdout(&ran);
    for line in ["MY_TOKEN=given", "TERM=dumb", "GIT_PAGER=cat", "RINGFENCE_MODE=read-only"] {
        assert!(text.lines().any(|told| told == line), "{line}: {text}");
    }
    assert!(text.contains("\nPATH=") || text.starts_with("PATH="), "{text}");
    // Its own three, and the one that it lists with.
    assert!(text.ends_with("\n0\n1\n2\n3\nnot a tty\n"), "{text}");
}

#[test]
fn what_does_not_fit_in_memory_is_in_a_private_file_until_the_session_ends() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let mut limits = ShellLimits::default();
    limits.max_output_bytes = 100;
    let settings = settings(&stage, Mode::WorkspaceWrite).shell_limits(limits);
    let session = service(settings).session().open().unwrap();
    let before = stage.snapshot();
    let ran = run(&session, "seq 1000; echo error >&2");
    let all: String = (1..=1000).map(|number| format!("{number}\n")).collect();
    assert_eq!((stdout(&ran), ran.stdout.total), (&all[all.len() - 100..], all.len() as u64));
    assert!(ran.stdout.is_truncated() && !ran.stderr.is_truncated());
    let Spill::File(path) = &ran.stdout.spill else { panic!("{:?}", ran.stdout.spill) };
    assert_eq!(std::fs::read_to_string(path).unwrap(), all);
    let meta = std::fs::metadata(path).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777, 0o600);
    assert!(!Path::starts_with(path, stage.root()));
    stage.assert_unchanged(&before);
    drop(session);
    assert!(!path.exists());
}

#[test]
fn a_mode_that_is_set_holds_for_the_next_command() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::ReadOnly);
    let writes = |name: &str| {
        run(&session, &format!("echo x > {name}"));
        stage.root().join(name).exists()
    };
    for turn in 0..5 {
        for (mode, may) in [(Mode::WorkspaceWrite, true), (Mode::ReadOnly, false)] {
            session.set_mode(mode, ringfence::ModeSource::Host);
            assert_eq!(writes(&format!("{turn}-{mode}")), may, "{mode}");
        }
    }
}

#[test]
fn a_workspace_that_was_moved_runs_nothing() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let session = session(&stage, Mode::ReadOnly);
    std::fs::rename(stage.root(), stage.base().join("elsewhere")).unwrap();
    let error = session.run(Run::new("true").workdir("/")).unwrap_err();
    assert_eq!(error.code(), Code::SandboxUnavailable, "{error}");
}
