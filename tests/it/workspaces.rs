//! The registry of workspaces: one document, which directory a workspace is, and in which order
//! they are listed.

mod damaged;
mod killed;
mod membership;
mod together;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ringfence::{
    Code, Error, Mode, Parents, Precondition, Request, SessionHeader, Sessions, Workspace,
    WorkspaceId, WorkspaceStatus, Workspaces,
};
use serde_json::{Value, json};

use crate::support::{
    FenceKind, Stage, Tree, as_user, dir, file, link, offered, session_in, this_test,
};

/// Directories that can be workspaces, and others that cannot.
fn tree() -> Tree {
    Tree::inside([
        dir("a"),
        dir("b/in"),
        dir("state"),
        file("f", ""),
        link("to-a", "a"),
        link("dangling", "nowhere"),
        link("round", "round"),
    ])
}

/// The registry of `stage`, written by this kind of fence.
fn registry_of(stage: &Stage, kind: FenceKind) -> Workspaces {
    let workspaces = Workspaces::open(stage.root().join("state/ws.json")).unwrap();
    workspaces.exactly(kind.resolution, kind.confinement)
}

/// Runs `test` with a registry that is written by each fence of this host, each on a stage.
fn each_registry(test: impl Fn(&Stage, &Workspaces)) {
    for kind in offered() {
        let stage = Stage::new(&tree());
        test(&stage, &registry_of(&stage, *kind));
    }
}

fn text_of(workspaces: &Workspaces) -> Option<String> {
    std::fs::read_to_string(workspaces.path()).ok()
}

fn document(workspaces: &Workspaces) -> Value {
    serde_json::from_str(&text_of(workspaces).unwrap()).unwrap()
}

fn header(id: &str, cwd: impl Into<PathBuf>, began: u64) -> SessionHeader {
    let created_at = SystemTime::UNIX_EPOCH + Duration::from_secs(began);
    SessionHeader { id: id.to_owned(), cwd: Some(cwd.into()), created_at }
}

fn create(workspaces: &Workspaces, path: impl AsRef<Path>) -> Workspace {
    workspaces.create(path, Sessions::Unread).unwrap()
}

fn all(workspaces: &Workspaces) -> Vec<Workspace> {
    workspaces.list(Sessions::Unread).unwrap()
}

fn ids(workspaces: &Workspaces) -> Vec<WorkspaceId> {
    all(workspaces).iter().map(|workspace| workspace.id).collect()
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    result.unwrap_err().code()
}

#[test]
fn the_state_is_one_document_with_just_these_fields() {
    each_registry(|stage, workspaces| {
        assert!(all(workspaces).is_empty());
        assert_eq!(text_of(workspaces), None, "looking makes nothing");
        let root = stage.root();
        let made = create(workspaces, root.join("a"));
        let id = made.id.to_string();
        let mut found = document(workspaces);
        let times = ["createdAt", "updatedAt"].map(|name| found["workspaces"][&id][name].take());
        let expected = json!({
            "initialized": false,
            "workspaceIds": [id],
            "archivedSessionIds": [],
            "workspaces": {
                &id: {
                    "path": root.join("a"),
                    "title": "a",
                    "sessionIds": [],
                    "createdAt": null,
                    "updatedAt": null,
                },
            },
        });
        assert_eq!(found, expected);
        assert_eq!(times[0], times[1]);
        let time = times[0].as_str().unwrap();
        assert_eq!((time.len(), &time[10..11], &time[23..]), (24, "T", "Z"), "{time}");
        assert_eq!((&id[14..15], id.len()), ("4", 36), "a random UUID: {id}");
        let age = made.created_at.elapsed().unwrap();
        assert!(age < Duration::from_secs(600), "{age:?}");
    });
}

#[test]
fn a_directory_is_one_workspace_under_any_spelling() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let made = create(workspaces, root.join("to-a"));
        assert_eq!(made.path, root.join("a"), "canonical");
        let before = text_of(workspaces);
        for spelled in ["a", "a/", "./a/.", "b/../a", "to-a", "b/in/../../to-a"] {
            let spelled = root.join(spelled);
            assert_eq!(create(workspaces, &spelled), made, "{spelled:?}");
            assert_eq!(workspaces.at(&spelled, Sessions::Unread).unwrap(), made, "{spelled:?}");
        }
        assert_eq!(text_of(workspaces), before, "what is known is not written again");
        assert_eq!(workspaces.get(made.id, Sessions::Unread).unwrap(), made);
        let other = workspaces.at(root.join("b"), Sessions::Unread);
        assert_eq!(code(other), Code::WorkspaceUnknown);
    });
}

#[test]
fn what_is_missing_or_no_directory_is_not_added() {
    each_registry(|stage, workspaces| {
        for (path, expected) in [
            ("missing", Code::FsNotFound),
            ("missing/too", Code::FsNotFound),
            ("dangling", Code::FsNotFound),
            ("f/below", Code::FsNotFound),
            ("a\0", Code::FsNotFound),
            ("f", Code::FsNotDirectory),
            ("round", Code::FsIoError),
        ] {
            let refused = workspaces.create(stage.root().join(path), Sessions::Unread);
            assert_eq!(code(refused), expected, "{path}");
        }
        assert_eq!(text_of(workspaces), None);
    });
}

#[test]
fn a_path_that_no_document_can_hold_is_not_added() {
    use std::os::unix::ffi::OsStrExt;
    each_registry(|stage, workspaces| {
        let odd = stage.root().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
        std::fs::create_dir(&odd).unwrap();
        let error = workspaces.create(&odd, Sessions::Unread).unwrap_err();
        assert_eq!(error.code(), Code::FsIoError);
        assert_eq!(error.reason().map(|reason| reason.to_string()).as_deref(), Some("unsupported"));
        assert_eq!(workspaces.initialize(&[header("s", &odd, 1)]).unwrap(), []);
    });
}

#[test]
fn new_ones_come_first_and_are_called_as_their_last_component() {
    each_registry(|stage, workspaces| {
        for (path, title) in [("a", "a"), ("b/in", "in"), ("b", "b")] {
            assert_eq!(create(workspaces, stage.root().join(path)).title, title);
        }
        assert_eq!(create(workspaces, "/").title, "/");
        let titles = |list: &[Workspace]| -> String {
            list.iter().map(|workspace| &*workspace.title).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(titles(&all(workspaces)), "/ b in a");

        let renamed = workspaces.rename(ids(workspaces)[3], "first", Sessions::Unread).unwrap();
        assert!(renamed.updated_at >= renamed.created_at);
        assert_eq!(renamed.path, stage.root().join("a"));
        assert_eq!(titles(&all(workspaces)), "/ b in first");
    });
}

#[test]
fn a_reordering_moves_what_it_names_to_the_front_and_no_unknown_id() {
    each_registry(|stage, workspaces| {
        let [a, b, inner] =
            ["a", "b", "b/in"].map(|dir| create(workspaces, stage.root().join(dir)));
        let [a, b, inner] = [a, b, inner].map(|workspace| workspace.id);
        assert_eq!(ids(workspaces), [inner, b, a]);
        for (named, expected) in [
            (&[a][..], [a, inner, b]),
            (&[b, b, inner], [b, inner, a]),
            (&[], [b, inner, a]),
            (&[inner, a, b], [inner, a, b]),
        ] {
            workspaces.reorder(named, Sessions::Unread).unwrap();
            assert_eq!(ids(workspaces), expected, "{named:?}");
        }
        let gone = workspaces.remove(a, Sessions::Unread).unwrap();
        assert_eq!((gone.id, ids(workspaces)), (a, vec![inner, b]));
        assert!(stage.root().join("a").is_dir(), "its directory stays");
        let before = text_of(workspaces);
        let refused = workspaces.reorder(&[b, a], Sessions::Unread);
        assert_eq!(code(refused), Code::WorkspaceUnknown);
        assert_eq!(code(workspaces.remove(a, Sessions::Unread)), Code::WorkspaceUnknown);
        assert_eq!(code(workspaces.rename(a, "x", Sessions::Unread)), Code::WorkspaceUnknown);
        assert_eq!(code(workspaces.get(a, Sessions::Unread)), Code::WorkspaceUnknown);
        assert_eq!(text_of(workspaces), before);
    });
}

#[test]
fn a_directory_that_was_moved_is_missing_and_is_another_workspace_where_it_is() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let made = create(workspaces, root.join("a"));
        assert_eq!(made.status, WorkspaceStatus::Ok);
        std::fs::rename(root.join("a"), root.join("moved")).unwrap();

        let missing = workspaces.get(made.id, Sessions::Unread).unwrap();
        assert_eq!((missing.status, &missing.path), (WorkspaceStatus::MissingDir, &made.path));
        assert_eq!(missing.status.to_string(), "missing-dir");
        assert_eq!(workspaces.at(root.join("a"), Sessions::Unread).unwrap(), missing);
        let moved = create(workspaces, root.join("moved"));
        assert_ne!(moved.id, made.id);
        assert_eq!(ids(workspaces), [moved.id, made.id], "a stored path is not rewritten");

        // Nothing but the path is stored, so the path decides.
        std::fs::create_dir(root.join("a")).unwrap();
        assert_eq!(create(workspaces, root.join("a")), made);
        std::fs::remove_dir(root.join("a")).unwrap();
        std::fs::write(root.join("a"), "").unwrap();
        let missing = workspaces.get(made.id, Sessions::Unread).unwrap();
        assert_eq!(missing.status, WorkspaceStatus::MissingDir, "no directory");
    });
}

#[test]
fn a_stored_path_that_leads_elsewhere_by_now_is_where_it_leads() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let made = create(workspaces, root.join("a"));
        std::fs::rename(root.join("a"), root.join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", root.join("a")).unwrap();
        assert_eq!(create(workspaces, root.join("moved")), made, "its path is not rewritten");
    });
}

#[test]
fn a_workspace_that_is_known_grants_nothing() {
    each_registry(|stage, workspaces| {
        create(workspaces, stage.root().join("b"));
        for kind in offered() {
            let session = session_in(&stage.root().join("a"), *kind);
            let write = Request::Write {
                path: stage.root().join("b/n"),
                contents: Vec::new(),
                when: Precondition::None,
                parents: Parents::Require,
            };
            assert_eq!(session.policy().unwrap().mode(), Mode::WorkspaceWrite);
            assert_eq!(code(session.perform(write)), Code::FsSandboxDenied);
        }
    });
}

#[test]
fn the_first_change_makes_the_file_and_the_directories_above_it() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let at = |path: &str| {
            let workspaces = Workspaces::open(stage.root().join(path)).unwrap();
            workspaces.exactly(kind.resolution, kind.confinement)
        };
        let deep = at("b/in/x/y/ws.json");
        assert!(all(&deep).is_empty());
        assert!(!stage.root().join("b/in/x").exists());
        let made = create(&deep, stage.root().join("a"));
        assert_eq!(ids(&at("b/in/x/y/ws.json")), [made.id]);
        assert_eq!(ids(&at("to-a/../b/in/x/y/ws.json")), [made.id]);
        for (wrong, expected) in [
            ("f/ws.json", Code::FsNotRegularFile),
            ("a", Code::FsNotRegularFile),
            ("", Code::FsNotRegularFile),
        ] {
            let refused = at(wrong).create(stage.root().join("b"), Sessions::Unread);
            assert_eq!(code(refused), expected, "{wrong}");
        }
    }
    for nothing in ["/", "", "x/.."] {
        assert_eq!(code(Workspaces::open(nothing)), Code::FsNotFound, "{nothing:?}");
    }
}

/// The file is the registry's own: what it leads to beside it is not.
#[test]
fn a_state_file_that_is_a_link_out_of_its_directory_is_not_written_through() {
    each_registry(|stage, workspaces| {
        std::os::unix::fs::symlink("../f", workspaces.path()).unwrap();
        let text =
            r#"{"initialized":false,"workspaceIds":[],"archivedSessionIds":[],"workspaces":{}}"#;
        std::fs::write(stage.root().join("f"), text).unwrap();
        let before = stage.snapshot();
        let refused = workspaces.create(stage.root().join("a"), Sessions::Unread);
        assert_eq!(code(refused), Code::FsSandboxDenied);
        stage.assert_unchanged(&before);
    });
}

#[test]
fn a_state_that_may_not_be_looked_at_is_not_taken_for_none() {
    as_user(this_test!(), || {
        use std::os::unix::fs::PermissionsExt;
        each_registry(|stage, workspaces| {
            create(workspaces, stage.root().join("a"));
            let state = stage.root().join("state");
            let close = |bits| {
                std::fs::set_permissions(&state, std::fs::Permissions::from_mode(bits)).unwrap();
            };
            close(0o000);
            assert_eq!(code(workspaces.list(Sessions::Unread)), Code::FsPermissionDenied);
            let refused = workspaces.create(stage.root().join("b"), Sessions::Unread);
            assert_eq!(code(refused), Code::FsPermissionDenied);
            close(0o755);
            assert_eq!(all(workspaces).len(), 1);
        });
    });
}
