//! Settings that cannot be held are refused by their name, and what is odd about others is told.

use std::path::{Path, PathBuf};

use ringfence::{
    Code, Error, Follow, Mode, PolicyService, Request, Settings, TempAreas, WriteIntent,
    writable_roots,
};
use rustix::fs::CWD;
use rustix::process::{chdir, chroot, fchdir};

use crate::support::{
    FenceKind, Stage, Tree, dir, file, link, offered, open_dir, this_test, told_by, with_own_mounts,
};

const SESSION: &str = "session's working directory";

fn settings(workspace: impl Into<PathBuf>, temps: TempAreas, kind: FenceKind) -> Settings {
    let settings = Settings::default().workspace(workspace).temps(temps);
    settings.mode(Mode::WorkspaceWrite).exactly(kind.resolution, kind.confinement)
}

fn stage() -> Stage {
    let outside = [dir("temp"), file("file", "x"), link("a", "b"), link("b", "a")];
    Stage::new(&Tree::inside([]).outside(outside))
}

/// Paths that lead to no directory.
fn no_directories(base: &Path) -> [PathBuf; 7] {
    let long = "x".repeat(300);
    let deep = format!("{}x", "x/".repeat(3000));
    ["missing", "file", "file/x", "a", "nul\0", &long, &deep].map(|path| base.join(path))
}

#[track_caller]
fn assert_refused<T>(result: Result<T, Error>, setting: &str, path: &Path) {
    let error = result.err().unwrap_or_else(|| panic!("{setting} {path:?} is taken"));
    assert_eq!(error.code(), Code::PolicyInvalid, "{setting} {path:?}: {error}");
    let said = error.to_string();
    let named = format!("invalid {setting} {path:?}: expected ");
    assert!(said.starts_with(&named), "{said:?} names {setting} and {path:?}");
}

#[test]
fn a_path_that_leads_to_no_directory_is_refused_by_the_name_of_its_setting() {
    for kind in offered() {
        let stage = stage();
        let service = PolicyService::load(settings(stage.root(), TempAreas::none(), *kind));
        let service = service.unwrap();
        for path in no_directories(stage.base()) {
            let workspace = settings(&path, TempAreas::none(), *kind);
            assert_refused(PolicyService::load(workspace), "workspace_root", &path);
            let temp = settings(stage.root(), TempAreas::only(&path), *kind);
            assert_refused(PolicyService::load(temp), "temp directory (TMPDIR)", &path);
            assert_refused(service.session().cwd(&path).open(), SESSION, &path);
        }
        let relative = Path::new("relative");
        assert_refused(service.session().cwd(relative).open(), SESSION, relative);
    }
}

#[test]
fn a_limit_for_texts_that_no_text_keeps_is_refused() {
    for kind in offered() {
        let stage = stage();
        let settings = || settings(stage.root(), TempAreas::none(), *kind);
        let none = settings().max_text_bytes(0);
        assert_refused(PolicyService::load(none.clone()), "max_text_bytes", Path::new("0"));
        let service = PolicyService::load(settings().max_text_bytes(1)).unwrap();
        assert_refused(service.reload(none), "max_text_bytes", Path::new("0"));
        let session = service.session().open().unwrap();
        let write = |text: &str| {
            let (path, text) = ("f".into(), text.to_owned());
            session.perform(Request::WriteText { path, text, intent: WriteIntent::Any })
        };
        write("x").unwrap();
        assert!(write("xx").is_err());
    }
}

/// The warnings among these lines that say `what`.
fn warnings(lines: &[String], what: &str) -> usize {
    lines.iter().filter(|line| line.contains("WARN") && line.contains(what)).count()
}

#[test]
fn a_workspace_that_is_a_whole_volume_is_told() {
    let told = "the workspace is a whole volume";
    for kind in offered() {
        let stage = stage();
        let load = |workspace: &Path| {
            let settings = settings(workspace, TempAreas::none(), *kind).mode(Mode::ReadOnly);
            PolicyService::load(settings).unwrap()
        };
        let lines = told_by(|| drop(load(Path::new("/"))));
        assert_eq!(warnings(&lines, told), 1, "{lines:?}");
        let mut service = None;
        let lines = told_by(|| service = Some(load(stage.root())));
        assert_eq!(warnings(&lines, ""), 0, "{lines:?}");
        let service = service.unwrap();
        let lines = told_by(|| drop(service.session().cwd("/").open().unwrap()));
        assert_eq!(warnings(&lines, told), 1, "{lines:?}");
    }
}

/// A host of its own, where nothing else uses the shared area.
#[test]
fn a_shared_temp_area_that_is_no_directory_is_left_out_and_told() {
    with_own_mounts(this_test!(), || {
        let out = open_dir(CWD, "/").unwrap();
        for (entry, leaves) in [(dir("d"), true), (file("tmp", "x"), true), (dir("tmp"), false)] {
            let stage = Stage::new(&Tree::inside([dir("ws"), entry]));
            let (mut roots, mut lines) = (None, Vec::new());
            let inside = chroot(stage.root()).and_then(|()| chdir("/"));
            if inside.is_ok() {
                lines = told_by(|| {
                    let temps = TempAreas::from_env();
                    roots = Some(writable_roots(Mode::WorkspaceWrite, "/ws".as_ref(), &temps));
                });
            }
            fchdir(&out).and_then(|()| chroot(".")).unwrap();
            inside.unwrap();
            let roots = roots.unwrap().unwrap().unwrap();
            let paths: Vec<_> = roots.iter().map(|root| root.path().to_owned()).collect();
            let expected = ["/ws", "/tmp"].map(PathBuf::from);
            assert_eq!(paths, if leaves { &expected[..1] } else { &expected[..] });
            let told = warnings(&lines, "left out of the writable roots");
            assert_eq!(told, usize::from(leaves), "{lines:?}");
            assert_eq!(warnings(&lines, "/tmp"), told, "it is named: {lines:?}");
        }
    });
}

#[test]
fn a_temp_area_that_is_lost_is_told_once() {
    for kind in offered() {
        let stage = stage();
        let temp = stage.base().join("temp");
        let settings = settings(stage.root(), TempAreas::only(&temp), *kind);
        let session = PolicyService::load(settings).unwrap().session().open().unwrap();
        let lines_of_a_write = || {
            told_by(|| {
                let (path, text) = ("f".into(), "new".to_owned());
                let write = Request::WriteText { path, text, intent: WriteIntent::Any };
                session.perform(write).unwrap();
            })
        };
        assert_eq!(warnings(&lines_of_a_write(), ""), 0);
        std::fs::remove_dir(&temp).unwrap();
        let lines = lines_of_a_write();
        assert_eq!(warnings(&lines, "a temp area is gone or another by now"), 1, "{lines:?}");
        assert_eq!(warnings(&lines, temp.to_str().unwrap()), 1, "it is named: {lines:?}");
        assert_eq!(warnings(&lines_of_a_write(), ""), 0);
    }
}

#[test]
fn a_protected_place_that_is_none_is_refused() {
    for kind in offered() {
        let stage = stage();
        let settings = || settings(stage.root(), TempAreas::none(), *kind);
        let service = PolicyService::load(settings()).unwrap();
        for path in ["", ".", "/a", "..", "a/../..", "a\0b"] {
            let none = settings().protected_subpaths(["kept", path]);
            let path = Path::new(path);
            assert_refused(PolicyService::load(none.clone()), "protected_subpaths", path);
            assert_refused(service.reload(none), "protected_subpaths", path);
        }
    }
}

#[test]
fn a_protected_place_that_is_missing_is_told_each_time_a_workspace_is_opened() {
    let told = "a protected place is missing";
    for kind in offered() {
        let stage = Stage::new(&Tree::inside([file("f", "x"), file("sub/g", "x")]));
        let settings = settings(stage.root(), TempAreas::none(), *kind);
        let settings = settings.protected_subpaths(["f", "missing", "sub/missing"]);
        let mut service = None;
        let load = || PolicyService::load(settings.clone()).unwrap();
        let lines = told_by(|| service = Some(load()));
        assert_eq!(warnings(&lines, told), 2, "{lines:?}");
        for path in ["missing", "sub/missing"] {
            let named = format!("{:?}", stage.root().join(path));
            assert_eq!(warnings(&lines, &named), 1, "it is named: {lines:?}");
        }
        let service = service.unwrap();
        let lines = told_by(|| {
            let session = service.session().open().unwrap();
            session.perform(Request::Stat { path: "f".into(), follow: Follow::Yes }).unwrap();
        });
        assert_eq!(warnings(&lines, told), 0, "{lines:?}");
        let lines = told_by(|| drop(service.session().cwd(stage.root().join("sub")).open()));
        assert_eq!(warnings(&lines, told), 3, "{lines:?}");
    }
}
