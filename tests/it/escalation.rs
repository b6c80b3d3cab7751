//! One call in a wider mode: what is looked at first, who is asked, and what an answer allows.

use std::path::Path;
use std::sync::Arc;

use ringfence::{
    Answer, Approval, Approver, Call, Cancel, Code, Edit, Enforcement, Error, Escalation, Matches,
    Mode, Outcome, Parents, Question, Reason, Request, Session, Subject, TempAreas, WriteIntent,
    mode_override,
};

use crate::effort::rounds;
use crate::support::{
    FenceKind, Person, Stage, Tree, builder_in, dir, file, link, offered, while_exchanging,
};

fn stage() -> Stage {
    let inside = [
        file("f", "a a"),
        file("g", "other"),
        dir("d"),
        file("nul", "\0"),
        link("out", "$BASE/out"),
        link("fifo", "missing/x"),
    ];
    Stage::new(&Tree::inside(inside).outside([file("out/x", "out")]))
}

fn session(stage: &Stage, mode: Mode, person: &Arc<Person>, kind: FenceKind) -> Session {
    let builder = builder_in(stage.root(), mode, kind);
    builder.approver(Arc::<Person>::clone(person)).build().unwrap()
}

fn write(path: impl AsRef<Path>, text: &str) -> Request {
    let (path, text) = (path.as_ref().to_owned(), text.to_owned());
    Request::WriteText { path, text, intent: WriteIntent::Any }
}

fn edit(path: &str, old: &str, new: &str) -> Request {
    let edit = Edit { old: old.into(), new: new.into(), matches: Matches::One };
    Request::Edit { path: path.into(), edit, seen: None }
}

fn asking(request: Request, to: Mode) -> Call {
    let justification = "the user wants it".to_owned();
    Call::new(request).escalate(Escalation { to, justification })
}

fn code(answer: Result<Outcome, Error>) -> Code {
    answer.unwrap_err().code()
}

#[test]
fn consent_is_for_one_call_and_the_next_is_judged_as_before() {
    for kind in offered() {
        let stage = stage();
        let person = Person::who_says(Approval::AllowedOnce);
        let session = session(&stage, Mode::ReadOnly, &person, *kind);
        assert_eq!(code(session.perform(write("n", "x"))), Code::FsSandboxDenied);

        let call = asking(write("n", "x"), Mode::WorkspaceWrite).tool("write").id("call-1");
        let done = session.call(call).unwrap();
        let Outcome::Written { receipt, .. } = done else { panic!("{done:?}") };
        assert!(receipt.enforcement >= Enforcement::Checked, "the fence of the wider mode");
        assert_eq!(std::fs::read_to_string(stage.root().join("n")).unwrap(), "x");

        let asked = person.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!((asked[0].from, asked[0].to), (Mode::ReadOnly, Mode::WorkspaceWrite));
        assert_eq!(asked[0].tool.as_deref(), Some("write"));
        assert_eq!(asked[0].call.as_deref(), Some("call-1"));
        assert_eq!(asked[0].session, session.name());
        assert_eq!(asked[0].justification, "the user wants it");

        let before = stage.snapshot();
        assert_eq!(code(session.perform(write("n", "y"))), Code::FsSandboxDenied);
        assert_eq!(mode_override(&session.log()), None, "nothing is remembered");
        stage.assert_unchanged(&before);
    }
}

#[test]
fn a_person_is_shown_where_a_link_leads_and_nothing_else_is_written() {
    for kind in offered() {
        let stage = stage();
        let person = Person::who_says(Approval::AllowedOnce);
        let session = session(&stage, Mode::WorkspaceWrite, &person, *kind);
        let request = || write("out/x", "new");
        assert_eq!(code(session.perform(request())), Code::FsSandboxDenied);
        session.call(asking(request(), Mode::DangerFullAccess)).unwrap();
        assert_eq!(std::fs::read_to_string(stage.base().join("out/x")).unwrap(), "new");
        let Subject::Operation { path, place, .. } = person.asked()[0].subject.clone() else {
            panic!("it is about a file")
        };
        assert_eq!(path, stage.root().join("out/x"));
        assert_eq!(place, stage.base().join("out/x").canonicalize().unwrap());
    }
}

#[test]
fn what_has_moved_while_a_person_thought_is_not_written() {
    for kind in offered() {
        let stage = stage();
        let before = stage.snapshot();
        let (root, base) = (stage.root().to_owned(), stage.base().to_owned());
        let swap = move || {
            // The directory that was shown is by now a link to another place.
            std::fs::rename(root.join("d"), root.join("e")).unwrap();
            std::os::unix::fs::symlink(base.join("out"), root.join("d")).unwrap();
        };
        let person = Person::who_first(swap, Approval::AllowedOnce);
        let session = session(&stage, Mode::WorkspaceWrite, &person, *kind);
        for path in ["d/n", "d/x"] {
            let call = asking(write(path, "new"), Mode::DangerFullAccess);
            assert_eq!(code(session.call(call)), Code::FsStaleVersion, "{path}");
            std::fs::remove_file(stage.root().join("d")).unwrap();
            std::fs::rename(stage.root().join("e"), stage.root().join("d")).unwrap();
        }
        assert_eq!(person.asked().len(), 2);
        stage.assert_unchanged_but_times_of_dirs(&before);
    }
}

#[test]
fn any_answer_but_consent_changes_nothing_and_has_its_own_code_and_words() {
    for kind in offered() {
        let stage = stage();
        let before = stage.snapshot();
        let mut words = Vec::new();
        for (answer, expected) in [
            (Approval::Rejected, Code::SandboxEscalationRejected),
            (Approval::Cancelled, Code::SandboxEscalationCancelled),
            (Approval::Unavailable, Code::SandboxEscalationUnavailable),
        ] {
            let person = Person::who_says(answer);
            let session = session(&stage, Mode::ReadOnly, &person, *kind);
            let error = session.call(asking(write("n", "x"), Mode::WorkspaceWrite)).unwrap_err();
            assert_eq!(error.code(), expected);
            assert_eq!(person.asked().len(), 1);
            words.push(error.to_string());
        }
        words.sort();
        words.dedup();
        assert_eq!(words.len(), 3);

        let panics = Person::who_first(|| panic!("on purpose"), Approval::AllowedOnce);
        let session = session(&stage, Mode::ReadOnly, &panics, *kind);
        let answer = session.call(asking(write("n", "x"), Mode::WorkspaceWrite));
        assert_eq!(code(answer), Code::SandboxEscalationUnavailable);
        stage.assert_unchanged(&before);
    }
}

#[test]
fn nobody_is_asked_for_what_would_fail_anyway() {
    for kind in offered() {
        let stage = stage();
        let before = stage.snapshot();
        let person = Person::who_says(Approval::AllowedOnce);
        let narrow = session(&stage, Mode::ReadOnly, &person, *kind);
        let (write_to, full) = (Mode::WorkspaceWrite, Mode::DangerFullAccess);
        let seen = |path: &str| {
            let read = narrow.perform(Request::ReadText { path: path.into() }).unwrap();
            let Outcome::Text { text, .. } = read else { panic!("{read:?}") };
            text.version
        };
        let over =
            |path: &str, intent| Request::WriteText { path: path.into(), text: "x".into(), intent };
        let other = seen("g");
        for (request, to, expected) in [
            (write("n", "x"), Mode::ReadOnly, Code::SandboxEscalationNotWider),
            (write("d", "x"), write_to, Code::FsNotRegularFile),
            (write("../beside", "x"), write_to, Code::FsSandboxDenied),
            (write("out/x", "x"), write_to, Code::FsSandboxDenied),
            (write("f/child", "x"), write_to, Code::FsNotFound),
            (write("fifo/child", "x"), full, Code::FsNotFound),
            (write("", "x"), write_to, Code::FsNotFound),
            (edit("missing", "a", "b"), write_to, Code::FsNotFound),
            (edit("f", "a", "b"), write_to, Code::FsAmbiguousEdit),
            (edit("f", "z", "b"), write_to, Code::FsEditNotFound),
            (edit("nul", "a", "b"), write_to, Code::FsNotText),
            (over("f", WriteIntent::CreateIfAbsent), write_to, Code::FsNotObserved),
            (over("f", WriteIntent::ReplaceIfVersion(other)), write_to, Code::FsStaleVersion),
        ] {
            let name = format!("{request:?}");
            assert_eq!(code(narrow.call(asking(request, to))), expected, "{name}");
        }
        let wide = session(&stage, full, &person, *kind);
        let answer = wide.call(asking(write("n", "x"), full));
        assert_eq!(code(answer), Code::SandboxEscalationNotWider);
        assert!(person.asked().is_empty(), "{:?}", person.asked());
        stage.assert_unchanged(&before);
    }
}

#[test]
fn a_call_that_nobody_can_be_asked_for_says_so() {
    for kind in offered() {
        let stage = stage();
        let before = stage.snapshot();
        let person = Person::who_says(Approval::AllowedOnce);
        let answered = session(&stage, Mode::ReadOnly, &person, *kind);
        let alone = Session::builder()
            .workspace(stage.root())
            .temps(TempAreas::none())
            .exactly(kind.resolution, kind.confinement)
            .build()
            .unwrap();
        let call = || asking(write("n", "x"), Mode::WorkspaceWrite);
        assert_eq!(code(alone.call(call())), Code::SandboxEscalationNoApprover);
        assert_eq!(code(answered.call(call().agentless())), Code::SandboxEscalationNoAgent);

        let request = Request::CreateDir { path: "n".into(), parents: Parents::Require };
        let answer = answered.call(asking(request, Mode::WorkspaceWrite));
        assert_eq!(code(answer), Code::SandboxEscalationUnsupported);

        let blank = Escalation { to: Mode::WorkspaceWrite, justification: " \n".into() };
        let error = answered.call(Call::new(write("n", "x")).escalate(blank)).unwrap_err();
        assert_eq!(error.code(), Code::SandboxEscalationInvalid);
        assert_eq!(error.reason(), Some(Reason::BlankJustification));
        assert!(person.asked().is_empty());
        assert!(answered.can_ask() && !alone.can_ask());
        stage.assert_unchanged(&before);
    }
}

#[test]
fn a_person_is_shown_the_start_of_a_justification_without_end() {
    for kind in offered() {
        let stage = stage();
        let person = Person::who_says(Approval::Rejected);
        let session = session(&stage, Mode::ReadOnly, &person, *kind);
        let long = Escalation { to: Mode::WorkspaceWrite, justification: "é".repeat(1 << 20) };
        let answer = session.call(Call::new(write("n", "x")).escalate(long));
        assert_eq!(code(answer), Code::SandboxEscalationRejected);
        assert_eq!(person.asked()[0].justification, "é".repeat(500) + "…");
    }
}

#[test]
fn a_call_that_is_cancelled_while_a_person_thinks_changes_nothing() {
    for kind in offered() {
        let stage = stage();
        let before = stage.snapshot();
        let cancel = Cancel::new();
        let from_the_other_side = cancel.clone();
        let person = Person::who_first(move || from_the_other_side.cancel(), Approval::AllowedOnce);
        let session = session(&stage, Mode::ReadOnly, &person, *kind);
        let call = asking(write("n", "x"), Mode::WorkspaceWrite).cancel(cancel);
        assert_eq!(code(session.call(call)), Code::SandboxEscalationCancelled);
        stage.assert_unchanged(&before);
    }
}

#[test]
fn a_directory_that_was_moved_while_a_person_thought_takes_the_write_nowhere() {
    for kind in offered() {
        let stage = stage();
        let before = stage.snapshot();
        let root = stage.root().to_owned();
        let moves = move || {
            // The very directory that was shown, under another name and behind a link.
            std::fs::rename(root.join("d"), root.join("hooks")).unwrap();
            std::os::unix::fs::symlink("hooks", root.join("d")).unwrap();
        };
        let person = Person::who_first(moves, Approval::AllowedOnce);
        let session = session(&stage, Mode::ReadOnly, &person, *kind);
        let answer = session.call(asking(write("d/n", "x"), Mode::WorkspaceWrite));
        assert_eq!(code(answer), Code::FsStaleVersion);
        std::fs::remove_file(stage.root().join("d")).unwrap();
        std::fs::rename(stage.root().join("hooks"), stage.root().join("d")).unwrap();
        stage.assert_unchanged_but_times_of_dirs(&before);
    }
}

#[test]
fn a_workspace_that_was_moved_while_a_person_thought_is_not_written_in() {
    for kind in offered() {
        for to in [Mode::WorkspaceWrite, Mode::DangerFullAccess] {
            let stage = stage();
            let (root, moved) = (stage.root().to_owned(), stage.base().join("moved"));
            let away = moved.clone();
            let moves = move || {
                std::fs::rename(&root, &away).unwrap();
                std::fs::create_dir(&root).unwrap();
            };
            let person = Person::who_first(moves, Approval::AllowedOnce);
            let session = session(&stage, Mode::ReadOnly, &person, *kind);
            assert_eq!(code(session.call(asking(write("n", "x"), to))), Code::SandboxUnavailable);
            assert!(!moved.join("n").exists() && !stage.root().join("n").exists());
        }
    }
}

#[test]
fn what_a_person_was_shown_is_where_it_is_written_however_directories_are_exchanged() {
    for kind in offered() {
        let stage = stage();
        std::os::unix::fs::symlink(stage.base().join("out"), stage.root().join("q")).unwrap();
        std::fs::create_dir(stage.root().join("p")).unwrap();
        let person = Person::who_says(Approval::AllowedOnce);
        let session = session(&stage, Mode::WorkspaceWrite, &person, *kind);
        let outside = || std::fs::read_dir(stage.base().join("out")).unwrap().count();
        let (real, led) = (stage.root().join("p"), stage.root().join("q"));
        let place_of_out = stage.base().join("out").canonicalize().unwrap();
        let mut round = 0;
        while_exchanging(&real, &led, rounds(100), || {
            round += 1;
            let call = asking(write(format!("p/{round}"), "x"), Mode::DangerFullAccess);
            let (before, asked) = (outside(), person.asked().len());
            let answer = session.call(call);
            let shown = person.asked().split_off(asked);
            let is_outside = shown.iter().any(|question| {
                let Subject::Operation { place, .. } = &question.subject else { return false };
                place.starts_with(&place_of_out)
            });
            let landed = outside() > before;
            assert!(is_outside || !landed, "round {round}: {shown:?}, {answer:?}");
            answer.is_ok()
        });
    }
}

#[test]
fn an_approver_that_changes_something_in_the_session_it_answers_for_is_refused() {
    #[derive(Debug, Default)]
    struct CallsBack(std::sync::OnceLock<std::sync::Weak<Session>>);
    impl Approver for CallsBack {
        fn ask<'a>(&'a self, _: &'a Question) -> Answer<'a> {
            let session = self.0.get().and_then(std::sync::Weak::upgrade).unwrap();
            let inner = session.call(Call::new(write("m", "x")).observed());
            assert_eq!(code(inner), Code::FsIoError);
            Approval::AllowedOnce.into()
        }
    }
    for kind in offered() {
        let stage = stage();
        let approver = Arc::new(CallsBack::default());
        let session = Session::builder()
            .workspace(stage.root())
            .temps(TempAreas::none())
            .exactly(kind.resolution, kind.confinement)
            .approver(Arc::<CallsBack>::clone(&approver))
            .build()
            .unwrap();
        let session = Arc::new(session);
        approver.0.set(Arc::downgrade(&session)).unwrap();
        let call = asking(write("n", "x"), Mode::WorkspaceWrite).observed();
        session.call(call).unwrap();
        assert!(stage.root().join("n").exists() && !stage.root().join("m").exists());
    }
}

#[test]
fn an_approver_that_cannot_say_whether_it_reaches_anybody_reaches_nobody() {
    #[derive(Debug)]
    struct Panics;
    impl Approver for Panics {
        fn ask<'a>(&'a self, _: &'a Question) -> Answer<'a> {
            Approval::AllowedOnce.into()
        }
        fn reaches_a_person(&self) -> bool {
            panic!("on purpose")
        }
    }
    #[derive(Debug)]
    struct Mute;
    impl Approver for Mute {
        fn ask<'a>(&'a self, _: &'a Question) -> Answer<'a> {
            Approval::Rejected.into()
        }
        fn reaches_a_person(&self) -> bool {
            false
        }
    }
    let stage = stage();
    for approver in [Arc::new(Panics) as Arc<dyn Approver>, Arc::new(Mute)] {
        let builder = Session::builder().workspace(stage.root()).temps(TempAreas::none());
        assert!(!builder.approver(approver).build().unwrap().can_ask());
    }
}
