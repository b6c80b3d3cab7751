//! The requests beneath the tools: places, texts with their limits, what is not kept, what differs,
//! and calls that are cancelled.

use ringfence::{
    Call, Cancel, Code, DiffLimits, Durability, Edit, Effect as Did, Error, Follow, Kind, Lost,
    Matches, Mode, Outcome, Part, Receipt, Request, Session, Settings, TargetKey, TempAreas,
    Version, WriteIntent,
};

use crate::support::{
    Stage, Tree, as_user, dir, each_session_on, file, hard, link, mode, offered, this_test,
};

fn write(path: &str, text: &str) -> Request {
    let (path, text) = (path.into(), text.into());
    Request::WriteText { path, text, intent: WriteIntent::Any }
}

fn edit(path: &str, old: &str, new: &str) -> Request {
    let edit = Edit { old: old.into(), new: new.into(), matches: Matches::One };
    Request::Edit { path: path.into(), edit, seen: None }
}

fn receipt(answer: Result<Outcome, Error>) -> Receipt {
    match answer {
        Ok(Outcome::Written { receipt, .. }) => receipt,
        other => panic!("{other:?}"),
    }
}

fn key(session: &Session, path: &str) -> Result<TargetKey, Code> {
    match session.perform(Request::Resolve { path: path.into() }) {
        Ok(Outcome::Resolved { key, .. }) => Ok(key),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.code()),
    }
}

#[test]
fn a_place_is_one_under_all_its_spellings_and_two_hard_links_are_two() {
    let tree = Tree::inside([
        file("d/f", "f"),
        link("l", "d/f"),
        link("e", "d"),
        link("dangling", "d/new"),
        hard("h", "ws/d/f"),
    ]);
    let tree = Tree { roots: vec!["ws".into()], ..tree };
    each_session_on(&tree, |stage, session| {
        let own = key(session, "d/f").unwrap();
        let absolute = stage.root().join("d/f");
        for spelled in ["./d//f", "e/f", "l", "d/../d/f", absolute.to_str().unwrap()] {
            assert_eq!(key(session, spelled).as_ref(), Ok(&own), "{spelled}");
        }
        assert_ne!(key(session, "h"), Ok(own.clone()));
        assert_eq!(key(session, "dangling"), key(session, "e/new"));
        assert_ne!(key(session, "none/a"), key(session, "none/b"));
        for (nowhere, code) in
            [("", Code::FsNotFound), ("a\0", Code::FsNotFound), ("d/f/x", Code::FsNotFound)]
        {
            assert_eq!(key(session, nowhere), Err(code), "{nowhere:?}");
        }
        // It is that of the file which takes its place.
        let done = receipt(session.perform(write("l", "new")));
        assert_eq!((done.key, key(session, "d/f")), (own.clone(), Ok(own)));
    });
}

#[test]
fn a_link_is_looked_at_itself_or_followed() {
    let tree = Tree::inside([file("f", "abc"), link("l", "f"), link("dangling", "no"), dir("d")]);
    each_session_on(&tree, |_, session| {
        let look = |path: &str, follow| match session
            .perform(Request::Stat { path: path.into(), follow })
        {
            Ok(Outcome::Info { info, .. }) => Ok(info.map(|info| (info.kind, info.size))),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.code()),
        };
        assert_eq!(look("l", Follow::Yes), Ok(Some((Kind::File, 3))));
        assert!(matches!(look("l", Follow::No), Ok(Some((Kind::Symlink, _)))));
        assert!(matches!(look("d", Follow::No), Ok(Some((Kind::Dir, _)))));
        assert!(matches!(look("dangling", Follow::No), Ok(Some((Kind::Symlink, _)))));
        for nothing in ["dangling", "none", "none/x", "f/x"] {
            assert_eq!(look(nothing, Follow::Yes), Ok(None), "{nothing}");
        }
        assert_eq!(look("", Follow::Yes), Err(Code::FsNotFound));
        let listed = session.perform(Request::List { path: ".".into() }).unwrap();
        let Outcome::Listed { entries, .. } = listed else { panic!("{listed:?}") };
        let f = entries.iter().find(|entry| entry.name == "f").unwrap();
        let version = Version::from(f.target.unwrap().1);
        let (path, text) = ("f".into(), "x".into());
        let intent = WriteIntent::ReplaceIfVersion(version);
        assert_eq!(
            receipt(session.perform(Request::WriteText { path, text, intent })).effect,
            Did::Replaced
        );
    });
}

#[test]
fn a_mark_that_a_new_text_drops_is_named() {
    let tree = Tree::inside([file("f", "\u{feff}a"), file("g", "\u{feff}a"), file("h", "a")]);
    each_session_on(&tree, |_, session| {
        let lost = |request| receipt(session.perform(request)).not_kept;
        assert_eq!(lost(write("f", "b")), [Lost::Bom]);
        assert_eq!(lost(write("f", "c")), [], "there is none any more");
        assert_eq!(lost(write("g", "\u{feff}b")), []);
        assert_eq!(lost(edit("g", "b", "c")), []);
        assert_eq!(lost(write("h", "b")), []);
        let seen = session.perform(Request::ReadText { path: "g".into() }).unwrap();
        let Outcome::Text { text, .. } = seen else { panic!("{seen:?}") };
        let (path, intent) = ("g".into(), WriteIntent::ReplaceIfVersion(text.version));
        let request = Request::WriteText { path, text: "d".into(), intent };
        assert_eq!(lost(request), [Lost::Bom]);
    });
}

#[test]
fn what_differs_is_told_where_it_is_asked_for() {
    each_session_on(&Tree::inside([file("f", "a\nb\r\n"), file("nul", "\0")]), |_, session| {
        let diff = |request| {
            let call = Call::new(request).with_diff(DiffLimits::default());
            match session.call(call) {
                Ok(Outcome::Written { diff, .. }) => diff,
                other => panic!("{other:?}"),
            }
        };
        let parts = |request| diff(request).unwrap().hunks.swap_remove(0).parts;
        let [same, removed, added] =
            [Part::Same, Part::Removed, Part::Added] as [fn(String) -> Part; 3];
        let text = |text: &str| text.to_owned();
        let expected = [same(text("a\n")), removed(text("b\r\n")), added(text("c\r\n"))];
        assert_eq!(parts(edit("f", "b", "c")), expected);
        let expected = [removed(text("a\nc\r\n")), added(text("d"))];
        assert_eq!(parts(write("f", "d")), expected);
        assert_eq!(parts(write("n", "new\n")), [added(text("new\n"))]);
        assert!(diff(write("n", "new\n")).unwrap().hunks.is_empty());
        assert!(diff(write("nul", "text")).is_none(), "what was there is no text");
        let Ok(Outcome::Written { diff, .. }) = session.perform(write("f", "e")) else {
            panic!("it is written")
        };
        assert!(diff.is_none());
    });
}

#[test]
fn nothing_is_told_of_what_was_in_a_file_that_may_not_be_read() {
    as_user(this_test!(), || {
        let tree = Tree::inside([file("f", "\u{feff}old"), mode("f", 0o200)]);
        each_session_on(&tree, |_, session| {
            let call = Call::new(write("f", "new")).with_diff(DiffLimits::default());
            let Ok(Outcome::Written { receipt, diff, .. }) = session.call(call) else {
                panic!("it may be written")
            };
            assert_eq!(receipt.effect, Did::Replaced);
            assert!(diff.is_none() && !receipt.not_kept.contains(&Lost::Bom), "{diff:?}");
        });
    });
}

#[test]
fn a_text_over_the_limit_is_neither_read_nor_written_as_one() {
    for kind in offered() {
        let stage = Stage::new(&Tree::inside([file("f", "12345"), file("g", "123456")]));
        let settings = Settings::default()
            .workspace(stage.root())
            .mode(Mode::WorkspaceWrite)
            .temps(TempAreas::none())
            .durability(Durability::None)
            .max_text_bytes(5)
            .exactly(kind.resolution, kind.confinement);
        let service = ringfence::PolicyService::load(settings).unwrap();
        let session = service.session().open().unwrap();
        let before = stage.snapshot();
        for request in [
            Request::ReadText { path: "g".into() },
            edit("g", "1", "2"),
            write("f", "123456"),
            write("n", "123456"),
        ] {
            let error = session.perform(request).unwrap_err();
            assert!(matches!(error, Error::TooLarge { size: 6, limit: 5, .. }), "{error:?}");
        }
        // What may not be changed at all is told first, whatever it is.
        let denied = session.perform(write("../out", "123456")).unwrap_err();
        assert_eq!(denied.code(), Code::FsSandboxDenied);
        stage.assert_unchanged(&before);
        session.perform(Request::ReadText { path: "f".into() }).unwrap();
        assert_eq!(receipt(session.perform(edit("f", "1", "2"))).effect, Did::Replaced);
        assert_eq!(receipt(session.perform(write("g", "12345"))).effect, Did::Replaced);
    }
}

#[test]
fn a_cancelled_call_does_nothing_and_is_not_judged() {
    each_session_on(&Tree::inside([file("f", "old")]), |stage, session| {
        let before = stage.snapshot();
        let cancel = Cancel::new();
        cancel.cancel();
        for request in [
            write("f", "new"),
            write("../out", "new"),
            edit("f", "nothing", "x"),
            Request::ReadText { path: "missing".into() },
            Request::List { path: "f".into() },
        ] {
            let answer = session.call(Call::new(request).cancel(cancel.clone()));
            assert_eq!(answer.unwrap_err().code(), Code::FsAborted);
        }
        stage.assert_unchanged(&before);
        let done = session.call(Call::new(write("f", "new")).cancel(Cancel::new()));
        assert_eq!(receipt(done).effect, Did::Replaced);
    });
}
