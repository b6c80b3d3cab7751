//! Which sessions belong to a workspace, and which are archived.

use std::path::Path;

use ringfence::{Code, Error, Mismatch, SessionHeader, Sessions, WorkspaceStatus, Workspaces};
use serde_json::json;

use super::{all, code, create, document, each_registry, header, ids, text_of};

/// The sessions of each workspace, in the order of the list.
fn sessions(workspaces: &Workspaces, headers: &[SessionHeader]) -> Vec<Vec<String>> {
    let list = workspaces.list(Sessions::All(headers)).unwrap();
    list.into_iter().map(|workspace| workspace.sessions).collect()
}

/// What the file has of a workspace's sessions.
fn listed(workspaces: &Workspaces, id: impl ToString) -> serde_json::Value {
    document(workspaces)["workspaces"][id.to_string()]["sessionIds"].take()
}

#[test]
fn a_session_belongs_if_it_is_listed_and_works_there() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let a = create(workspaces, root.join("a")).id;
        let headers = ["1", "2", "3"].map(|id| header(id, root.join("to-a"), 1));
        for session in ["1", "2"] {
            workspaces.attach(a, session, &headers).unwrap();
        }
        assert_eq!(sessions(workspaces, &headers), [["2", "1"]], "one that is not listed is not");
        let before = text_of(workspaces);
        workspaces.attach(a, "1", &headers).unwrap();
        assert_eq!(text_of(workspaces), before, "it was attached");

        // One works elsewhere by now, and of the other nothing is stored.
        let changed = [header("1", root.join("b"), 1)];
        assert_eq!(sessions(workspaces, &changed), [[""; 0]], "filtered");
        assert_eq!(sessions(workspaces, &headers), [["2", "1"]], "no answer drops anything");
        assert_eq!(all(workspaces)[0].sessions, [""; 0], "nobody has looked");
        create(workspaces, root.join("b/in"));
        assert_eq!(listed(workspaces, a), json!(["2", "1"]), "nobody has looked");
        let was = workspaces.get(a, Sessions::Unread).unwrap().updated_at;

        workspaces.create(root.join("b"), Sessions::All(&changed)).unwrap();
        assert_eq!(listed(workspaces, a), json!([]), "the next change drops them");
        assert!(workspaces.get(a, Sessions::Unread).unwrap().updated_at >= was);
    });
}

#[test]
fn every_change_that_knows_the_sessions_drops_what_does_not_belong() {
    type Change = fn(&Workspaces, &[SessionHeader], &Path) -> Result<(), Error>;
    let changes: [(&str, Change); 7] = [
        ("create", |w, h, root| w.create(root.join("b/in"), Sessions::All(h)).map(drop)),
        ("rename", |w, h, _| w.rename(ids(w)[0], "x", Sessions::All(h)).map(drop)),
        ("remove", |w, h, _| w.remove(ids(w)[0], Sessions::All(h)).map(drop)),
        ("reorder", |w, h, _| w.reorder(&[ids(w)[1]], Sessions::All(h)).map(drop)),
        ("attach", |w, h, _| w.attach(ids(w)[0], "b", h).map(drop)),
        ("archive", |w, h, _| w.archive("b", h)),
        ("initialize", |w, h, _| w.initialize(&h[..1]).map(drop)),
    ];
    for (name, change) in changes {
        each_registry(|stage, workspaces| {
            let root = stage.root();
            let a = create(workspaces, root.join("a")).id;
            create(workspaces, root.join("b"));
            let both = [header("b", root.join("b"), 1), header("gone", root.join("a"), 1)];
            workspaces.attach(a, "gone", &both).unwrap();
            change(workspaces, &both[..1], root).unwrap();
            assert_eq!(listed(workspaces, a), json!([]), "{name}");
        });
    }
}

#[test]
fn a_session_that_cannot_belong_is_not_attached_and_is_told_why() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let a = create(workspaces, root.join("a")).id;
        let mut headers = vec![
            header("missing", root.join("missing"), 1),
            header("dangling", root.join("dangling"), 1),
            header("below", root.join("f/below"), 1),
            header("relative", "a", 1),
            header("round", root.join("round"), 1),
            header("file", root.join("f"), 1),
            header("b", root.join("to-a/../b"), 1),
            header("none", "", 1),
        ];
        headers[7].cwd = None;
        let before = text_of(workspaces);
        for (session, reason, why) in [
            ("missing", "unresolvable", Mismatch::Unresolvable),
            ("dangling", "unresolvable", Mismatch::Unresolvable),
            ("below", "unresolvable", Mismatch::Unresolvable),
            ("relative", "unresolvable", Mismatch::Unresolvable),
            ("round", "unresolvable", Mismatch::Unresolvable),
            ("file", "not_directory", Mismatch::NotDirectory),
            ("none", "no_cwd", Mismatch::NoCwd),
        ] {
            let error = workspaces.attach(a, session, &headers).unwrap_err();
            assert_eq!(error.code(), Code::WorkspaceSessionMismatch, "{session}");
            assert_eq!(error.reason().unwrap().to_string(), reason, "{session}");
            let Error::SessionMismatch { why: told, .. } = error else { panic!("{error:?}") };
            assert_eq!(told, why, "{session}");
        }
        let error = workspaces.attach(a, "b", &headers).unwrap_err();
        assert_eq!(error.reason().unwrap().to_string(), "elsewhere");
        let told = error.to_string();
        assert!(told.contains(root.join("b").to_str().unwrap()), "it tells where: {told}");
        let Error::SessionMismatch { why: Mismatch::Elsewhere { cwd }, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(cwd, root.join("b"));

        assert_eq!(code(workspaces.attach(a, "x", &headers)), Code::WorkspaceSessionUnknown);
        let unknown = "67e55044-10b1-426f-9247-bb680e5fe0c8".parse().unwrap();
        assert_eq!(code(workspaces.attach(unknown, "b", &headers)), Code::WorkspaceUnknown);
        assert_eq!(text_of(workspaces), before);
    });
}

#[test]
fn a_session_is_in_one_workspace_at_most() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let [a, b] = ["a", "b"].map(|dir| create(workspaces, root.join(dir)).id);
        workspaces.attach(a, "s", &[header("s", root.join("a"), 1)]).unwrap();
        workspaces.attach(b, "s", &[header("s", root.join("b"), 1)]).unwrap();
        assert_eq!(listed(workspaces, a), json!([]));
        assert_eq!(listed(workspaces, b), json!(["s"]));
    });
}

#[test]
fn a_workspace_whose_directory_is_missing_has_no_sessions() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let a = create(workspaces, root.join("a")).id;
        let headers = [header("s", root.join("a"), 1)];
        workspaces.attach(a, "s", &headers).unwrap();
        std::fs::remove_dir(root.join("a")).unwrap();
        let missing = workspaces.get(a, Sessions::All(&headers)).unwrap();
        assert_eq!(missing.status, WorkspaceStatus::MissingDir);
        assert_eq!(missing.sessions, [""; 0]);
        assert_eq!(listed(workspaces, a), json!(["s"]), "until the next change");
    });
}

#[test]
fn an_archived_session_stays_in_its_workspace_and_is_told_apart() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let a = create(workspaces, root.join("a")).id;
        let headers = ["1", "2", "3"].map(|id| header(id, root.join("a"), 1));
        for session in ["1", "2"] {
            workspaces.attach(a, session, &headers).unwrap();
        }
        for session in ["1", "3", "1"] {
            workspaces.archive(session, &headers).unwrap();
        }
        assert_eq!(document(workspaces)["archivedSessionIds"], json!(["1", "3"]));
        let found = workspaces.get(a, Sessions::All(&headers)).unwrap();
        assert_eq!((found.sessions, found.archived), (vec!["2".into()], vec!["1".into()]));

        workspaces.restore("1", &headers).unwrap();
        assert_eq!(sessions(workspaces, &headers), [["2", "1"]]);
        assert_eq!(document(workspaces)["archivedSessionIds"], json!(["3"]));
        let before = text_of(workspaces);
        for nobody in [workspaces.archive("4", &headers), workspaces.restore("4", &headers)] {
            assert_eq!(code(nobody), Code::WorkspaceSessionUnknown);
        }
        assert_eq!(text_of(workspaces), before);
    });
}

#[test]
fn the_first_start_lists_where_sessions_work_newest_first() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let mut headers = vec![
            header("a-old", root.join("a"), 10),
            header("b-only", root.join("b"), 20),
            header("a-new", root.join("to-a"), 30),
            header("in", root.join("b/in"), 5),
            header("missing", root.join("missing"), 40),
            header("file", root.join("f"), 40),
            header("relative", "a", 40),
            header("none", "", 40),
            header("a-new", root.join("b"), 1),
        ];
        headers[7].cwd = None;
        let built = workspaces.initialize(&headers).unwrap();
        let told: Vec<_> = built
            .iter()
            .map(|workspace| (workspace.title.as_str(), workspace.sessions.join(" ")))
            .collect();
        let expected = [("a", "a-new a-old"), ("b", "b-only"), ("in", "in")];
        assert_eq!(told, expected.map(|(title, sessions)| (title, sessions.to_owned())));
        assert_eq!(document(workspaces)["initialized"], true);

        let before = text_of(workspaces);
        let others = [header("new", root.join("state"), 50)];
        assert_eq!(workspaces.initialize(&others).unwrap().len(), 3, "only the first");
        assert_eq!(text_of(workspaces), before);
    });
}

#[test]
fn a_first_start_without_sessions_is_one_all_the_same() {
    each_registry(|stage, workspaces| {
        assert_eq!(workspaces.initialize(&[]).unwrap(), []);
        assert_eq!(document(workspaces)["initialized"], true);
        let late = [header("s", stage.root().join("a"), 1)];
        assert_eq!(workspaces.initialize(&late).unwrap(), []);
    });
}

#[test]
fn what_was_added_before_the_first_start_stays_first() {
    each_registry(|stage, workspaces| {
        let root = stage.root();
        let a = create(workspaces, root.join("a")).id;
        let headers = [header("b", root.join("b"), 2), header("a", root.join("a"), 1)];
        let built = workspaces.initialize(&headers).unwrap();
        assert_eq!((built.len(), built[0].id, &*built[1].title), (2, a, "b"));
        assert_eq!(sessions(workspaces, &headers), [["a"], ["b"]]);
    });
}
