//! What grows, and what a command costs then.

use ringfence::{Ending, Run, Runner, Settings, TempAreas};

use super::{settings, stage};
use crate::actor;
use crate::effort::rounds;
use crate::shell::{run, service, stderr, stdout, usable};
use crate::strace;
use crate::support::this_test;

#[test]
fn no_directory_of_the_workspace_is_read_for_a_command() {
    let test = this_test!();
    if let Some((part, words)) = actor::part() {
        let runner = if part == "bwrap" { Runner::Bwrap } else { Runner::Landlock };
        let settings = Settings::default().workspace(&words[0]).temps(TempAreas::none());
        let settings = settings.mode(ringfence::Mode::WorkspaceWrite).runner(runner);
        let settings = settings.protected_subpaths(["f", "d"]);
        let session = service(settings).session().open().unwrap();
        assert_eq!(run(&session, "true").ending, Ending::Exited(0));
        return actor::tell("done");
    }
    if !strace::is_there(test) {
        return;
    }
    for runner in usable() {
        let stage = stage();
        let root = stage.root().to_str().unwrap();
        let looks = |files: usize| {
            for number in 0..files {
                std::fs::write(stage.root().join(format!("d/{number}")), "").unwrap();
            }
            let options = ["-y", "-e", "trace=getdents64,openat,openat2,newfstatat,statx"];
            let traced = strace::run(&options, test, &runner.to_string(), &[root]);
            let calls = traced.calls.iter().filter(|call| call.contains(root));
            let reads = calls.clone().filter(|call| call.contains("getdents64"));
            assert_eq!(reads.collect::<Vec<_>>(), [""; 0], "{runner}");
            calls.filter(|call| strace::call_of(call).is_some()).count()
        };
        assert_eq!(looks(10), looks(rounds(2_000)), "{runner}");
    }
}

#[test]
fn long_commands_and_many_long_protected_paths_are_taken() {
    for runner in usable() {
        let stage = stage();
        let above = ["a", "b", "c"].map(|name| name.repeat(250)).join("/");
        let places: Vec<_> = (0..200).map(|number| format!("{above}/{number:0250}")).collect();
        for place in &places {
            std::fs::create_dir_all(stage.root().join(place)).unwrap();
        }
        let settings = settings(&stage, runner).protected_subpaths(&places);
        let session = service(settings).session().open().unwrap();
        let long = format!("echo done # {}", "x".repeat(120 * 1024));
        let ran = session.run(Run::new(long)).unwrap();
        assert_eq!((stdout(&ran), stderr(&ran)), ("done\n", ""), "{runner}");
    }
}
