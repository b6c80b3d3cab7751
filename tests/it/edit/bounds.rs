//! What an edit may make of a file, and what it takes to find out.

use ringfence::{
    Code, Durability, Edit, Effect as Did, Error, Matches, Mode, Outcome, PolicyService, Request,
    Session, Settings, TempAreas, Version,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{edit, request};
use crate::support::{
    Stage, Tree, as_user, each_session_on, file, in_own_process, link, memory, mode, offered,
    session_in, this_test,
};

const MIB: usize = 1 << 20;

/// The most bytes of a text, for sessions that have a limit which is soon reached.
const MOST: u64 = 8;

/// Runs `test` with a session whose texts have at most [`MOST`] bytes, on each fence.
fn each_limited_on(tree: &Tree, test: impl Fn(&Stage, &Session)) {
    for kind in offered() {
        let stage = Stage::new(tree);
        let settings = Settings::default()
            .workspace(stage.root())
            .mode(Mode::WorkspaceWrite)
            .temps(TempAreas::none())
            .durability(Durability::None)
            .max_text_bytes(MOST)
            .exactly(kind.resolution, kind.confinement);
        let session = PolicyService::load(settings).unwrap().session().open().unwrap();
        test(&stage, &session);
    }
}

/// The version of a file of any size.
fn version(session: &Session, path: &str) -> Version {
    let bytes = session.perform(Request::ReadBytes { path: path.into(), most: u64::MAX });
    let Ok(Outcome::Bytes { version, .. }) = bytes else { panic!("{bytes:?}") };
    version
}

fn edit_seen(session: &Session, path: &str, seen: &Version) -> Code {
    let edit = Edit { old: "a".into(), new: "b".into(), matches: Matches::One };
    let request = Request::Edit { path: path.into(), edit, seen: Some(seen.clone()) };
    session.perform(request).unwrap_err().code()
}

#[test]
fn a_small_edit_that_would_make_a_huge_text_is_refused_and_changes_nothing() {
    let lines = "a\n".repeat(MIB / 2);
    each_session_on(&Tree::inside([file("f", &lines)]), |stage, session| {
        let before = stage.snapshot();
        let huge = session.perform(request("f", "a", &"b".repeat(MIB), Matches::All));
        let size = (MIB as u64 / 2) * (MIB as u64 + 1);
        assert!(matches!(huge, Err(Error::TooLarge { size: told, .. }) if told == size));
        stage.assert_unchanged(&before);
    });
}

#[test]
fn an_edit_makes_no_text_that_is_larger_than_one_may_be() {
    let inside = [file("f", "a\r\na\r\nab"), file("marked", "\u{feff}a\r\nbc"), file("n", "abc")];
    each_limited_on(&Tree::inside(inside), |stage, session| {
        let before = stage.snapshot();
        for (path, old, new) in [("f", "b", "bb"), ("f", "b", "\n"), ("marked", "bc", "b\n")] {
            let error = edit(session, path, old, new).unwrap_err();
            let over = MOST + 1;
            assert!(
                matches!(error, Error::TooLarge { size, limit: MOST, .. } if size == over),
                "{path} {new:?}: {error:?}"
            );
        }
        stage.assert_unchanged(&before);
        for (path, old, new) in [("f", "ab", "aa"), ("marked", "bc", "cb"), ("n", "c", "defghi")] {
            assert_eq!(edit(session, path, old, new).unwrap().0.effect, Did::Replaced);
            assert_eq!(std::fs::metadata(stage.root().join(path)).unwrap().len(), MOST);
        }
    });
}

#[test]
fn whether_a_file_is_what_was_seen_is_told_before_its_size() {
    let tree = Tree::inside([file("f", "a"), file("large", "a large text")]);
    each_limited_on(&tree, |stage, session| {
        let (small, large) = (version(session, "f"), version(session, "large"));
        std::fs::write(stage.root().join("f"), "it has become larger").unwrap();
        let before = stage.snapshot();
        assert_eq!(edit_seen(session, "f", &small), Code::FsStaleVersion);
        assert_eq!(edit_seen(session, "large", &small), Code::FsStaleVersion);
        assert_eq!(edit_seen(session, "large", &large), Code::FsTooLarge);
        stage.assert_unchanged(&before);
        std::fs::remove_file(stage.root().join("large")).unwrap();
        assert_eq!(edit_seen(session, "large", &large), Code::FsStaleVersion);
    });
}

#[test]
fn whether_a_file_may_be_edited_is_told_before_its_size() {
    as_user(this_test!(), || {
        let inside = [
            file("large", "a large text"),
            mode("large", 0o444),
            file("small", "a"),
            mode("small", 0o444),
            link("out", "../out/large"),
        ];
        let tree = Tree::inside(inside).outside([file("out/large", "a large text")]);
        each_limited_on(&tree, |stage, session| {
            let before = stage.snapshot();
            for (path, code) in [
                ("large", Code::FsPermissionDenied),
                ("small", Code::FsPermissionDenied),
                ("out", Code::FsSandboxDenied),
            ] {
                let error = edit(session, path, "a", "more than a text may have").unwrap_err();
                assert_eq!(error.code(), code, "{path}: {error}");
            }
            let seen = version(session, "large");
            assert_eq!(edit_seen(session, "large", &seen), Code::FsPermissionDenied);
            stage.assert_unchanged(&before);
        });
    });
}

#[test]
fn an_edit_for_which_there_is_no_memory_is_refused_and_ends_no_process() {
    const ROOM: usize = 16 * MIB;
    const BEYOND: usize = 128 * MIB;
    in_own_process(this_test!(), || {
        let stage = Stage::new(&Tree::inside([file("f", &"a".repeat(MIB))]));
        let session = session_in(stage.root(), offered()[0]);
        let before = stage.snapshot();
        let large = request("f", "a", &"b".repeat(BEYOND / MIB), Matches::All);
        let nowhere = request("f", &"a".repeat(BEYOND / 4), "", Matches::One);
        let limit = getrlimit(Resource::As);
        let most = Rlimit { current: Some(memory() + ROOM as u64), ..limit };
        setrlimit(Resource::As, most).unwrap();
        assert!(Vec::<u8>::new().try_reserve_exact(BEYOND).is_err(), "there is a limit");

        let error = session.perform(large).unwrap_err();
        assert!(
            matches!(&error, Error::Unreadable { source, .. }
                if source.kind() == std::io::ErrorKind::OutOfMemory),
            "{error:?}"
        );
        // What is longer than the file is not in it, and nothing is made to find that out.
        assert_eq!(session.perform(nowhere).unwrap_err().code(), Code::FsEditNotFound);
        setrlimit(Resource::As, limit).unwrap();
        stage.assert_unchanged(&before);
    });
}
