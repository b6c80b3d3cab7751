//! The file tools and commands agree on what may be changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringfence::{
    Code, Durability, Ending, Mode, ModeSource, Parents, PolicyService, Precondition, Removal,
    Request, Run, Runner, Session, Settings, ShellGap, TempAreas,
};

use super::{service, usable};
use crate::effort::rounds;
use crate::support::{Base, Stage, Tree, as_user, dir, file, link, this_test};

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

/// Places inside and outside, there and not, by links too. `$TEMP` is another writable
/// root.
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
    "$TEMP/t",
    "$TEMP/new",
];

fn tree() -> Tree {
    let inside = [
        file("f", "f\n"),
        file("own", "own\n"),
        dir("d"),
        file("d/g", "g\n"),
        link("out", "$BASE/out"),
        link("link", "$BASE/out/x"),
        link("inside", "d"),
    ];
    Tree::inside(inside).outside([file("out/x", "outside\n")])
}

/// One who acts, with sessions on many stages and one temp directory.
struct Side {
    temp: Base,
    service: Arc<PolicyService>,
}

impl Side {
    fn new(runner: Runner) -> Self {
        let temp = Base::new();
        let (settings, temps) = (Settings::default(), TempAreas::only(temp.path()));
        let settings = settings.workspace(temp.path()).temps(temps).runner(runner);
        let settings = settings.durability(Durability::None);
        Self { service: service(settings), temp }
    }

    fn session(&self, stage: &Stage, mode: Mode) -> Session {
        let session = self.service.session().cwd(stage.root()).open().unwrap();
        session.set_mode(mode, ModeSource::Host);
        session
    }

    /// A stage as it is before anything is done.
    fn stage(&self) -> Stage {
        for entry in std::fs::read_dir(self.temp.path()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        std::fs::write(self.temp.path().join("t"), "temp\n").unwrap();
        let mut stage = Stage::new(&tree());
        stage.define("TEMP", self.temp.path().display());
        stage
    }

    /// What is in the writable directories, and what is elsewhere.
    fn picture(&self, stage: &Stage) -> [Picture; 2] {
        let (mut all, mut temp) = (Picture::new(), Picture::new());
        look(stage.base(), stage.base(), &mut all);
        look(self.temp.path(), self.temp.path(), &mut temp);
        let (mut inside, outside): (Picture, Picture) =
            all.into_iter().partition(|(path, _)| path.starts_with("ROOT/"));
        inside.extend(temp);
        [inside, outside]
    }
}

/// Every entry, and what is in it.
type Picture = BTreeMap<PathBuf, String>;

fn look(base: &Path, dir: &Path, seen: &mut Picture) {
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

fn agree(runner: Runner, places: usize) {
    let (tools, commands) = (Side::new(runner), Side::new(runner));
    for mode in [Mode::ReadOnly, Mode::WorkspaceWrite] {
        for (what, request, script) in CHANGES {
            // A brief run takes some of them.
            for place in PLACES.into_iter().step_by(PLACES.len().div_ceil(rounds(places))) {
                let (by_tool, by_command) = (tools.stage(), commands.stage());
                let path = PathBuf::from(by_tool.expand(place));
                let tool = tools.session(&by_tool, mode).perform(request(&path));
                let line = format!("set -- '{}'; {script}", by_command.expand(place));
                let ran = commands.session(&by_command, mode).run(Run::new(line)).unwrap();
                let told = format!("{what} {place} under {mode} by {runner}: {tool:?}, {ran:?}");
                assert_eq!(tool.is_ok(), ran.ending == Ending::Exited(0), "{told}");
                let (by_tool, by_command) =
                    (tools.picture(&by_tool), commands.picture(&by_command));
                assert_eq!(by_tool[1], by_command[1], "{told}");
                // A program may begin with what it may do: mv(1) has copied what it cannot remove.
                assert!(tool.is_err() || by_tool == by_command, "{told}");
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
        agree(runner, PLACES.len());
    }
}

#[test]
fn they_agree_for_an_ordinary_user() {
    as_user(this_test!(), || {
        for runner in usable() {
            agree(runner, PLACES.len() / 2);
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
            let side = Side::new(runner);
            let stage = side.stage();
            let outside = stage.base().join("out/x");
            let before = stage.snapshot();
            let line = format!("set -- '{}'; {script}", outside.display());
            let ran = side.session(&stage, mode).run(Run::new(line)).unwrap();
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
        let side = Side::new(runner);
        let stage = side.stage();
        let before = stage.snapshot();
        let session = side.session(&stage, Mode::WorkspaceWrite);
        for script in ["ln ../out/x h", "ln f ../out/h"] {
            let ran = session.run(Run::new(script)).unwrap();
            assert!(matches!(ran.ending, Ending::Exited(1..)), "{script} by {runner}: {ran:?}");
        }
        stage.assert_unchanged(&before);
    }
}
