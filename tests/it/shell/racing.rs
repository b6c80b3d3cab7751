//! A command in the background works against the file tools of its own session.

use ringfence::{Durability, JobState, Mode, Run, Session, ToolSet};
use serde_json::json;

use super::{PATIENCE, service, settings, usable, within};
use crate::effort::rounds;
use crate::support::{Stage, Tree, dir, file, link};

/// How often the tool writes while the command swaps.
const TRIES: usize = 100_000;

/// The number of `renameat2`.
const RENAMEAT2: u32 = if cfg!(target_arch = "x86_64") { 316 } else { 276 };

/// Exchanges a directory and a file with links that lead out, as fast as it can.
const SWAPS: &str = "exec perl -e '$| = 1; my $n = 0; while (1) { for (\"d\", \"f\") { \
    my ($name, $link) = ($_, \"l$_\"); \
    syscall($ENV{CALL} + 0, -100, $name, -100, $link, 2) == 0 or die; } \
    print \"$n\\n\" unless ++$n % 1000; }'";

/// How often the command has swapped, in thousands at least.
fn swapped(session: &Session, id: &str) -> u64 {
    match session.job(id).unwrap().state() {
        JobState::Running { stdout, .. } => stdout.total,
        other @ (JobState::Ended(_) | _) => panic!("it does not swap: {other:?}"),
    }
}

#[test]
fn nothing_is_written_outside_while_a_command_swaps_directories_for_links() {
    for (number, runner) in usable().into_iter().enumerate() {
        // What the command is held by makes no difference to the tool.
        let tries = rounds(if number == 0 { TRIES } else { TRIES / 10 });
        let links = [link("ld", "$BASE/out"), link("lf", "$BASE/out/x")];
        let inside = [dir("d"), file("d/x", "inside"), file("f", "inside")];
        let inside = inside.into_iter().chain(links);
        let stage = Stage::new(&Tree::inside(inside).outside([file("out/x", "outside")]));
        let settings = settings(&stage, Mode::WorkspaceWrite);
        let settings = settings.runner(runner).durability(Durability::None);
        let session = service(settings).session().open().unwrap();
        let before = stage.snapshot();
        let call = Run::new(SWAPS).env("CALL", RENAMEAT2.to_string());
        let job = session.start(call).unwrap();
        within(PATIENCE, || swapped(&session, job.id()) > 0, "it does not begin");
        let (tools, context) = (ToolSet::new().without_observation(), Default::default());
        let (mut written, mut denied) = (0, 0);
        for round in 0..tries {
            let path = ["d/x", "d/new", "f"][round % 3];
            let arguments = json!({ "file_path": path, "content": "inside" });
            let result = tools.call(&session, "write", arguments, &context);
            match result.value["code"].as_str() {
                None => written += 1,
                Some("FS_SANDBOX_DENIED") => denied += 1,
                Some(_) => {}
            }
        }
        let swaps = swapped(&session, job.id());
        job.kill();
        stage.assert_outside_unchanged(&before);
        assert!(written > 0 && denied > 0 && swaps > 6, "{written} {denied} {swaps} by {runner}");
    }
}
