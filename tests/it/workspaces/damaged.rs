//! A file that is no document, or one that contradicts itself, is refused and stays as it is; and
//! what is not known of a document is kept.

use ringfence::{Code, Error, Inconsistency, Sessions, Workspaces};
use serde_json::{Value, json};

use super::{create, each_registry, header, text_of};
use crate::support::Stage;

const FIRST: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";
const SECOND: &str = "936da01f-9abd-4d9d-80c7-02af85c822a8";

fn record(stage: &Stage, path: &str, sessions: &[&str]) -> Value {
    json!({
        "path": stage.root().join(path),
        "title": path,
        "sessionIds": sessions,
        "createdAt": "2026-01-02T05:04:05+02:00",
        "updatedAt": "2026-01-02T03:04:05.678Z",
    })
}

/// Two workspaces, which nothing is wrong with.
fn sound(stage: &Stage) -> Value {
    json!({
        "initialized": true,
        "workspaceIds": [FIRST, SECOND],
        "archivedSessionIds": ["s"],
        "workspaces": {
            FIRST: record(stage, "a", &["s", "t"]),
            SECOND: record(stage, "b", &["u"]),
        },
    })
}

/// What the registry says of a file with these bytes, which stays as it is whatever is tried.
#[track_caller]
fn refused(stage: &Stage, workspaces: &Workspaces, bytes: &[u8]) -> Inconsistency {
    std::fs::write(workspaces.path(), bytes).unwrap();
    let headers = [header("s", stage.root().join("a"), 1)];
    let (id, unread) = (FIRST.parse().unwrap(), Sessions::Unread);
    let told = [
        workspaces.create(stage.root().join("a"), unread).map(drop),
        workspaces.create(stage.root().join("b/in"), unread).map(drop),
        workspaces.remove(id, unread).map(drop),
        workspaces.rename(id, "x", unread).map(drop),
        workspaces.reorder(&[id], unread).map(drop),
        workspaces.attach(id, "s", &headers).map(drop),
        workspaces.archive("s", &headers),
        workspaces.restore("s", &headers),
        workspaces.initialize(&headers).map(drop),
        workspaces.at(stage.root().join("a"), unread).map(drop),
        workspaces.list(unread).map(drop),
    ];
    let mut last = None;
    for told in told {
        let error = told.unwrap_err();
        assert_eq!(error.code(), Code::WorkspaceInconsistent, "{error}");
        let Error::Inconsistent { path, why } = error else { panic!("{error:?}") };
        assert_eq!(path, workspaces.path());
        last = Some(*why);
    }
    assert_eq!(std::fs::read(workspaces.path()).unwrap(), bytes, "it stays as it is");
    assert_eq!(std::fs::read_dir(stage.root().join("state")).unwrap().count(), 1);
    last.unwrap()
}

#[test]
fn a_sound_document_is_read() {
    each_registry(|stage, workspaces| {
        std::fs::write(workspaces.path(), sound(stage).to_string()).unwrap();
        assert_eq!(workspaces.list(Sessions::Unread).unwrap().len(), 2);
    });
}

#[test]
fn what_is_no_document_is_refused() {
    each_registry(|stage, workspaces| {
        let whole = sound(stage).to_string();
        let cut = &whole[..whole.len() / 2];
        for text in ["", " ", "{", "nonsense", cut, &format!("{whole}{whole}"), "\0"] {
            let why = refused(stage, workspaces, text.as_bytes());
            let is_told = matches!(why, Inconsistency::NotJson { .. } | Inconsistency::NotText(_));
            assert!(is_told, "{text:?}: {why}");
        }
        let why = refused(stage, workspaces, b"{\xff}");
        assert!(matches!(why, Inconsistency::NotText(_)), "{why}");
        let why = refused(stage, workspaces, b"{\n  x\n}");
        assert_eq!(why, Inconsistency::NotJson { line: 2, column: 3 });
        for other in ["[]", "null", "1"] {
            let why = refused(stage, workspaces, other.as_bytes());
            assert_eq!(why.to_string(), "the document has to be an object");
        }
    });
}

#[test]
fn a_field_that_is_missing_or_of_another_type_is_told() {
    each_registry(|stage, workspaces| {
        let wrongs = [
            ("initialized", json!("yes")),
            ("workspaceIds", json!({})),
            ("workspaceIds", json!([FIRST, 1])),
            ("workspaceIds", json!([FIRST.to_uppercase(), SECOND])),
            ("archivedSessionIds", json!([null])),
            ("workspaces", json!([])),
        ];
        for (name, wrong) in wrongs {
            let mut document = sound(stage);
            document[name] = wrong;
            let why = refused(stage, workspaces, document.to_string().as_bytes());
            assert!(why.to_string().starts_with(&format!("{name} has to be")), "{why}");
            document.as_object_mut().unwrap().remove(name);
            let why = refused(stage, workspaces, document.to_string().as_bytes());
            assert!(why.to_string().starts_with(&format!("{name} has to be")), "{why}");
        }
        let wrongs = [
            ("path", json!(1)),
            ("path", json!("a/b")),
            ("title", json!(null)),
            ("sessionIds", json!("s")),
            ("sessionIds", json!([1])),
            ("createdAt", json!(1_767_323_045)),
            ("createdAt", json!("yesterday")),
            ("updatedAt", json!("2026-01-02")),
        ];
        for (name, wrong) in wrongs {
            let mut document = sound(stage);
            document["workspaces"][SECOND][name] = wrong;
            let why = refused(stage, workspaces, document.to_string().as_bytes());
            let told = format!("workspaces.{SECOND}.{name} has to be");
            assert!(why.to_string().starts_with(&told), "{why}");
            document["workspaces"][SECOND].as_object_mut().unwrap().remove(name);
            let why = refused(stage, workspaces, document.to_string().as_bytes());
            assert!(why.to_string().starts_with(&told), "{why}");
        }
        for (id, wrong) in [("first", json!({})), (SECOND, json!(1))] {
            let mut document = sound(stage);
            document["workspaces"][id] = wrong;
            let why = refused(stage, workspaces, document.to_string().as_bytes());
            assert!(why.to_string().starts_with(&format!("workspaces.{id} has to be")), "{why}");
        }
    });
}

#[test]
fn ids_are_unique_and_on_both_sides() {
    each_registry(|stage, workspaces| {
        let [first, second] = [FIRST, SECOND].map(ToOwned::to_owned);
        let mut document = sound(stage);
        document["workspaceIds"] = json!([FIRST, SECOND, FIRST]);
        let why = refused(stage, workspaces, document.to_string().as_bytes());
        assert_eq!(why, Inconsistency::ListedTwice { workspace: first.clone() });

        document["workspaceIds"] = json!([FIRST]);
        let why = refused(stage, workspaces, document.to_string().as_bytes());
        assert_eq!(why, Inconsistency::NotListed { workspace: second.clone() });

        let mut document = sound(stage);
        document["workspaces"].as_object_mut().unwrap().remove(FIRST);
        let why = refused(stage, workspaces, document.to_string().as_bytes());
        assert_eq!(why, Inconsistency::NotDescribed { workspace: first });

        // A JSON value has room for one of them.
        let text = sound(stage).to_string();
        let (one, other) = (format!("\"{FIRST}\":"), format!("\"{SECOND}\":"));
        let twice = text.replacen(&one, &other, 1);
        let why = refused(stage, workspaces, twice.as_bytes());
        assert_eq!(why, Inconsistency::FieldTwice { field: format!("workspaces.{second}") });
        let twice = text.replacen('{', r#"{"initialized":false,"#, 1);
        let why = refused(stage, workspaces, twice.as_bytes());
        assert_eq!(why, Inconsistency::FieldTwice { field: "initialized".to_owned() });
        let twice = text.replace(r#""title":"a""#, r#""title":"a","title":"a""#);
        let why = refused(stage, workspaces, twice.as_bytes());
        let field = format!("workspaces.{FIRST}.title");
        assert_eq!(why, Inconsistency::FieldTwice { field });
    });
}

#[test]
fn no_two_workspaces_are_one_directory() {
    each_registry(|stage, workspaces| {
        let [first, second] = [FIRST, SECOND].map(ToOwned::to_owned);
        for (spelled, other, directory) in [
            ("a", "a", "a"),
            ("to-a", "a", "a"),
            ("b/../a", "to-a", "a"),
            ("missing", "missing", "missing"),
        ] {
            let mut document = sound(stage);
            document["workspaces"][FIRST]["path"] = json!(stage.root().join(spelled));
            document["workspaces"][SECOND]["path"] = json!(stage.root().join(other));
            let why = refused(stage, workspaces, document.to_string().as_bytes());
            let (first, second) = (first.clone(), second.clone());
            let path = stage.root().join(directory);
            assert_eq!(why, Inconsistency::OneDirectory { first, second, path }, "{spelled}");
        }
    });
}

#[test]
fn no_session_is_listed_twice() {
    each_registry(|stage, workspaces| {
        let told = |sessions: Value, first: &str, second: &str| {
            let mut document = sound(stage);
            document["workspaces"][SECOND]["sessionIds"] = sessions;
            let why = refused(stage, workspaces, document.to_string().as_bytes());
            let (first, second) = (first.to_owned(), second.to_owned());
            let Inconsistency::SessionTwice { session, .. } = &why else { panic!("{why}") };
            let session = session.clone();
            assert_eq!(why, Inconsistency::SessionTwice { session, first, second });
        };
        told(json!(["u", "t"]), FIRST, SECOND);
        told(json!(["u", "v", "u"]), SECOND, SECOND);
        let mut document = sound(stage);
        document["archivedSessionIds"] = json!(["x", "s", "x"]);
        let why = refused(stage, workspaces, document.to_string().as_bytes());
        assert_eq!(why, Inconsistency::ArchivedTwice { session: "x".to_owned() });
    });
}

/// A program that is newer than this one may have written it.
#[test]
fn what_is_not_known_is_kept_to_the_byte_at_every_level() {
    each_registry(|stage, workspaces| {
        let unknown = [
            r#""v":18446744073709551616.10e+400"#,
            r#""pins":{"z":[1, 2 ,{"z":null,"a":-0.0}],"a":"\u0041\ud83d\ude00"}"#,
            r#""twice":{"x":1,"x":2}"#,
        ];
        let [top, inner, other] = unknown;
        let text = sound(stage).to_string();
        let text = text.replacen('{', &format!("{{{top},"), 1);
        let text = text.replacen(r#""title":"a""#, &format!(r#""title":"a",{inner}"#), 1);
        let text = text.replacen(r#""title":"b""#, &format!(r#"{other},"title":"b""#), 1);
        std::fs::write(workspaces.path(), &text).unwrap();

        let headers = [header("s", stage.root().join("a"), 1)];
        create(workspaces, stage.root().join("b/in"));
        workspaces.reorder(&[SECOND.parse().unwrap()], Sessions::All(&headers)).unwrap();
        workspaces.restore("s", &headers).unwrap();
        workspaces.rename(SECOND.parse().unwrap(), "other", Sessions::Unread).unwrap();
        let after = text_of(workspaces).unwrap();
        for field in unknown {
            let (name, value) = field.split_once(':').unwrap();
            assert!(after.contains(&format!("{name}: {value}")), "{field}: {after}");
        }
        assert!(after.contains("2026-01-02T05:04:05+02:00"), "a time stays as it was spelled");
        // They belong to what they were written in.
        workspaces.remove(FIRST.parse().unwrap(), Sessions::Unread).unwrap();
        let after = text_of(workspaces).unwrap();
        assert!(!after.contains("pins") && after.contains("twice") && after.contains("\"v\""));
    });
}
