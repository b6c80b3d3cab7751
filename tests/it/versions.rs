//! Text files that are read, and replaced only as they were seen.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use ringfence::{
    Code, Edit, Effect as Did, Error, Matches, Outcome, Receipt, Request, Session, Text, Version,
    WriteIntent,
};
use rustix::fs::{AtFlags, CWD};

use crate::effort::rounds;
use crate::stop::StopOnDrop;
use crate::support::{Tree, dir, each_session_on, file, link};

const THREADS: usize = 8;
const BY_THREAD: usize = 40;

fn read(session: &Session, path: &str) -> Result<Text, Error> {
    let outcome = session.perform(Request::ReadText { path: path.into() })?;
    let Outcome::Text { text, .. } = outcome else { panic!("{outcome:?}") };
    Ok(text)
}

fn replace(session: &Session, path: &str, new: &str, seen: &Version) -> Result<Receipt, Error> {
    let (path, text, intent) =
        (path.into(), new.into(), WriteIntent::ReplaceIfVersion(seen.clone()));
    let outcome = session.perform(Request::WriteText { path, text, intent })?;
    let Outcome::Written { receipt, .. } = outcome else { panic!("{outcome:?}") };
    Ok(receipt)
}

fn edit(session: &Session, path: &str, edit: [&str; 2], seen: &Version) -> Result<Outcome, Error> {
    let [old, new] = edit.map(ToOwned::to_owned);
    let edit = Edit { old, new, matches: Matches::One };
    session.perform(Request::Edit { path: path.into(), edit, seen: Some(seen.clone()) })
}

#[test]
fn a_text_is_read_as_it_is() {
    let inside =
        [file("f", "\u{feff}a\nb\r\nc\r"), file("nul", "a\0"), dir("d"), file("empty", "")];
    each_session_on(&Tree::inside(inside), |stage, session| {
        let read_f = read(session, "f").unwrap();
        assert_eq!((read_f.text.as_str(), read_f.bom), ("a\nb\r\nc\r", true));
        let newlines = read_f.newlines;
        assert_eq!((newlines.lf, newlines.crlf, newlines.cr), (1, 1, 1));
        assert_eq!(read(session, "empty").unwrap().text, "");
        std::fs::write(stage.root().join("latin1"), b"caf\xe9").unwrap();
        for (path, code) in [
            ("nul", Code::FsNotText),
            ("latin1", Code::FsNotText),
            ("d", Code::FsNotRegularFile),
            ("missing", Code::FsNotFound),
        ] {
            let error = read(session, path).unwrap_err();
            assert_eq!(error.code(), code, "{path}: {error}");
            assert!(error.to_string().starts_with("cannot read "), "{error}");
        }
    });
}

#[test]
fn a_file_is_of_its_version_while_it_has_the_same_bytes() {
    each_session_on(&Tree::inside([file("f", "old"), link("l", "f")]), |stage, session| {
        let path = stage.root().join("f");
        let mut seen = read(session, "l").unwrap().version;
        let touch = || {
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
        };
        let chmod = || rustix::fs::chmodat(CWD, &path, 0o600.into(), AtFlags::empty()).unwrap();
        let link = || std::fs::hard_link(&path, stage.root().join("other")).unwrap();
        let rewrite = || {
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(stage.root().join("n"), bytes).unwrap();
            std::fs::rename(stage.root().join("n"), &path).unwrap();
        };
        let ways: [(&str, &dyn Fn()); 4] =
            [("touch", &touch), ("chmod", &chmod), ("link", &link), ("rewrite", &rewrite)];
        for (way, happen) in ways {
            happen();
            let receipt = replace(session, "f", way, &seen).unwrap();
            assert_eq!(receipt.effect, Did::Replaced, "{way}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), way);
            seen = read(session, "f").unwrap().version;
        }
        let outcome = edit(session, "l", ["rewrite", "edit"], &seen).unwrap();
        assert!(matches!(outcome, Outcome::Written { .. }), "{outcome:?}");
    });
}

#[test]
fn another_version_is_never_replaced_though_it_is_of_the_same_size_and_moment() {
    each_session_on(&Tree::inside([file("f", "0000")]), |stage, session| {
        let path = stage.root().join("f");
        for round in 0..rounds(50) {
            std::fs::write(&path, format!("{round:04}")).unwrap();
            let seen = read(session, "f").unwrap().version;
            std::fs::write(&path, format!("{:04}", round + 1)).unwrap();
            let error = replace(session, "f", "mine", &seen).unwrap_err();
            assert_eq!(error.code(), Code::FsStaleVersion, "{error}");
            let error = edit(session, "f", ["not in it", "mine"], &seen).unwrap_err();
            assert_eq!(
                error.code(),
                Code::FsStaleVersion,
                "before anything about matching: {error}"
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{:04}", round + 1));
        }
    });
}

#[test]
fn what_is_there_no_more_or_is_no_file_is_told() {
    let tree =
        Tree::inside([file("f", "old"), link("out", "../out/f")]).outside([file("out/f", "old")]);
    each_session_on(&tree, |stage, session| {
        let seen = read(session, "f").unwrap().version;
        let outside = read(session, "out").unwrap().version;
        assert_ne!(seen, outside, "they are two files");
        std::fs::remove_file(stage.root().join("f")).unwrap();
        let before = stage.snapshot();
        let refused = |path, seen: &Version| {
            let replaced = replace(session, path, "new", seen).unwrap_err().code();
            let edited = edit(session, path, ["old", "new"], seen).unwrap_err().code();
            assert_eq!(replaced, edited, "{path}");
            replaced
        };
        assert_eq!(refused("f", &seen), Code::FsStaleVersion);
        assert_eq!(refused(".", &seen), Code::FsNotRegularFile);
        assert_eq!(refused("out", &outside), Code::FsSandboxDenied);
        stage.assert_unchanged(&before);
    });
}

#[test]
fn threads_that_replace_what_they_have_seen_lose_nothing() {
    each_session_on(&Tree::inside([file("counter", "0")]), |stage, session| {
        let count = || loop {
            let text = read(session, "counter").unwrap();
            let next = text.text.parse::<usize>().unwrap() + 1;
            match replace(session, "counter", &next.to_string(), &text.version) {
                Ok(_) => break,
                Err(error) => assert_eq!(error.code(), Code::FsStaleVersion, "{error}"),
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..rounds(BY_THREAD)).for_each(|_| count()));
            }
        });
        let counted = std::fs::read_to_string(stage.root().join("counter")).unwrap();
        assert_eq!(counted, (THREADS * rounds(BY_THREAD)).to_string());
    });
}

#[test]
fn a_text_that_grows_while_it_is_read_is_told_and_is_of_no_version_that_is_replaced() {
    each_session_on(&Tree::inside([file("log", "line\n")]), |stage, session| {
        let mut log = std::fs::File::options().append(true).open(stage.root().join("log")).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let stop_on_drop = StopOnDrop(&stop);
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    log.write_all(b"line\n").unwrap();
                }
            });
            for _ in 0..rounds(20) {
                let text = read(session, "log").unwrap();
                // What is appended may come in pieces, so the last line may be a part of one.
                let lines = "line\n".repeat(text.text.len() / 5 + 1);
                assert!(lines.starts_with(&text.text), "a part that never was there");
                let length = std::fs::metadata(stage.root().join("log")).unwrap().len();
                if length > text.text.len() as u64 {
                    let error = replace(session, "log", "mine", &text.version).unwrap_err();
                    assert_eq!(error.code(), Code::FsStaleVersion, "{error}");
                }
            }
            drop(stop_on_drop);
        });
    });
}
