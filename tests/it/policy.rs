//! One owner of mode and workspace: what a service and its sessions promise.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringfence::{
    Code, Confinement, Durability, Enforcement, Error, Event, Mode, ModeSource, Outcome,
    PolicyService, Request, Resolution, Session, SessionOptions, Settings, TempAreas, WriteIntent,
};
use serde_json::json;

use crate::effort::rounds;
use crate::stop::StopOnDrop;
use crate::support::{
    FenceKind, Stage, Tree, dir, file, in_own_process, offered, say, this_test, with_own_mounts,
};

/// Two workspaces and a place outside both.
fn two_workspaces() -> Stage {
    Stage::new(&Tree::inside([]).outside([dir("one"), dir("two"), dir("temp"), file("x", "out")]))
}

fn settings(stage: &Stage, workspace: &str, kind: FenceKind) -> Settings {
    Settings::default()
        .workspace(stage.base().join(workspace))
        .mode(Mode::WorkspaceWrite)
        .temps(TempAreas::none())
        .durability(Durability::None)
        .exactly(kind.resolution, kind.confinement)
}

fn each_service(test: impl Fn(&Stage, &Arc<PolicyService>, FenceKind)) {
    for kind in offered() {
        let stage = two_workspaces();
        let service = PolicyService::load(settings(&stage, "one", *kind)).unwrap();
        test(&stage, &service, *kind);
    }
}

fn write(session: &Session, path: impl AsRef<Path>) -> Result<Outcome, Error> {
    let (path, text) = (path.as_ref().to_owned(), "new".to_owned());
    session.perform(Request::WriteText { path, text, intent: WriteIntent::Any })
}

fn code(answer: Result<Outcome, Error>) -> Code {
    answer.unwrap_err().code()
}

fn opened(options: SessionOptions) -> Session {
    options.open().unwrap()
}

#[test]
fn sessions_on_one_workspace_share_one_thread_and_others_have_their_own() {
    in_own_process(this_test!(), || {
        let Some(kind) = offered().iter().find(|kind| kind.confinement == Confinement::Landlock)
        else {
            say(format_args!("left out: shared threads: there is no confined thread here"));
            return;
        };
        let stage = two_workspaces();
        let threads = || {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap();
            let names = tasks.map(|task| {
                // One that has ended meanwhile is none.
                std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default()
            });
            names.filter(|name| name.trim_end() == "ringfence").count()
        };
        let service = PolicyService::load(settings(&stage, "one", *kind)).unwrap();
        let other = PolicyService::load(settings(&stage, "one/.", *kind)).unwrap();
        let sessions = [
            opened(service.session()),
            opened(service.session().cwd(stage.base().join("one"))),
            opened(other.session()),
        ];
        for session in &sessions {
            write(session, "f").unwrap();
        }
        assert_eq!(threads(), 1);
        let elsewhere = opened(service.session().cwd(stage.base().join("two")));
        write(&elsewhere, "f").unwrap();
        assert_eq!(threads(), 2);
        // A fence that nobody wants any more is closed.
        drop(elsewhere);
        assert_eq!(threads(), 1);
        drop((sessions, other, service));
        assert_eq!(threads(), 0);
    });
}

#[test]
fn sessions_write_at_the_same_time_and_never_in_each_others_workspace() {
    each_service(|stage, service, _| {
        let before = stage.snapshot();
        std::thread::scope(|scope| {
            for (own, others) in [("one", "two"), ("two", "one")] {
                let session = opened(service.session().cwd(stage.base().join(own)));
                let others = stage.base().join(others);
                scope.spawn(move || {
                    for round in 0..rounds(20) {
                        write(&session, format!("d/{round}")).unwrap();
                        let across = write(&session, others.join(format!("across-{round}")));
                        assert_eq!(code(across), Code::FsSandboxDenied);
                    }
                });
            }
        });
        for own in ["one", "two"] {
            let made = std::fs::read_dir(stage.base().join(own)).unwrap();
            let names: Vec<_> = made.map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names, ["d"]);
            let made = std::fs::read_dir(stage.base().join(own).join("d")).unwrap();
            assert_eq!(made.count(), rounds(20));
            std::fs::remove_dir_all(stage.base().join(own).join("d")).unwrap();
        }
        stage.assert_unchanged_but_times_of_dirs(&before);
    });
}

#[test]
fn a_mode_that_is_set_applies_to_the_next_call_of_that_session_alone() {
    each_service(|stage, service, _| {
        let (mine, others) = (opened(service.session()), opened(service.session()));
        let outside = stage.base().join("outside");
        for (mode, within, without) in [
            (Mode::ReadOnly, Err(Code::FsSandboxDenied), Err(Code::FsSandboxDenied)),
            (Mode::WorkspaceWrite, Ok(()), Err(Code::FsSandboxDenied)),
            (Mode::DangerFullAccess, Ok(()), Ok(())),
            (Mode::ReadOnly, Err(Code::FsSandboxDenied), Err(Code::FsSandboxDenied)),
        ] {
            mine.set_mode(mode, ModeSource::Host);
            let answer = |path: &Path| write(&mine, path).map(drop).map_err(|e| e.code());
            assert_eq!(answer("f".as_ref()), within, "{mode}");
            assert_eq!(answer(&outside), without, "{mode}");
            write(&others, "g").unwrap();
            assert_eq!(code(write(&others, &outside)), Code::FsSandboxDenied);
        }
        // What was logged is there again in a later life of the session.
        let resumed = opened(service.session().log(mine.log()));
        assert_eq!(resumed.policy().unwrap().mode(), Mode::ReadOnly);
        assert_eq!(mine.log().len(), 4);
    });
}

#[test]
fn an_event_without_a_mode_is_read_only() {
    each_service(|_, service, _| {
        let junk = Event { name: "sandbox/mode".into(), data: json!({ "mode": "everything" }) };
        let wide = Event::sandbox_mode(Mode::DangerFullAccess, ModeSource::Host);
        let session = opened(service.session().log(vec![wide.clone(), junk.clone()]));
        assert_eq!(code(write(&session, "f")), Code::FsSandboxDenied);
        session.record(Event::sandbox_mode(Mode::WorkspaceWrite, ModeSource::Delegation));
        write(&session, "f").unwrap();
        session.record(junk);
        assert_eq!(code(write(&session, "f")), Code::FsSandboxDenied);
    });
}

#[test]
fn a_workspace_that_was_moved_or_replaced_is_not_written_in() {
    each_service(|stage, service, _| {
        let (one, moved) = (stage.base().join("one"), stage.base().join("moved"));
        let session = opened(service.session());
        std::fs::rename(&one, &moved).unwrap();
        let refused = |why: &str| {
            for mode in [Mode::WorkspaceWrite, Mode::DangerFullAccess] {
                session.set_mode(mode, ModeSource::Host);
                assert_eq!(code(write(&session, "f")), Code::SandboxUnavailable, "{why}");
                let beside = write(&session, stage.base().join("temp/f"));
                assert_eq!(code(beside), Code::SandboxUnavailable, "{why}");
            }
            session.set_mode(Mode::ReadOnly, ModeSource::Host);
            assert_eq!(code(write(&session, "f")), Code::FsSandboxDenied);
        };
        refused("gone");
        std::fs::create_dir(&one).unwrap();
        refused("another");
        std::fs::remove_dir(&one).unwrap();
        std::os::unix::fs::symlink(stage.base().join("two"), &one).unwrap();
        refused("a link to another");
        session.perform(Request::Read { path: stage.base().join("x") }).unwrap();
        std::fs::remove_file(&one).unwrap();
        std::fs::rename(&moved, &one).unwrap();
        refused("there again, but nobody has opened it anew");
        write(&opened(service.session().cwd(&one)), "again").unwrap();
        std::fs::remove_file(one.join("again")).unwrap();
        std::fs::rename(&one, &moved).unwrap();
        std::os::unix::fs::symlink(stage.base().join("two"), &one).unwrap();
        // Whoever opens what is there now may write there.
        let anew = opened(service.session().cwd(&one));
        write(&anew, "f").unwrap();
        assert!(stage.base().join("two/f").exists());
        assert!(std::fs::read_dir(&moved).unwrap().next().is_none());
    });
}

#[test]
fn a_temp_area_that_is_gone_or_another_leaves_the_set() {
    for kind in offered() {
        let stage = two_workspaces();
        let (temp, moved) = (stage.base().join("temp"), stage.base().join("moved"));
        let settings = settings(&stage, "one", *kind).temps(TempAreas::only(&temp));
        let service = PolicyService::load(settings).unwrap();
        let session = opened(service.session());
        write(&session, temp.join("f")).unwrap();

        std::fs::rename(&temp, &moved).unwrap();
        std::fs::create_dir(&temp).unwrap();
        assert_eq!(code(write(&session, temp.join("g"))), Code::FsSandboxDenied);
        assert_eq!(code(write(&session, moved.join("g"))), Code::FsSandboxDenied);
        write(&session, "f").unwrap();
        let roots = session.policy().unwrap().roots().unwrap().iter().count();
        assert_eq!(roots, 1);

        // It is for whoever opens it anew.
        let anew = opened(service.session().cwd(stage.base().join("two")));
        write(&anew, temp.join("g")).unwrap();
        assert!(!moved.join("g").exists());
    }
}

#[test]
fn a_session_is_opened_in_a_directory_that_can_be_a_workspace() {
    each_service(|stage, service, kind| {
        let invalid = |options: SessionOptions| {
            options.open().is_err_and(|error| error.code() == Code::PolicyInvalid)
        };
        let base = stage.base();
        for cwd in [Path::new("one"), Path::new(""), &base.join("missing"), &base.join("x")] {
            assert!(invalid(service.session().cwd(cwd)), "{cwd:?}");
        }
        // One that would put the temp directory above the workspace.
        let temps = TempAreas::only(base);
        let settings = settings(stage, "one", kind).temps(temps);
        assert_eq!(PolicyService::load(settings).unwrap_err().code(), Code::PolicyInvalid);
    });
}

#[test]
fn other_settings_are_taken_whole_or_not_at_all() {
    each_service(|stage, service, kind| {
        let session = opened(service.session());
        let fixed = opened(service.session().cwd(stage.base().join("two")));
        let missing = settings(stage, "missing", kind).mode(Mode::DangerFullAccess);
        assert_eq!(service.reload(missing).unwrap_err().code(), Code::PolicyInvalid);
        write(&session, "f").unwrap();
        assert!(stage.base().join("one/f").exists());

        service.reload(settings(stage, "two", kind)).unwrap();
        write(&session, "g").unwrap();
        assert!(stage.base().join("two/g").exists());
        assert_eq!(code(write(&session, stage.base().join("one/g"))), Code::FsSandboxDenied);

        session.set_mode(Mode::WorkspaceWrite, ModeSource::Host);
        service.reload(settings(stage, "one", kind).mode(Mode::ReadOnly)).unwrap();
        assert_eq!(service.policy().unwrap().mode(), Mode::ReadOnly);
        write(&session, "h").unwrap();
        assert!(stage.base().join("one/h").exists(), "a mode that was set stays");
        assert_eq!(code(write(&fixed, "h")), Code::FsSandboxDenied);

        // Whatever a session was opened under, it goes by what is in force.
        let temp = stage.base().join("temp");
        service.reload(settings(stage, "one", kind).temps(TempAreas::only(&temp))).unwrap();
        write(&fixed, temp.join("f")).unwrap();
        service.reload(settings(stage, "one", kind)).unwrap();
        assert_eq!(code(write(&fixed, temp.join("g"))), Code::FsSandboxDenied);
        assert_eq!(code(write(&session, temp.join("g"))), Code::FsSandboxDenied);
        write(&fixed, "i").unwrap();
        assert!(stage.base().join("two/i").exists());

        service.close();
        let read = session.perform(Request::Read { path: "h".into() });
        assert_eq!(code(read), Code::SandboxUnavailable);
        assert_eq!(code(write(&session, "i")), Code::SandboxUnavailable);
        assert_eq!(service.session().open().unwrap_err().code(), Code::SandboxUnavailable);
    });
}

#[test]
fn settings_may_change_while_calls_are_under_way() {
    each_service(|stage, service, kind| {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let stop_on_drop = StopOnDrop(&stop);
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    for workspace in ["two", "one"] {
                        service.reload(settings(stage, workspace, kind)).unwrap();
                    }
                }
            });
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let session = opened(service.session());
                    scope.spawn(move || {
                        for round in 0..rounds(30) {
                            let done = write(&session, format!("{writer}-{round}")).unwrap();
                            let Outcome::Written { path, .. } = done else { panic!("{done:?}") };
                            assert_eq!(std::fs::read_to_string(path).unwrap(), "new");
                        }
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            drop(stop_on_drop);
        });
        let made = |dir| std::fs::read_dir(stage.base().join(dir)).unwrap().count();
        assert_eq!(made("one") + made("two"), 3 * rounds(30));
    });
}

#[test]
fn what_the_host_cannot_give_is_refused_before_it_is_needed() {
    each_service(|stage, _, kind| {
        let fence = settings(stage, "one", kind).mode(Mode::ReadOnly);
        let level = PolicyService::load(fence.clone().mode(Mode::WorkspaceWrite))
            .unwrap()
            .session()
            .open()
            .unwrap()
            .assurance()
            .unwrap()
            .unwrap()
            .level;
        for required in [Enforcement::Kernel, Enforcement::Confined] {
            let loaded = PolicyService::load(fence.clone().require(required));
            let refused = loaded.err().map(|error| error.code());
            let expected = (level < required).then_some(Code::SandboxUnavailable);
            assert_eq!(refused, expected, "{level} for {required}");
        }
    });
}

#[test]
fn a_service_says_what_the_host_gives_when_it_is_loaded_and_not_what_another_was_given() {
    with_own_mounts(this_test!(), || {
        let confined = |kind: &&FenceKind| {
            kind.resolution == Resolution::Openat2 && kind.confinement == Confinement::Landlock
        };
        let Some(kind) = offered().iter().find(confined) else {
            say(format_args!("left out: levels of shared fences: nothing is confined here"));
            return;
        };
        let stage = two_workspaces();
        let level = |service: &Arc<PolicyService>| {
            let session = opened(service.session());
            session.assurance().unwrap().unwrap().level
        };
        let first = PolicyService::load(settings(&stage, "one", *kind)).unwrap();
        assert_eq!(level(&first), Enforcement::Confined);
        std::fs::create_dir(stage.base().join("one/mnt")).unwrap();
        let mounted = stage.base().join("one/mnt");
        rustix::mount::mount_bind(stage.base().join("two"), &mounted).unwrap();
        let second = PolicyService::load(settings(&stage, "one", *kind)).unwrap();
        assert_eq!(level(&second), Enforcement::Kernel);
        rustix::mount::unmount(mounted, rustix::mount::UnmountFlags::DETACH).unwrap();
    });
}
