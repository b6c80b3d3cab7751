//! Files that are larger than memory is to be, files that do not stand still, and directories of
//! which only a part is shown.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ringfence::{CallContext, Mode, ToolSet};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::{Agent, each_agent_on};
use crate::actor;
use crate::effort::rounds;
use crate::stop::StopOnDrop;
use crate::strace;
use crate::support::{
    Stage, Tree, file, in_own_process, link, memory, offered, session_in, this_test,
};

const MIB: u64 = 1 << 20;
/// How much memory there is beside what the process has already.
const ROOM: u64 = 16 * MIB;

#[test]
fn a_gibibyte_is_read_by_its_window_in_memory_that_does_not_grow_with_it() {
    in_own_process(this_test!(), || {
        let size = rounds(1024) as u64 * MIB;
        // After the first lines comes one that is almost all of the file.
        let start = "line\n".repeat(2_000);
        let stage = Stage::new(&Tree::inside([file("f", &start), file("g", "g")]));
        let path = stage.root().join("f");
        std::fs::File::options().write(true).open(path).unwrap().set_len(size).unwrap();
        let agent = Agent::on(&stage, Mode::WorkspaceWrite, offered()[0]);
        let limit = getrlimit(Resource::As);
        let most = Rlimit { current: Some(memory() + ROOM), ..limit };
        setrlimit(Resource::As, most).unwrap();
        let mut all = Vec::<u8>::new();
        assert!(all.try_reserve_exact(256 << 20).is_err(), "there is a limit");

        let read = json!({ "file_path": "f", "offset": 2_000, "limit": 2 });
        let read = agent.done("read", read);
        assert_eq!(read["totalLines"], 2_001);
        assert_eq!(read["lines"][0], json!({ "number": 2_000, "text": "line" }));
        let cut = read["lines"][1]["text"].as_str().unwrap();
        assert!(cut.starts_with("\0\0\0") && cut.len() < 3_000, "{} bytes", cut.len());
        setrlimit(Resource::As, limit).unwrap();
    });
}

#[test]
fn what_is_not_shown_of_a_directory_is_not_followed() {
    const LINKS: usize = 50;
    let test = this_test!();
    if let Some((limit, words)) = actor::part() {
        let kind = offered()[0];
        let session = session_in(Path::new(&words[0]), kind);
        let limit: usize = limit.parse().unwrap();
        let context = CallContext::default();
        let arguments = json!({ "path": ".", "limit": limit });
        let listed = ToolSet::new().call(&session, "list", arguments, &context);
        return actor::tell(listed.value["entries"].as_array().unwrap().len());
    }
    if !strace::is_there(test) {
        return;
    }
    let links = (0..LINKS).map(|number| link(&format!("{number}"), "f"));
    let stage = Stage::new(&Tree::inside(links.chain([file("f", "x")])));
    let root = stage.root().to_str().unwrap();
    let links_read = |limit: usize| {
        let traced = strace::run(&["-e", "trace=readlinkat"], test, &limit.to_string(), &[root]);
        assert_eq!(traced.said, limit.to_string());
        traced.count("readlinkat")
    };
    assert_eq!(links_read(LINKS) - links_read(1), LINKS - 1);
}

#[test]
fn a_file_that_grows_is_shown_and_is_not_changed_before_it_is_read_again() {
    each_agent_on(&Tree::inside([file("log", "line\n")]), |stage, agent| {
        let path = stage.root().join("log");
        let mut log = std::fs::File::options().append(true).open(&path).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let stop_on_drop = StopOnDrop(&stop);
            scope.spawn(|| {
                // More would only take longer to read.
                for _ in 0..MIB / 16 {
                    log.write_all(b"line\n").unwrap();
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
            for _ in 0..rounds(20) {
                let read = agent.done("read", json!({ "file_path": "log" }));
                let total = read["totalLines"].as_u64().unwrap();
                let lines = std::fs::read(&path).unwrap().iter().filter(|b| **b == b'\n').count();
                if lines as u64 > total {
                    let write = json!({ "file_path": "log", "content": "mine" });
                    assert_eq!(agent.code("write", write), "FS_STALE_VERSION");
                }
            }
            drop(stop_on_drop);
        });
        // Once it stands still, what is read is what is there.
        agent.done("read", json!({ "file_path": "log" }));
        let write = json!({ "file_path": "log", "content": "mine" });
        assert_eq!(agent.done("write", write)["operation"], "update");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
    });
}
