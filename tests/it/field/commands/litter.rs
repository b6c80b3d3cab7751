//! What a runner leaves in the directories of its user: nothing.

use ringfence::{Ending, Run, Runner};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use super::{settings, stage};
use crate::actor::{self, Actor};
use crate::effort::rounds;
use crate::shell::{run, service, usable};
use crate::support::{Stage, Tree, as_user, dir, file, mode, this_test};

/// What is protected and is not there.
const MISSING: [&str; 4] = [".env", ".git/hooks", "d/missing", "conf/app"];

#[test]
fn no_name_comes_up_while_commands_run() {
    for runner in usable() {
        let stage = stage();
        let settings = settings(&stage, runner).protected_subpaths(MISSING);
        let session = service(settings).session().open().unwrap();
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        let names = WatchFlags::CREATE | WatchFlags::MOVE | WatchFlags::DELETE;
        for dir in [stage.base().to_owned(), stage.root().to_owned(), stage.root().join("d")] {
            inotify::add_watch(&watch, dir, names).unwrap();
        }
        for _ in 0..rounds(20) {
            assert_eq!(run(&session, "cat f").ending, Ending::Exited(0));
        }
        let mut space = [std::mem::MaybeUninit::uninit(); 4096];
        let seen =
            inotify::Reader::new(&watch, &mut space).next().map(|event| format!("{event:?}"));
        assert_eq!(seen, Err(Errno::AGAIN), "{runner}");
        std::fs::write(stage.root().join("n"), "").unwrap();
        let mut space = [std::mem::MaybeUninit::uninit(); 4096];
        assert!(inotify::Reader::new(&watch, &mut space).next().is_ok(), "names are seen");
    }
}

#[test]
fn nothing_is_left_where_a_runner_is_killed() {
    if let Some((part, words)) = actor::part() {
        let runner = if part == "bwrap" { Runner::Bwrap } else { Runner::Landlock };
        let settings = ringfence::Settings::default().workspace(&words[0]);
        let settings = settings.temps(ringfence::TempAreas::none()).runner(runner);
        let settings = settings.mode(ringfence::Mode::WorkspaceWrite).protected_subpaths(MISSING);
        let session = service(settings).session().open().unwrap();
        let waits = Run::new("echo ready; sleep 300").listener(|_, _| actor::tell("ready"));
        drop(session.run(waits));
        return;
    }
    for runner in usable() {
        let stage = stage();
        let before = stage.snapshot();
        let part = runner.to_string();
        let actor = Actor::start(this_test!(), &part, &[stage.root().to_str().unwrap()]);
        assert_eq!(actor.line(), "ready");
        stage.assert_unchanged(&before);
        actor.kill();
        stage.assert_unchanged(&before);
    }
}

#[test]
fn a_workspace_in_which_its_user_may_make_nothing_will_do() {
    as_user(this_test!(), || {
        for runner in usable() {
            let entries = [dir("ws"), file("ws/f", "old"), mode("ws", 0o555)];
            let stage = Stage::new(&Tree::inside(entries));
            let settings = settings(&stage, runner).workspace(stage.root().join("ws"));
            let settings = settings.protected_subpaths([".git/hooks"]);
            let session = service(settings).session().open().unwrap();
            assert_eq!(run(&session, "cat f").ending, Ending::Exited(0), "{runner}");
        }
    });
}
