//! Protected places: no change touches what is beneath one, nor what leads there, however it is
//! spelled and whether or not it exists.

use std::path::Path;

use ringfence::{
    CallContext, Code, Error, Layer, Mode, Parents, PolicyService, Precondition, Removal, Request,
    Session, Settings, TempAreas, ToolSet,
};
use ringfence_platform::{ErrorKind, Mutation, Options, RelPath, RootedPath, Terms};
use serde_json::json;

use super::{DENIED, Verdict, bind, done, settings, verdict, with_temp, write};
use crate::support::{
    Effect, FenceKind, NodeKind, Stage, Tree, as_user, dir, file, link, offered, open_fence,
    open_fence_with, this_test, with_own_mounts,
};

/// Directories, files and links, of which some are missing, or a part of the way to them is.
const PROTECTED: [&str; 9] = [
    ".git/hooks",
    ".git/config",
    "sub/.git/hooks",
    ".cfg",
    "new/deep/hooks",
    "d/missing",
    ".agent",
    ".far",
    "nowhere/kept",
];

fn tree() -> Tree {
    let inside = [
        file("f", "f"),
        file("d/g", "g"),
        file(".git/hooks/pre-commit", "hook"),
        file(".git/config", "config"),
        file(".git/HEAD", "head"),
        dir("sub/src"),
        file("sub/.git/hooks/pre-commit", "hook"),
        // Links to protected places, which are not protected themselves.
        link("hooks", ".git/hooks"),
        link("hooks_abs", "$ROOT/.git/hooks"),
        link("up", "../ws/.git/hooks"),
        link("across", "../tmp/back"),
        link("git", ".git"),
        link("config", ".git/config"),
        link("to_cfg", ".cfg"),
        // Links that are protected, or on the way.
        file("store/agent/memory", "memory"),
        link(".agent", "first"),
        link("first", "store/agent"),
        link(".far", "$BASE/tmp/far"),
        link("nowhere", "later"),
    ];
    let beside = [
        link("alias", "ws"),
        link("alias_sub", "ws/sub"),
        link("tmp/back", "../ws/.git/hooks"),
        file("tmp/far/away", "far"),
    ];
    with_temp(Tree::inside(inside)).outside(beside)
}

fn protecting(stage: &Stage, mode: Mode, kind: Option<FenceKind>) -> Settings {
    let settings = Settings::default().workspace(stage.root()).mode(mode);
    let settings = settings.temps(TempAreas::only(stage.base().join("tmp")));
    let settings = settings.protected_subpaths(PROTECTED);
    match kind {
        Some(kind) => settings.exactly(kind.resolution, kind.confinement),
        None => settings,
    }
}

fn session(stage: &Stage, mode: Mode, kind: Option<FenceKind>) -> Session {
    open(protecting(stage, mode, kind))
}

fn open(settings: Settings) -> Session {
    PolicyService::load(settings).unwrap().session().open().unwrap()
}

/// Places to write to that are protected, or where something would come to be on the way to one.
const WRITES: [&str; 35] = [
    ".git/hooks/pre-commit",
    ".git/hooks/new",
    ".git/hooks/p/q/new",
    "$ROOT/.git/hooks/new",
    "d/../.git//./hooks/new",
    "$BASE/alias/.git/hooks/new",
    "/proc/self/root$ROOT/.git/hooks/new",
    "hooks/pre-commit",
    "hooks/p/new",
    "hooks_abs/new",
    "up/new",
    "across/new",
    "git/hooks/new",
    ".git/config",
    "config",
    "sub/.git/hooks/pre-commit",
    "$BASE/alias_sub/.git/hooks/new",
    ".cfg",
    ".cfg/p/new",
    ".CFG",
    "to_cfg",
    "$BASE/alias/.cfg",
    "new",
    "new/deep",
    "New/DEEP",
    "new/deep/hooks",
    "new/deep/hooks/p/new",
    "NEW/Deep/Hooks/new",
    "d/missing",
    ".agent/memory",
    "store/agent/new",
    ".far/away",
    "$BASE/tmp/far/new",
    "later",
    "nowhere",
];

/// Every change that is denied in workspace-write and may be made, or fails by the host, where
/// there is no fence.
fn denied() -> Vec<Request> {
    let remove = |path: &&str, what| Request::Remove { path: path.into(), what };
    let rename = |(from, to): (&str, &str), when: &Precondition| {
        let (from, to) = (from.into(), to.into());
        Request::Rename { from, to, when: when.clone() }
    };
    let files = [".git/hooks/pre-commit", ".git/config", "hooks/pre-commit", ".agent", "first"];
    let trees = [".git/hooks", ".git", "sub", "sub/.git", "store", "git/hooks", "up/../../sub"];
    let renames = [
        (".git", "g2"),
        (".git/hooks", "h2"),
        (".git/config", "c2"),
        ("sub", "s2"),
        ("$BASE/alias/sub/.git", "$BASE/tmp/g2"),
        ("hooks/pre-commit", "p2"),
        ("store", "s2"),
        ("first", "f2"),
        (".agent", "a2"),
        ("nowhere", "n2"),
        ("d", "d2"),
        ("f", ".git/hooks/f"),
        ("f", ".git/hooks/pre-commit"),
        ("f", "hooks_abs/f"),
        ("f", ".git/config"),
        ("f", ".cfg"),
        ("d/g", ".Cfg"),
        ("store/agent", "new"),
        ("f", "new/deep"),
        ("f", "new/deep/hooks"),
        ("f", ".agent"),
        ("sub/src", "later"),
        ("$BASE/tmp/far", "$BASE/tmp/further"),
    ];
    let dirs = [
        ".git/hooks/d",
        "hooks/d",
        ".cfg",
        ".cfg/d",
        "new/deep/hooks",
        "new/deep/hooks/d",
        "later",
    ];
    let links =
        [".git/hooks/l", ".cfg", "new", "new/deep", "d/missing", "later", "sub/.git/hooks/l"];
    let none = Precondition::None;
    let symlink = |path: &&str| Request::Symlink { path: path.into(), text: "f".into() };
    let mkdir = |path: &&str| {
        let parents = Parents::Create;
        Request::CreateDir { path: path.into(), parents }
    };
    WRITES
        .iter()
        .map(|path| write(path))
        .chain(files.iter().map(|path| remove(path, Removal::File)))
        .chain(trees.iter().map(|path| remove(path, Removal::Tree)))
        .chain([remove(&".git/hooks", Removal::EmptyDir)])
        .chain(renames.map(|both| rename(both, &none)))
        .chain(renames[..3].iter().map(|both| rename(*both, &Precondition::Absent)))
        .chain(dirs.iter().map(mkdir))
        .chain(links.iter().map(symlink))
        .collect()
}

/// The paths of `request`, expanded.
#[expect(clippy::wildcard_enum_match_arm, reason = "only changes are asked for here")]
fn on(stage: &Stage, request: Request) -> Request {
    let at = |path: &Path| stage.expand(path.to_str().unwrap()).into();
    match request {
        Request::Write { path, contents, when, parents } => {
            Request::Write { path: at(&path), contents, when, parents }
        }
        Request::CreateDir { path, parents } => Request::CreateDir { path: at(&path), parents },
        Request::Remove { path, what } => Request::Remove { path: at(&path), what },
        Request::Rename { from, to, when } => {
            Request::Rename { from: at(&from), to: at(&to), when }
        }
        Request::Symlink { path, text } => Request::Symlink { path: at(&path), text },
        other => panic!("{other:?} is no change"),
    }
}

#[test]
fn what_is_protected_is_touched_by_no_change_on_any_fence() {
    play();
}

#[test]
fn an_ordinary_user_touches_it_as_little() {
    as_user(this_test!(), play);
}

fn play() {
    let mut wrong = Vec::new();
    for (mode, kind) in settings() {
        let mut stage = Stage::new(&tree());
        for request in denied() {
            let asked = format!("{request:?} {mode} {kind:?}");
            let got = verdict(&stage, &session(&stage, mode, kind), on(&stage, request));
            let is_right = match mode {
                Mode::DangerFullAccess => matches!(&got, Ok(verdict) if *verdict != DENIED),
                Mode::ReadOnly | Mode::WorkspaceWrite => got == Ok(DENIED),
            };
            if !is_right {
                wrong.push(format!("{asked}: {got:?}"));
            }
            if got != Ok(DENIED) {
                stage = Stage::new(&tree());
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_beside_a_protected_place_is_as_writable_as_ever() {
    let new = |kind, path: &str| Effect::New(kind, path.into());
    let gone = |kind, path: &str| Effect::Gone(kind, path.into());
    let moved = |from: &str, to: &str| Effect::Moved(from.into(), to.into());
    let remove = |path: &str, what| Request::Remove { path: path.into(), what };
    let rename = |from: &str, to: &str| {
        let (from, to) = (from.into(), to.into());
        Request::Rename { from, to, when: Precondition::None }
    };
    let mkdir = |path: &str| Request::CreateDir { path: path.into(), parents: Parents::Create };
    let symlink = |path: &str, text: &str| {
        let (path, text) = (path.into(), text.into());
        Request::Symlink { path, text }
    };
    for (mode, kind) in settings().filter(|(mode, _)| *mode != Mode::ReadOnly) {
        for (request, effects) in [
            (write("f"), vec![Effect::Replaced("f".into())]),
            (write(".git/HEAD"), vec![Effect::Replaced(".git/HEAD".into())]),
            (write(".git/index"), vec![new(NodeKind::File, ".git/index")]),
            (write(".git/hooks2"), vec![new(NodeKind::File, ".git/hooks2")]),
            (write("sub/.git/config"), vec![new(NodeKind::File, "sub/.git/config")]),
            (write(".cfg2"), vec![new(NodeKind::File, ".cfg2")]),
            (write("new/other"), vec![new(NodeKind::Dir, "new"), new(NodeKind::File, "new/other")]),
            (
                write("new/deep/other"),
                vec![
                    new(NodeKind::Dir, "new"),
                    new(NodeKind::Dir, "new/deep"),
                    new(NodeKind::File, "new/deep/other"),
                ],
            ),
            (mkdir("new/deep"), vec![new(NodeKind::Dir, "new"), new(NodeKind::Dir, "new/deep")]),
            (mkdir(".git"), vec![]),
            (mkdir(".git/hooks"), vec![]),
            (remove("sub/src", Removal::Tree), vec![gone(NodeKind::Dir, "sub/src")]),
            (remove("d", Removal::Tree), vec![gone(NodeKind::Dir, "d")]),
            (remove(".git/HEAD", Removal::File), vec![gone(NodeKind::File, ".git/HEAD")]),
            (rename("f", ".git/f"), vec![moved("f", ".git/f")]),
            (rename("sub/src", "src"), vec![moved("sub/src", "src")]),
            // A link to a protected place is none.
            (rename("hooks", "h2"), vec![moved("hooks", "h2")]),
            (remove("git", Removal::File), vec![gone(NodeKind::Symlink, "git")]),
            (symlink("l", ".git/hooks"), vec![new(NodeKind::Symlink, "l")]),
        ] {
            let stage = Stage::new(&tree());
            let asked = format!("{request:?} {mode} {kind:?}");
            let got = verdict(&stage, &session(&stage, mode, kind), request);
            assert_eq!(got, Ok(done(effects)), "{asked}");
        }
    }
}

#[test]
fn a_way_that_is_made_cannot_be_moved_and_can_be_unmade() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let session = session(&stage, Mode::WorkspaceWrite, Some(*kind));
        let mkdir = |path: &str| Request::CreateDir { path: path.into(), parents: Parents::Create };
        session.perform(mkdir("new/deep")).unwrap();
        session.perform(mkdir("elsewhere/hooks")).unwrap();
        for (from, to) in [("new", "n2"), ("new/deep", "d2"), ("elsewhere", "new/deep")] {
            let (from, to, when) = (from.into(), to.into(), Precondition::None);
            let rename = Request::Rename { from, to, when };
            let asked = format!("{rename:?} {kind}");
            assert_eq!(verdict(&stage, &session, rename), Ok(DENIED), "{asked}");
        }
        for path in ["new/deep/hooks", "new/deep/HOOKS/h"] {
            assert_eq!(verdict(&stage, &session, write(path)), Ok(DENIED), "{path} {kind}");
        }
        for (path, what) in [("new/deep", Removal::EmptyDir), ("new", Removal::Tree)] {
            session.perform(Request::Remove { path: path.into(), what }).unwrap();
        }
        assert_eq!(verdict(&stage, &session, write("new/deep/hooks/h")), Ok(DENIED), "{kind}");
    }
}

#[test]
fn what_comes_to_be_there_by_others_is_protected_from_then_on() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let session = session(&stage, Mode::WorkspaceWrite, Some(*kind));
        std::fs::create_dir_all(stage.root().join("elsewhere/deep/hooks")).unwrap();
        let written = |path| verdict(&stage, &session, write(path));
        assert!(matches!(written("elsewhere/deep/hooks/a"), Ok(Verdict::Done(_))), "{kind}");
        std::fs::rename(stage.root().join("elsewhere"), stage.root().join("new")).unwrap();
        assert_eq!(written("new/deep/hooks/a"), Ok(DENIED), "{kind}");
        std::fs::rename(stage.root().join("new"), stage.root().join("away")).unwrap();
        std::os::unix::fs::symlink("away", stage.root().join("new")).unwrap();
        assert_eq!(written("away/deep/hooks/a"), Ok(DENIED), "{kind}");
        std::fs::remove_file(stage.root().join("new")).unwrap();
        assert!(matches!(written("away/deep/hooks/a"), Ok(Verdict::Done(_))), "{kind}");
    }
}

#[test]
fn the_tools_are_denied_what_is_protected_and_told_so() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let session = session(&stage, Mode::WorkspaceWrite, Some(*kind));
        let tools = ToolSet::new();
        let call = |name, arguments| tools.call(&session, name, arguments, &CallContext::default());
        for spelled in WRITES {
            let path = stage.expand(spelled);
            let before = stage.snapshot();
            let read = call("read", json!({ "file_path": path }));
            let mut results =
                vec![call("write", json!({ "file_path": path, "content": "written" }))];
            if let Some(old) = read.value["lines"][0]["text"].as_str() {
                let edit = json!({ "file_path": path, "old_string": old, "new_string": "new" });
                results.push(call("edit", edit));
            }
            for result in results {
                let text = &result.text;
                assert_eq!(result.code, Some(Code::FsSandboxDenied), "{path} {kind}: {text}");
                assert!(text.contains("is protected"), "{path} {kind}: {text}");
            }
            stage.assert_unchanged(&before);
        }
    }
}

#[test]
fn a_denial_names_the_protection_and_what_would_suffice() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let session = session(&stage, Mode::WorkspaceWrite, Some(*kind));
        let (from, to, when) = ("f".into(), ".git/hooks/f".into(), Precondition::None);
        let rename = Request::Rename { from, to, when };
        for (request, path) in [(write("hooks/new"), "hooks/new"), (rename, ".git/hooks/f")] {
            let Err(Error::Denied(denial)) = session.perform(request) else {
                panic!("{path} is denied")
            };
            assert_eq!(denial.by, Layer::Protected, "{kind}");
            assert_eq!(denial.path, stage.root().join(path), "{kind}");
            assert_eq!(denial.narrowest, Some(Mode::DangerFullAccess), "{kind}");
        }
    }
}

#[test]
fn an_exchange_is_judged_at_both_ends() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let roots = stage.roots();
        let root = roots.iter().next().unwrap().id();
        let at = |path: &str| RootedPath::new(root, RelPath::new(path).unwrap());
        let fence = open_fence(&roots.protecting(PROTECTED.map(at)), *kind);
        for path in [".git", ".git/hooks", ".git/config", "sub", "store", "first", ".agent"] {
            for (first, second) in [(path, "f"), ("f", path)] {
                let before = stage.snapshot();
                let exchange = Mutation::Exchange { first: at(first), second: at(second) };
                let error = fence.apply(exchange, &Terms::default()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Protected, "{first} {second} {kind}");
                assert_eq!(error.path(), Path::new(path), "{kind}");
                stage.assert_unchanged(&before);
            }
        }
        let exchange = Mutation::Exchange { first: at("f"), second: at("d/g") };
        assert!(fence.apply(exchange, &Terms::default()).is_ok(), "{kind}");
    }
}

#[test]
fn a_fence_that_crosses_no_mount_protects_all_the_same() {
    let stage = Stage::new(&tree());
    let roots = stage.roots();
    let root = roots.iter().next().unwrap().id();
    let at = |path: &str| RootedPath::new(root, RelPath::new(path).unwrap());
    let roots = roots.protecting(PROTECTED.map(at));
    for kind in offered() {
        let options = Options { no_xdev: true, ..Options::default() };
        let fence = open_fence_with(&roots, options, *kind);
        let remove = Mutation::Remove { path: at(".git"), what: Removal::Tree };
        let error = fence.apply(remove, &Terms::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protected, "{kind}");
    }
}

/// A host of its own, whose shared area is the test's.
#[test]
fn a_workspace_within_the_shared_area_has_its_places_protected() {
    with_own_mounts(this_test!(), || {
        let ws = ["ws/.git/hooks/pre-commit", "ws/f"].map(|path| file(path, "old"));
        let stage = Stage::new(&Tree::inside(ws));
        let shared = Path::new("/tmp");
        bind(stage.root(), shared);
        for kind in offered() {
            let settings = Settings::default().workspace(shared.join("ws"));
            let settings = settings.mode(Mode::WorkspaceWrite).protected_subpaths([".git/hooks"]);
            let settings = settings.exactly(kind.resolution, kind.confinement);
            let session = open(settings);
            let rename = |from: &str, to: &str| {
                let (from, to) = (from.into(), to.into());
                Request::Rename { from, to, when: Precondition::None }
            };
            for request in [
                write("/tmp/ws/.git/hooks/new"),
                write(".git/hooks/pre-commit"),
                rename(".git", "g2"),
                rename("/tmp/ws", "/tmp/ws2"),
            ] {
                let asked = format!("{request:?} {kind}");
                assert_eq!(verdict(&stage, &session, request), Ok(DENIED), "{asked}");
            }
            assert!(session.perform(write("f")).is_ok(), "{kind}");
        }
        rustix::mount::unmount(shared, rustix::mount::UnmountFlags::DETACH).unwrap();
    });
}

/// By a second mount of it, a place has another path and is the same.
#[test]
fn what_is_protected_is_so_by_another_mount_of_it() {
    with_own_mounts(this_test!(), || {
        for kind in offered() {
            let stage = Stage::new(&tree());
            for place in ["again", "git_again"] {
                std::fs::create_dir(stage.root().join(place)).unwrap();
            }
            let (hooks, git) = (stage.root().join(".git/hooks"), stage.root().join(".git"));
            bind(&hooks, &stage.root().join("again"));
            bind(&git, &stage.root().join("git_again"));
            let session = session(&stage, Mode::WorkspaceWrite, Some(*kind));
            for path in ["again/new", "git_again/hooks/new", "git_again/config"] {
                assert_eq!(verdict(&stage, &session, write(path)), Ok(DENIED), "{path} {kind}");
            }
            assert!(session.perform(write("git_again/HEAD")).is_ok(), "{kind}");
            for place in ["again", "git_again"] {
                let place = stage.root().join(place);
                rustix::mount::unmount(place, rustix::mount::UnmountFlags::DETACH).unwrap();
            }
        }
    });
}

#[test]
fn the_places_are_those_of_the_settings_in_force() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let with = || protecting(&stage, Mode::WorkspaceWrite, Some(*kind));
        let without = || with().protected_subpaths([""; 0]);
        let services = [with(), without()].map(|settings| PolicyService::load(settings).unwrap());
        let sessions = services.each_ref().map(|service| service.session().open().unwrap());
        let other = services[0].session().cwd(stage.root().join("sub")).open().unwrap();
        let is_denied = |session: &Session| session.perform(write(".git/hooks/new")).is_err();
        assert_eq!(sessions.each_ref().map(is_denied), [true, false], "{kind}");
        assert!(is_denied(&other), "it is beneath the session's own workspace: {kind}");
        services[0].reload(without()).unwrap();
        services[1].reload(with()).unwrap();
        assert_eq!(sessions.each_ref().map(is_denied), [false, true], "{kind}");
    }
}
