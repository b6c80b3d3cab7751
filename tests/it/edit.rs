//! Edits of text files through the one door.

mod bounds;
mod exact;

use std::path::Path;

use ringfence::{
    Code, Edit, Effect as Did, Error, Layer, Matches, Outcome, Receipt, Request, Session, TempAreas,
};
use rustix::fs::{CWD, XattrFlags};

use crate::actor::{self, Actor};
use crate::effort::rounds;
use crate::support::{
    Stage, Tree, dir, each_session_on, fifo, file, link, offered, session_in, this_test,
};

const PROCESSES: usize = 3;
const BY_PROCESS: usize = 1_000;

fn request(path: &str, old: &str, new: &str, matches: Matches) -> Request {
    let edit = Edit { old: old.into(), new: new.into(), matches };
    Request::Edit { path: path.into(), edit, seen: None }
}

fn edit(session: &Session, path: &str, old: &str, new: &str) -> Result<(Receipt, usize), Error> {
    let outcome = session.perform(request(path, old, new, Matches::One))?;
    let Outcome::Written { receipt, replaced: Some(replaced), .. } = outcome else {
        panic!("{outcome:?}")
    };
    Ok((receipt, replaced))
}

#[test]
fn the_bytes_around_an_edit_stay_as_they_are() {
    each_session_on(&Tree::inside([file("f", "")]), |stage, session| {
        let path = stage.root().join("f");
        for (before, old, new, after) in [
            (&b"a\r\nb\nc\rd"[..], "b", "B", &b"a\r\nB\nc\rd"[..]),
            (b"\xef\xbb\xbfa\r\nb", "a\nb", "a\nx\nb", b"\xef\xbb\xbfa\r\nx\r\nb"),
            (b"\xef\xbb\xbf\xef\xbb\xbfa", "a", "b", b"\xef\xbb\xbf\xef\xbb\xbfb"),
            (b"\n\n\r\n\rlast", "last", "", b"\n\n\r\n\r"),
            (b"caf\xc3\xa9 $1", "$1", "\\0\0", b"caf\xc3\xa9 \\0\0"),
        ] {
            std::fs::write(&path, before).unwrap();
            let (receipt, replaced) = edit(session, "f", old, new).unwrap();
            assert_eq!((receipt.effect, replaced), (Did::Replaced, 1), "{old:?}");
            assert_eq!(std::fs::read(&path).unwrap(), after, "{old:?}");
        }
        std::fs::write(&path, "a.a.a").unwrap();
        let all = session.perform(request("f", "a", "aa", Matches::All)).unwrap();
        assert!(matches!(all, Outcome::Written { replaced: Some(3), .. }), "{all:?}");
        assert_eq!(std::fs::read(&path).unwrap(), b"aa.aa.aa");
    });
}

#[test]
fn what_is_not_a_text_or_not_in_it_is_told_and_nothing_changes() {
    let inside = [
        file("f", "aaa\r\n"),
        file("empty", ""),
        file("nul", "a\0"),
        dir("d"),
        fifo("fifo"),
        link("dangling", "nowhere"),
    ];
    each_session_on(&Tree::inside(inside), |stage, session| {
        std::fs::write(stage.root().join("latin1"), b"caf\xe9").unwrap();
        let before = stage.snapshot();
        for (path, old, code) in [
            ("f", "b", Code::FsEditNotFound),
            ("f", "", Code::FsEditNotFound),
            ("f", "a\r", Code::FsEditNotFound),
            ("empty", "a", Code::FsEditNotFound),
            ("f", "aa", Code::FsAmbiguousEdit),
            ("nul", "a", Code::FsNotText),
            ("latin1", "caf", Code::FsNotText),
            ("d", "a", Code::FsNotRegularFile),
            ("fifo", "a", Code::FsNotRegularFile),
            ("missing", "a", Code::FsNotFound),
            ("missing/f", "a", Code::FsNotFound),
            ("dangling", "a", Code::FsNotFound),
            ("", "a", Code::FsNotFound),
        ] {
            let error = edit(session, path, old, "new").unwrap_err();
            assert_eq!(error.code(), code, "{path:?} {old:?}: {error}");
            assert!(error.to_string().starts_with("cannot edit "), "{error}");
        }
        let error = edit(session, "f", "a", "b").unwrap_err();
        assert!(matches!(error, Error::AmbiguousEdit { matches: 3, .. }), "{error}");
        stage.assert_unchanged(&before);
    });
}

#[test]
fn a_file_that_is_too_large_to_be_a_text_is_not_read() {
    const LIMIT: u64 = 512 * 1024 * 1024;
    each_session_on(&Tree::inside([]), |stage, session| {
        let large = std::fs::File::create(stage.root().join("large")).unwrap();
        large.set_len(LIMIT + 1).unwrap();
        let error = edit(session, "large", "a", "b").unwrap_err();
        assert_eq!(error.code(), Code::FsTooLarge);
        assert!(matches!(error, Error::TooLarge { size, limit: LIMIT, .. } if size == LIMIT + 1));
    });
}

#[test]
fn whether_an_edit_is_allowed_does_not_depend_on_what_is_in_the_file() {
    let inside = [
        file("f", "old"),
        link("outfile", "../out/text"),
        link("outbinary", "../out/binary"),
        link("outnowhere", "../out/nowhere"),
        link("outdir", "../out"),
    ];
    let outside = [file("out/text", "old"), file("out/binary", "a\0")];
    each_session_on(&Tree::inside(inside).outside(outside), |stage, session| {
        let before = stage.snapshot();
        let out = stage.base().join("out/text");
        for path in ["outfile", "outbinary", "outnowhere", "outdir/text", out.to_str().unwrap()] {
            for old in ["old", "not in it", ""] {
                let error = edit(session, path, old, "new").unwrap_err();
                assert_eq!(error.code(), Code::FsSandboxDenied, "{path} {old:?}: {error}");
            }
        }
        let builder = Session::builder().workspace(stage.root()).temps(TempAreas::none());
        let error = edit(&builder.build().unwrap(), "f", "not in it", "new").unwrap_err();
        assert!(matches!(error, Error::Denied(denial) if denial.by == Layer::Mode));
        stage.assert_unchanged(&before);
    });
}

#[test]
fn an_edit_keeps_what_a_replacement_keeps_and_the_links_that_lead_to_it() {
    let inside = [file("d/f", "one two"), link("l", "d/f")];
    each_session_on(&Tree::inside(inside), |stage, session| {
        let path = stage.root().join("d/f");
        rustix::fs::chmodat(CWD, &path, 0o640.into(), rustix::fs::AtFlags::empty()).unwrap();
        let tagged = rustix::fs::setxattr(&path, "user.tag", b"kept", XattrFlags::empty()).is_ok();
        let (receipt, _) = edit(session, "l", "two", "three").unwrap();
        assert_eq!(receipt.not_kept, []);
        assert_eq!(std::fs::read(&path).unwrap(), b"one three");
        assert!(stage.root().join("l").is_symlink());
        let mode = rustix::fs::stat(&path).unwrap().st_mode;
        assert_eq!(mode & 0o7777, 0o640);
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(&path, "user.tag", &mut value[..]).unwrap_or(0);
        assert_eq!(&value[..length], if tagged { &b"kept"[..] } else { b"" });

        let before = stage.snapshot();
        let (receipt, replaced) = edit(session, "d/f", "three", "three").unwrap();
        assert_eq!((receipt.effect, replaced), (Did::Unchanged, 1));
        stage.assert_unchanged(&before);
    });
}

/// What an edit has reported as done is in the file, whoever else edits it. One that met too many
/// others says so, and is made again.
#[test]
fn three_processes_lose_no_edit() {
    if let Some((number, words)) = actor::part() {
        return count_as(&number, Path::new(&words[0]));
    }
    let test = this_test!();
    let start: String = (0..PROCESSES).map(|number| format!("{number}: 0\r\n")).collect();
    let stage = Stage::new(&Tree::inside([file("counts", &start)]));
    let root = stage.root().to_str().unwrap();
    let actors: Vec<_> =
        (0..PROCESSES).map(|number| Actor::start(test, &number.to_string(), &[root])).collect();
    for actor in actors {
        assert_eq!(actor.end().as_deref(), Some("counted"));
    }
    let all = rounds(BY_PROCESS);
    let end: String = (0..PROCESSES).map(|number| format!("{number}: {all}\r\n")).collect();
    assert_eq!(std::fs::read_to_string(stage.root().join("counts")).unwrap(), end);
}

fn count_as(number: &str, root: &Path) {
    let session = session_in(root, offered()[0]);
    for count in 0..rounds(BY_PROCESS) {
        let (old, new) = (format!("{number}: {count}\n"), format!("{number}: {}\n", count + 1));
        loop {
            match edit(&session, "counts", &old, &new) {
                Ok(_) => break,
                Err(error) => assert_eq!(error.code(), Code::FsStaleVersion, "{error}"),
            }
        }
    }
    actor::tell("counted");
}
