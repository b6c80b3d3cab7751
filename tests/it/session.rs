//! The one door: what a session promises beyond the matrix.

use std::io::Read as _;

use ringfence::{
    Code, Confinement, Decision, Digest, Effect as Did, Enforcement, Error, Layer, Mode, Outcome,
    Parents, Policy, Precondition, Receipt, Removal, Request, Resolution, Session, SessionBuilder,
    Snapshot, TempAreas, writable_roots,
};

use crate::support::{Stage, Tree, dir, fifo, file, link, offered};

fn stage() -> Stage {
    let inside = [
        file("f", "old"),
        dir("d"),
        fifo("fifo"),
        link("dangling", "d/new"),
        link("outfile", "$BASE/out/secret"),
    ];
    Stage::new(&Tree::inside(inside).outside([file("out/secret", "out")]))
}

fn builder(stage: &Stage) -> SessionBuilder {
    Session::builder().workspace(stage.root()).temps(TempAreas::none())
}

fn each_session(test: impl Fn(&Stage, &Session)) {
    for kind in offered() {
        let stage = stage();
        let session = builder(&stage)
            .mode(Mode::WorkspaceWrite)
            .exactly(kind.resolution, kind.confinement)
            .build()
            .unwrap();
        test(&stage, &session);
    }
}

fn write(path: &str, contents: &str, when: Precondition) -> Request {
    let (path, contents) = (path.into(), contents.into());
    Request::Write { path, contents, when, parents: Parents::Create }
}

fn receipt(answer: Result<Outcome, Error>) -> Receipt {
    match answer {
        Ok(Outcome::Changed { receipt, .. }) => receipt,
        other => panic!("{other:?}"),
    }
}

fn open(session: &Session, path: &str) -> (Snapshot, String) {
    let answer = session.perform(Request::Read { path: path.into() });
    let Ok(Outcome::Opened { snapshot, .. }) = answer else { panic!("{path}: {answer:?}") };
    let mut text = String::new();
    (&snapshot.file).read_to_string(&mut text).unwrap();
    (snapshot, text)
}

fn code(answer: Result<Outcome, Error>) -> Code {
    answer.unwrap_err().code()
}

#[test]
fn who_says_nothing_may_change_nothing() {
    let stage = stage();
    let before = stage.snapshot();
    let session = builder(&stage).build().unwrap();
    assert_eq!(session.policy().unwrap().mode(), Mode::ReadOnly);
    assert!(session.assurance().unwrap().is_none(), "no fence is opened");
    for path in ["f", "missing/x", "fifo", "", "a\0b"] {
        let answer = session.perform(write(path, "x", Precondition::None));
        let Err(Error::Denied(denial)) = answer else { panic!("{path:?}: {answer:?}") };
        assert_eq!(denial.by, Layer::Mode, "denied without looking");
    }
    assert_eq!(open(&session, "../out/secret").1, "out");
    stage.assert_unchanged(&before);
}

#[test]
fn a_change_is_guarded_by_what_was_read() {
    each_session(|_, session| {
        let (snapshot, text) = open(session, "f");
        let when = || Precondition::Matches {
            stamp: snapshot.stamp,
            digest: Some(Digest::of(text.as_bytes())),
        };
        let done = receipt(session.perform(write("f", "new", when())));
        assert_eq!(done.effect, Did::Replaced);
        assert_eq!(done.after, Some(open(session, "f").0.stamp));
        assert_eq!(code(session.perform(write("f", "newer", when()))), Code::FsStaleVersion);
        assert_eq!(code(session.perform(write("gone", "x", when()))), Code::FsStaleVersion);
        assert_eq!(open(session, "f").1, "new");
    });
}

#[test]
fn what_must_be_absent_is_made_once_and_at_the_end_of_a_link() {
    each_session(|stage, session| {
        assert_eq!(
            code(session.perform(write("f", "x", Precondition::Absent))),
            Code::FsNotObserved
        );
        let made = receipt(session.perform(write("dangling", "x", Precondition::Absent)));
        assert_eq!(made.effect, Did::Created);
        assert_eq!(std::fs::read_to_string(stage.root().join("d/new")).unwrap(), "x");
        assert!(stage.root().join("dangling").is_symlink());
        assert_eq!(
            code(session.perform(write("dangling", "y", Precondition::Absent))),
            Code::FsNotObserved
        );
    });
}

#[test]
fn a_receipt_says_who_held_the_boundary() {
    each_session(|_, session| {
        let level = session.assurance().unwrap().unwrap().level;
        let done = receipt(session.perform(write("f", "x", Precondition::None)));
        assert_eq!(done.enforcement, level);
    });
    let stage = stage();
    let session = builder(&stage).mode(Mode::DangerFullAccess).build().unwrap();
    let done = receipt(session.perform(write("f", "x", Precondition::None)));
    assert_eq!(done.enforcement, Enforcement::Unfenced);
}

#[test]
fn reading_never_waits_and_says_what_is_there() {
    each_session(|stage, session| {
        let read = |path: &str| session.perform(Request::Read { path: path.into() });
        let list = |path: &str| session.perform(Request::List { path: path.into() });
        assert_eq!(code(read("fifo")), Code::FsNotRegularFile);
        assert_eq!(code(read("d")), Code::FsNotRegularFile);
        assert_eq!(code(read("missing")), Code::FsNotFound);
        assert_eq!(code(read("f/child")), Code::FsNotFound);
        assert_eq!(code(read("")), Code::FsNotFound);
        assert_eq!(code(list("f")), Code::FsNotDirectory);
        assert_eq!(code(list("f/child")), Code::FsNotFound);
        assert_eq!(code(list("missing")), Code::FsNotFound);
        assert!(!open(session, "/proc/self/status").1.is_empty(), "a file that claims to be empty");
        let magic = format!("/proc/self/root{}", stage.root().join("f").display());
        assert_eq!(open(session, &magic).1, "old", "the text of a magic link is a path");

        let Ok(Outcome::Listed { path, entries }) = list(".") else { panic!("list") };
        assert_eq!(path, stage.root());
        let names: Vec<_> = entries.iter().map(|entry| entry.name.to_str().unwrap()).collect();
        assert_eq!(names, ["d", "dangling", "f", "fifo", "outfile"]);
    });
}

#[test]
fn an_error_names_the_path_it_is_about_as_it_was_spelled() {
    each_session(|stage, session| {
        let rename = |from: &str, to: &str, when| {
            session.perform(Request::Rename { from: from.into(), to: to.into(), when }).unwrap_err()
        };
        let names = |error: Error, path: &str| {
            let path = path
                .strip_prefix("../")
                .map_or(stage.root().join(path), |beside| stage.base().join(beside));
            let text = error.to_string();
            assert!(text.contains(&format!("{path:?}")), "{text} names {path:?}");
            assert!(!text.contains(".ringfence-"), "{text}");
        };
        names(rename("f", "d", Precondition::Absent), "d");
        names(rename("missing", "n", Precondition::None), "missing");
        names(rename("f", "missing/n", Precondition::None), "missing/n");
        names(rename("f", "outfile/../../n", Precondition::None), "../n");
        let missing = session.perform(write("outfile", "x", Precondition::None)).unwrap_err();
        names(missing, "outfile");
        let missing =
            session.perform(Request::Remove { path: "./d/../no".into(), what: Removal::File });
        names(missing.unwrap_err(), "no");
    });
}

#[test]
fn a_required_level_is_given_or_the_session_refused() {
    let stage = stage();
    let build = |resolution, confinement, level| {
        builder(&stage)
            .mode(Mode::WorkspaceWrite)
            .exactly(resolution, confinement)
            .require(level)
            .build()
    };
    let walk = |level| build(Resolution::Walk, Confinement::Nothing, level);
    assert_eq!(
        walk(Enforcement::Checked).unwrap().assurance().unwrap().unwrap().level,
        Enforcement::Checked
    );
    for level in [Enforcement::Kernel, Enforcement::Confined] {
        assert_eq!(walk(level).unwrap_err().code(), Code::SandboxUnavailable, "{level}");
    }
}

#[test]
fn a_decision_can_be_replayed_without_a_file_system() {
    let stage = stage();
    let load = |mode| Policy::load(mode, stage.root(), &TempAreas::none()).unwrap();
    let change = || write("../nowhere/x", "x", Precondition::None);
    for mode in [Mode::WorkspaceWrite, Mode::DangerFullAccess] {
        assert!(matches!(load(mode).decide(&change()), Decision::Allow(_)), "{mode}");
    }
    let policy = load(Mode::ReadOnly);
    let Decision::Deny(denial) = policy.decide(&change()) else { panic!("read-only") };
    assert_eq!(denial.narrowest, Some(Mode::DangerFullAccess));
    let Decision::Deny(denial) = policy.decide(&write("n", "x", Precondition::None)) else {
        panic!("read-only")
    };
    assert_eq!(denial.narrowest, Some(Mode::WorkspaceWrite));
    let read = Request::Read { path: "/etc/passwd".into() };
    assert!(matches!(policy.decide(&read), Decision::Allow(_)));
}

#[test]
fn the_temp_areas_are_writable_too() {
    let stage = stage();
    let temps = TempAreas::only(stage.base().join("out"));
    let roots = writable_roots(Mode::WorkspaceWrite, stage.root(), &temps).unwrap().unwrap();
    assert_eq!(roots.iter().len(), 2);
    let session = builder(&stage).temps(temps).mode(Mode::WorkspaceWrite).build().unwrap();
    let done = receipt(session.perform(write("outfile", "x", Precondition::None)));
    assert_eq!(done.effect, Did::Replaced);
    assert_eq!(open(&session, "../out/secret").1, "x");
}

#[test]
fn the_public_error_keeps_its_shape() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Session>();
    shared::<Error>();
    fn path(error: &Error) -> Option<&std::path::Path> {
        match error {
            Error::Denied(denial) => Some(&denial.path),
            Error::Failed { op: _, path, kind: _, source: _ } => Some(path),
            Error::WrongFence { op: _, path } => Some(path),
            Error::PolicyInvalid { setting: _, expected: _, found } => Some(found),
            Error::Unavailable { required: _, source: _ } | _ => None,
        }
    }
    let error = builder(&stage()).workspace("missing").build().unwrap_err();
    assert_eq!(path(&error), Some("missing".as_ref()));
}
