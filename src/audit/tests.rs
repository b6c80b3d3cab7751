use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use ringfence_platform::{ErrorKind, Roots};

use super::*;
use crate::request::Op;

#[derive(Clone, Debug, Default)]
struct Told(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Told {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Each line that `act` tells.
fn told_by(act: impl FnOnce()) -> Vec<String> {
    let told = Told::default();
    let writer = told.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, act);
    let bytes = told.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(ToOwned::to_owned).collect()
}

/// What is told if it panics after `begin` while `go_on` is done.
fn told_by_panic_in<T>(begin: impl FnOnce() -> T, go_on: impl FnOnce(&mut T)) -> Vec<String> {
    told_by(|| {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut record = begin();
            go_on(&mut record);
            std::panic::resume_unwind(Box::new("on the way"));
        }));
        assert!(panicked.is_err());
    })
}

#[track_caller]
fn assert_has(line: &str, words: &[&str]) {
    for word in words {
        assert!(line.contains(word), "{word}: {line}");
    }
}

fn record() -> Record {
    Record::begin(&Request::Remove { path: "f".into(), what: ringfence_platform::Removal::File })
}

fn policy(mode: Mode) -> Policy {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Policy::load(mode, here, &crate::policy::TempAreas::none()).unwrap()
}

fn failed(kind: ErrorKind) -> Error {
    Error::Failed { op: Op::Remove, path: "f".into(), kind, source: None }
}

fn wanting(to: Mode, justification: &str) -> Escalation {
    Escalation { to, justification: justification.to_owned() }
}

#[test]
fn a_panic_before_the_decision_is_told_as_a_denial_and_a_failure() {
    let lines = told_by_panic_in(record, |_| {});
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_has(&lines[0], &["policy/decided", "decision=\"deny\"", "PANIC"]);
    assert_has(&lines[1], &["change/failed", "PANIC", "elapsed_us="]);
}

#[test]
fn a_panic_after_the_decision_is_told_as_a_failure() {
    let policy = policy(Mode::WorkspaceWrite);
    let lines = told_by_panic_in(record, |record| record.decided(&policy, Ok(())).unwrap());
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_has(&lines[0], &["policy/decided", "decision=\"allow\""]);
    assert_has(&lines[1], &["change/failed", "PANIC"]);
}

#[test]
fn a_panic_before_a_person_is_asked_or_after_is_told_as_the_end_of_the_question() {
    let wish = || Asked::begin(Mode::ReadOnly, &wanting(Mode::WorkspaceWrite, "why"), "operation");
    let ends = [("outcome=\"refused\"", "asked=false"), ("outcome=\"unavailable\"", "asked=true")];
    let told = [told_by_panic_in(wish, |_| {}), told_by_panic_in(wish, Asked::asked)];
    for (lines, (outcome, asked)) in told.iter().zip(ends) {
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_has(&lines[0], &["escalation/asked"]);
        assert_has(&lines[1], &["escalation/decided", "PANIC", outcome, asked]);
    }
}

#[test]
fn each_end_of_a_question_has_its_outcome() {
    let from_to = (Mode::WorkspaceWrite, Mode::ReadOnly);
    for (why, outcome, asked) in [
        (Unescalated::Rejected, "rejected", true),
        (Unescalated::Cancelled, "cancelled", true),
        (Unescalated::Unavailable, "unavailable", true),
        (Unescalated::Unsupported, "refused", false),
        (Unescalated::BlankJustification, "refused", false),
        (Unescalated::NotWider { from: from_to.0, to: from_to.1 }, "refused", false),
        (Unescalated::NoApprover, "refused", false),
        (Unescalated::NoAgent, "refused", false),
    ] {
        let lines = told_by(|| {
            let mut record = Asked::begin(from_to.0, &wanting(from_to.1, "why"), "operation");
            if asked {
                record.asked();
            }
            record.end(&Err(Error::Escalation(why)));
        });
        assert_eq!(lines.len(), 2, "{lines:?}");
        let outcome = format!("outcome=\"{outcome}\"");
        assert_has(&lines[1], &[&outcome, &format!("asked={asked}"), "SANDBOX_ESCALATION"]);
    }
}

#[test]
fn a_justification_is_cut_after_two_hundred_chars() {
    for (length, told) in [(199, 199), (200, 200), (201, 200), (400, 200)] {
        let justification = "\u{20ac}".repeat(length);
        let lines = told_by(|| {
            let record = Asked::begin(
                Mode::ReadOnly,
                &wanting(Mode::WorkspaceWrite, &justification),
                "operation",
            );
            record.end(&Err(Error::Escalation(Unescalated::Rejected)));
        });
        assert_eq!(lines[0].matches('\u{20ac}').count(), told, "{}", lines[0]);
    }
}

#[test]
fn a_lost_boundary_is_told_whenever_it_is_lost_and_before_the_failure() {
    let policy = policy(Mode::WorkspaceWrite);
    for error in [
        failed(ErrorKind::ConfinementLost),
        failed(ErrorKind::TooWeak),
        Error::WrongFence { op: Op::Remove, path: "f".into() },
        Error::Forked,
        Error::NoPolicy,
    ] {
        let (text, result) = (format!("{error}").replace('"', "\\\""), Err(error));
        for decided in [false, true] {
            let lines = told_by(|| {
                let mut record = record();
                if decided {
                    record.decided(&policy, Ok(())).unwrap();
                }
                record.end(&result);
            });
            assert_eq!(lines.len(), 3, "{lines:?}");
            assert_has(&lines[0], &[if decided { "allow" } else { "deny" }]);
            assert_has(&lines[1], &["sandbox/unavailable", &text]);
            assert_has(&lines[2], &["change/failed", "SANDBOX_UNAVAILABLE"]);
        }
    }
    let lines = told_by(|| record().end(&Err(failed(ErrorKind::Busy))));
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn a_cause_says_all_that_lies_behind_it_and_nothing_twice() {
    let missing = Path::new(env!("CARGO_MANIFEST_DIR")).join("missing");
    let source = || Roots::open([&missing]).unwrap_err();
    let system = std::io::Error::from_raw_os_error(2).to_string();
    let what = format!("{:#}", source());

    let unavailable = Error::Unavailable { required: Enforcement::Kernel, source: Some(source()) };
    assert_eq!(cause(&unavailable), format!("{unavailable}: {what}: {system}"));

    let (op, path, kind) = (Op::Write, missing.clone(), source().kind());
    let failed = Error::Failed { op, path, kind, source: Some(source()) };
    assert_eq!(cause(&failed), format!("{failed}: {system}"));
    assert_eq!(cause(&failed).matches(&what).count(), 1);
}
