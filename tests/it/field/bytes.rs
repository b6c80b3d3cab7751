//! What an edit does to the bytes of a file, and what it leaves alone.

use std::path::Path;

use ringfence::{Code, Error, Session};

use super::{edit, edit_all, read};
use crate::support::{Stage, Tree, each_session_on, file};

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Runs `test` with a session and a file on each fence.
fn each_file(test: impl Fn(&Session, &Path)) {
    each_session_on(&Tree::inside([file("f", "")]), |stage: &Stage, session| {
        test(session, &stage.root().join("f"));
    });
}

fn set(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

#[track_caller]
fn assert_bytes(path: &Path, expected: &[u8]) {
    let found = std::fs::read(path).unwrap();
    assert!(found == expected, "{:?}", String::from_utf8_lossy(&found));
}

#[test]
fn new_lines_end_as_the_lines_around_them() {
    each_file(|session, path| {
        for (before, old, new, after) in [
            ("a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n"),
            ("foo\r\nbar\r\n", "foo\n", "FOO\n", "FOO\r\nbar\r\n"),
            ("foo\nbar\n", "foo\r\n", "FOO\r\n", "FOO\nbar\n"),
            ("a\r\nb\nc\n", "a\nb\nc", "1\n2\n3", "1\r\n2\n3\n"),
        ] {
            set(path, before.as_bytes());
            drop(edit(session, "f", old, new).unwrap());
            assert_bytes(path, after.as_bytes());
        }
    });
}

#[test]
fn no_line_end_changes_outside_the_match() {
    let lines = |changed: usize, text: &str| -> String {
        let line = |n| if n == changed { format!("{text}\r\n") } else { format!("line {n}\r\n") };
        (0..10_000).map(line).collect()
    };
    let mixed = |middle: &str| format!("a\rb\nc\r\n\r\n\n\r\r\n{middle}\rx\r\ny\nz\r");
    let bare = |middle: &str| format!("a\r{middle}\rb\rc");
    each_file(|session, path| {
        for (before, after) in [
            (lines(5_000, "old"), lines(5_000, "new")),
            (lines(9_999, "old"), lines(9_999, "new")),
            (mixed("old"), mixed("new")),
            (bare("old"), bare("new")),
        ] {
            set(path, before.as_bytes());
            drop(edit(session, "f", "old", "new").unwrap());
            assert_bytes(path, after.as_bytes());
        }
    });
}

#[test]
fn an_edit_is_undone_by_its_inverse() {
    let edits = [
        ("two", "2"),
        ("two", "2\n2\n2"),
        ("two\n", "-"),
        ("one\ntwo\nthree", "none"),
        ("one\n", "zero\none\n"),
        ("three\n", "three\nfour"),
        ("two\r\n", "2\r\n\r\n"),
    ];
    each_file(|session, path| {
        for end in ["\n", "\r\n"] {
            let text = ["zero", "one", "two", "three", "last"].join(end);
            for before in [text.clone(), text.clone() + end, format!("\u{feff}{text}")] {
                for (old, new) in edits {
                    set(path, before.as_bytes());
                    drop(edit(session, "f", old, new).unwrap());
                    drop(edit(session, "f", new, old).unwrap());
                    assert_bytes(path, before.as_bytes());
                }
                // Where no line end is left, the inverse has to say which there were.
                set(path, before.as_bytes());
                drop(edit(session, "f", &text, "none").unwrap());
                drop(edit(session, "f", "none", &text).unwrap());
                assert_bytes(path, before.as_bytes());
            }
        }
    });
}

#[test]
fn a_mark_is_told_and_stays_whichever_line_is_edited() {
    let long: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
    let file = |text: &str| [MARK, text.as_bytes()].concat();
    each_file(|session, path| {
        set(path, &file("one\ntwo\nthree\n"));
        for (old, new, after) in [
            ("one", "1", "1\ntwo\nthree\n"),
            ("two", "2", "1\n2\nthree\n"),
            ("three\n", "3", "1\n2\n3"),
        ] {
            assert!(read(session, "f").bom);
            drop(edit(session, "f", old, new).unwrap());
            assert_bytes(path, &file(after));
        }
        set(path, &file(&(long.clone() + "last")));
        drop(edit(session, "f", "last", "end").unwrap());
        assert_bytes(path, &file(&(long.clone() + "end")));
    });
}

#[test]
fn the_first_line_is_matched_without_the_mark_before_it() {
    each_file(|session, path| {
        set(path, &[MARK, b"first\nsecond\n"].concat());
        let seen = read(session, "f").text;
        let first = seen.lines().next().unwrap();
        assert_eq!(first, "first");
        drop(edit(session, "f", first, "FIRST").unwrap());
        assert_bytes(path, &[MARK, b"FIRST\nsecond\n"].concat());
        drop(edit(session, "f", &read(session, "f").text, "all\n").unwrap());
        assert_bytes(path, &[MARK, b"all\n"].concat());
    });
}

#[test]
fn a_file_in_another_encoding_is_refused_and_stays() {
    // Shift-JIS, quotes of Windows-1252, GBK, UTF-16.
    let files: [&[u8]; 4] = [
        b"\x93\xfa\x96{\x8c\xea\nascii\n\x83e\x83X\x83g\n",
        b"\x93quoted\x94 words\nascii\n",
        b"\xd6\xd0\xce\xc4\nascii\n\xb2\xe2\xca\xd4\n",
        b"\xff\xfea\0s\0c\0i\0i\0",
    ];
    each_file(|session, path| {
        for bytes in files {
            set(path, bytes);
            let error = edit(session, "f", "ascii", "ASCII").unwrap_err();
            assert_eq!(error.code(), Code::FsNotText, "{error}");
            assert_bytes(path, bytes);
        }
    });
}

#[test]
fn nothing_is_normalised() {
    const DECOMPOSED: &str = "e\u{301}\nother\n";
    each_file(|session, path| {
        set(path, DECOMPOSED.as_bytes());
        let error = edit(session, "f", "\u{e9}", "e").unwrap_err();
        assert_eq!(error.code(), Code::FsEditNotFound);
        assert_bytes(path, DECOMPOSED.as_bytes());
        drop(edit(session, "f", "other", "another \u{212b}").unwrap());
        assert_bytes(path, "e\u{301}\nanother \u{212b}\n".as_bytes());
    });
}

#[test]
fn the_new_text_is_written_as_it_is() {
    each_file(|session, path| {
        for new in ["x$&y$$z$1", "\\1 \\n \\\\ \\0", "${1} $name %s {} &", "$`$'"] {
            set(path, b"before here after");
            drop(edit(session, "f", "here", new).unwrap());
            assert_bytes(path, format!("before {new} after").as_bytes());
            // What is searched for is no pattern either.
            drop(edit(session, "f", new, "here").unwrap());
            assert_bytes(path, b"before here after");
        }
    });
}

#[test]
fn of_two_matches_both_are_meant_or_it_is_an_error() {
    each_file(|session, path| {
        set(path, b"same\nother\nsame\n");
        let error = edit(session, "f", "same", "new").unwrap_err();
        assert!(matches!(error, Error::AmbiguousEdit { matches: 2, .. }), "{error}");
        assert_eq!(error.code(), Code::FsAmbiguousEdit);
        assert_bytes(path, b"same\nother\nsame\n");
        let (_, replaced) = edit_all(session, "f", "same", "new").unwrap();
        assert_eq!(replaced, 2);
        assert_bytes(path, b"new\nother\nnew\n");
    });
}
