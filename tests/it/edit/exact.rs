//! Whatever the bytes are, an edit changes those it says and nothing else.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proptest::prelude::{ProptestConfig, Strategy, any};
use proptest::test_runner::TestRunner;
use ringfence::{Code, Effect as Did, Matches, Outcome, Session};
use rustix::fs::{Mode, XattrFlags};

use super::request;
use crate::effort::rounds;
use crate::support::{Tree, each_session_on, file};

const CASES: usize = 150;

/// What texts are made of: all ways to end a line, chars of each length, and a mark.
const PIECES: [&str; 10] = ["a", "b", " ", "é", "€", "😀", "\n", "\r\n", "\r", "\u{feff}"];

fn text(most: usize) -> impl Strategy<Value = String> {
    let pieces = proptest::collection::vec(0..PIECES.len(), 0..=most);
    pieces.prop_map(|pieces| pieces.into_iter().map(|piece| PIECES[piece]).collect())
}

/// Calls `test` with values that `strategy` makes, some times over.
fn some<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>, test: impl Fn(T)) {
    let cases = u32::try_from(rounds(CASES)).unwrap();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let run = TestRunner::new(config).run(&strategy, |value| {
        test(value);
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}

/// All about a file that a replacement keeps.
fn kept(path: &Path) -> (u32, u32, u32, Option<Vec<u8>>) {
    let meta = path.metadata().unwrap();
    let mut value = [0; 16];
    let tag = rustix::fs::getxattr(path, "user.tag", &mut value[..]).ok();
    (meta.mode(), meta.uid(), meta.gid(), tag.map(|length| value[..length].to_vec()))
}

fn attempt(session: &Session, old: &str, new: &str) -> Result<Did, Code> {
    match session.perform(request("f", old, new, Matches::One)) {
        Ok(Outcome::Written { receipt, replaced: Some(1), .. }) => Ok(receipt.effect),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.code()),
    }
}

/// The text with no word of how its lines end: a newline takes the form of those around it, and
/// makes a pair with a carriage return that stands alone before it.
fn without_returns(text: &[u8]) -> String {
    String::from_utf8(text.to_vec()).unwrap().replace('\r', "")
}

#[test]
fn every_byte_outside_the_change_stays_and_so_does_what_else_a_file_has() {
    each_session_on(&Tree::inside([file("f", "")]), |stage, session| {
        let path = stage.root().join("f");
        rustix::fs::chmod(&path, Mode::from_raw_mode(0o640)).unwrap();
        // Where the file system has none, there is none to keep.
        let _: rustix::io::Result<()> =
            rustix::fs::setxattr(&path, "user.tag", b"kept", XattrFlags::empty());
        let has = kept(&path);
        let parts = (any::<bool>(), text(40), text(6), text(40), text(8));
        some(parts, |(marked, before, within, after, new)| {
            // What is to be found is there once.
            let old = format!("<{within}>");
            let bom = if marked { "\u{feff}" } else { "" };
            let start = format!("{bom}{before}");
            std::fs::write(&path, format!("{start}{old}{after}")).unwrap();
            let edited = attempt(session, &old, &new);
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(edited, Ok(Did::Replaced), "{old:?}");
            assert!(bytes.starts_with(start.as_bytes()), "{start:?} {bytes:?}");
            assert!(bytes.ends_with(after.as_bytes()), "{after:?} {bytes:?}");
            let changed = &bytes[start.len()..bytes.len() - after.len()];
            assert_eq!(without_returns(changed), without_returns(new.as_bytes()), "{new:?}");
            assert_eq!(kept(&path), has);
        });
    });
}

#[test]
fn bytes_that_are_no_text_are_refused_and_stay() {
    let wrong = ["\u{80}", "é", "€", "😀"].map(str::as_bytes);
    each_session_on(&Tree::inside([file("f", "")]), |stage, session| {
        let path = stage.root().join("f");
        let parts = (text(20), 0..wrong.len(), text(20));
        some(parts, |(before, which, after)| {
            // A char without its first byte, which no other byte can stand for.
            let bytes = [before.as_bytes(), &wrong[which][1..], after.as_bytes()].concat();
            std::fs::write(&path, &bytes).unwrap();
            let picture = stage.snapshot();
            for (old, new) in [("a", "b"), ("not in it", ""), ("", "")] {
                assert_eq!(attempt(session, old, new), Err(Code::FsNotText));
            }
            stage.assert_unchanged(&picture);
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        });
    });
}
