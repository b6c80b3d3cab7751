//! The file tools and commands agree on what may be changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ringfence::{
    Code, Ending, Mode, Parents, Precondition, Removal, Request, Run, Runner, Session, Settings,
    ShellGap, TempAreas,
};

use super::{service, usable};
use crate::support::{Stage, Tree, as_user, dir, file, link, this_test};

/// A change as a request, and as the command that makes it.
type Change = (&'static str, fn(&Path) -> Request, &'static str);

/// What is done to one place. What is moved there comes from the workspace.
const CHANGES: [Change; 7] = [
    ("create or replace", write, "echo new >\"$1\""),
    ("truncate", write_nothing, ": >\"$1\""),
    ("make a directory", make_dir, "mkdir \"$1\""),
    ("remove", remove, "rm \"$1\""),
    ("link to", symlink, "ln -s nowhere \"$1\""),
    ("move there", rename_to, "mv -T own \"$1\""),
    ("move away", rename_from, "mv -T \"$1\" own2"),
];

fn write(path: &Path) -> Request {
    let (path, contents) = (path.into(), b"new\n".to_vec());
    Request::Write { path, contents, when: Precondition::None, parents: Parents::Require }
}

fn write_nothing(path: &Path) -> Request {
    let (path, contents) = (path.into(), Vec::new());
    Request::Write { path, contents, when: Precondition::None, parents: Parents::Require }
}

fn make_dir(path: &Path) -> Request {
    Request::CreateDir { path: path.into(), parents: Parents::Require }
}

fn remove(path: &Path) -> Request {
    Request::Remove { path: path.into(), what: Removal::File }
}

fn symlink(path: &Path) -> Request {
    Request::Symlink { path: path.into(), text: "nowhere".into() }
}

fn rename_to(path: &Path) -> Request {
    Request::Rename { from: "own".into(), to: path.into(), when: Precondition::None }
}

fn rename_from(path: &Path) -> Request {
    Request::Rename { from: path.into(), to: "own2".into(), when: Precondition::None }
}

/// Places inside and outside, there and not, by links too. `$BASE/temp` is another
/// writable root.
const PLACES: [&str; 14] = [
    "f",
    "new",
    "d/g",
    "d/new",
    "$BASE/out/x",
    "$BASE/out/new",
    "../out/x",
    "out/x",
    "out/new",
    "link",
    "inside/g",
    "inside/new",
    "$BASE/temp/t",
    "$BASE/temp/new",
];

fn stage() -> Stage {
    let inside = [
        file("f", "f\n"),
        file("own", "own\n"),
        dir("d"),
        file("d/g", "g\n"),
        link("out", "$BASE/out"),
        link("link", "$BASE/out/x"),
        link("inside", "d"),
    ];
    let outside = [file("out/x", "outside\n"), dir("temp"), file("temp/t", "temp\n")];
    Stage::new(&Tree::inside(inside).outside(outside))
}

fn session(stage: &Stage, mode: Mode, runner: Runner) -> Session {
    let settings = Settings::default()
        .workspace(stage.root())
        .mode(mode)
        .temps(TempAreas::only(stage.base().join("temp")))
        .runner(runner);
    service(settings).session().open().unwrap()
}

/// Every entry, and what is in it.
fn picture(stage: &Stage) -> BTreeMap<PathBuf, String> {
    fn look(base: &Path, dir: &Path, seen: &mut BTreeMap<PathBuf, String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap().file_type();
            let text = if kind.is_symlink() {
                let text = std::fs::read_link(&path).unwrap().display().to_string();
                text.replace(&base.display().to_string(), "$BASE")
            } else if kind.is_dir() {
                look(base, &path, seen);
                String::new()
            } else {
                std::fs::read_to_string(&path).unwrap()
            };
            seen.insert(path.strip_prefix(base).unwrap().to_owned(), text);
        }
    }
    let mut seen = BTreeMap::new();
    look(stage.base(), stage.base(), &mut seen);
    seen
}

fn agree(runner: Runner) {
    for mode in [Mode::ReadOnly, Mode::WorkspaceWrite] {
        for (what, request, script) in CHANGES {
            for place in PLACES {
                let (by_tool, by_command) = (stage(), stage());
                let at = |stage: &Stage| PathBuf::from(stage.expand(place));
                let tool = session(&by_tool, mode, runner).perform(request(&at(&by_tool)));
                let line = format!("set -- '{}'; {script}", at(&by_command).display());
                let ran = session(&by_command, mode, runner).run(Run::new(line)).unwrap();
                let told = format!("{what} {place} under {mode} by {runner}: {tool:?}, {ran:?}");
                assert_eq!(tool.is_ok(), ran.ending == Ending::Exited(0), "{told}");
                assert_eq!(picture(&by_tool), picture(&by_command), "{told}");
                // What the host refuses to both is no denial of either.
                let code = tool.map_err(|error| error.code()).err();
                let denied = code == Some(Code::FsSandboxDenied);
                assert!(denied || ran.sandbox.denied.is_none(), "{told}");
            }
        }
    }
}

#[test]
fn file_tools_and_commands_agree_on_every_change_and_place() {
    for runner in usable() {
        agree(runner);
    }
}

#[test]
fn they_agree_for_an_ordinary_user() {
    as_user(this_test!(), || {
        for runner in usable() {
            agree(runner);
        }
    });
}

/// What a command may do that no file tool offers: to what is outside, by each runner.
#[test]
fn metadata_of_files_outside_is_held_or_named_as_a_gap() {
    for runner in usable() {
        for (mode, script) in [Mode::ReadOnly, Mode::WorkspaceWrite].into_iter().flat_map(|mode| {
            ["chmod 600 \"$1\"", "touch -d 2001-01-01 \"$1\""].map(|script| (mode, script))
        }) {
            let stage = stage();
            let outside = stage.base().join("out/x");
            let before = stage.snapshot();
            let line = format!("set -- '{}'; {script}", outside.display());
            let ran = session(&stage, mode, runner).run(Run::new(line)).unwrap();
            let is_gap = ran.sandbox.gaps().contains(&ShellGap::Metadata);
            assert_eq!(is_gap, runner == Runner::Landlock, "{runner}");
            if is_gap {
                assert_eq!(ran.ending, Ending::Exited(0), "the gap is real: {script} by {runner}");
            } else {
                assert!(matches!(ran.ending, Ending::Exited(1..)), "{script} by {runner}: {ran:?}");
                stage.assert_unchanged(&before);
            }
        }
    }
}

/// A link to what is outside would let it be written through the link.
#[test]
fn no_hard_link_leads_to_a_file_outside() {
    for runner in usable() {
        let stage = stage();
        let before = stage.snapshot();
        let session = session(&stage, Mode::WorkspaceWrite, runner);
        for script in ["ln ../out/x h", "ln f ../out/h"] {
            let ran = session.run(Run::new(script)).unwrap();
            assert!(matches!(ran.ending, Ending::Exited(1..)), "{script} by {runner}: {ran:?}");
        }
        stage.assert_unchanged(&before);
    }
}
