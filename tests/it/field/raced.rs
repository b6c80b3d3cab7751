//! Others who work in the same places at the same time.

use std::io::Write as _;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use ringfence::{Code, Edit, Matches, Parents, Request, Session};
use rustix::fs::CWD;

use super::{edit, names_in, read, write};
use crate::effort::rounds;
use crate::support::{Stage, Tree, dir, each_session_on, file, link, open_dir, while_exchanging};

const EDITS: usize = 100;
const ROUNDS: usize = 50;

#[test]
fn what_somebody_has_added_since_it_was_read_is_not_lost() {
    each_session_on(&Tree::inside([file("f", "old\n")]), |stage, session| {
        let path = stage.root().join("f");
        let seen = read(session, "f").version;
        let mut person = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        person.write_all(b"mine\n").unwrap();
        let edit = Edit { old: "old".into(), new: "new".into(), matches: Matches::One };
        let request = Request::Edit { path: "f".into(), edit, seen: Some(seen) };
        let error = session.perform(request).unwrap_err();
        assert_eq!(error.code(), Code::FsStaleVersion, "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old\nmine\n");
    });
}

#[test]
fn two_who_edit_one_file_lose_nothing() {
    each_session_on(&Tree::inside([file("f", "a 0\nb 0\n")]), |stage, session| {
        let all = rounds(EDITS);
        let count = |who: &str| {
            for number in 0..all {
                let (old, new) = (format!("{who} {number}\n"), format!("{who} {}\n", number + 1));
                while let Err(error) = edit(session, "f", &old, &new) {
                    assert_eq!(error.code(), Code::FsStaleVersion, "{error}");
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| count("a"));
            count("b");
        });
        let text = std::fs::read_to_string(stage.root().join("f")).unwrap();
        assert_eq!(text, format!("a {all}\nb {all}\n"));
    });
}

/// Runs `round` on each fence while `d` and a link to outside change places. It gets the path of
/// the directory that is really `d`, wherever that is, and tells whether it made its change.
fn each_raced(round: impl Fn(&Session, &PathBuf, usize) -> bool) {
    let tree = Tree::inside([dir("d"), link("l", "../out")]).outside([dir("out")]);
    each_session_on(&tree, |stage: &Stage, session| {
        let [d, l] = ["d", "l"].map(|name| stage.root().join(name));
        let real = open_dir(CWD, &d).unwrap();
        let real = PathBuf::from(format!("/proc/self/fd/{}", real.as_raw_fd()));
        let mut number = 0;
        while_exchanging(&d, &l, rounds(ROUNDS), || {
            number += 1;
            let made = round(session, &real, number);
            assert_eq!(names_in(&stage.base().join("out")), [""; 0]);
            made
        });
    });
}

#[test]
fn a_write_lands_in_the_real_directory_or_fails() {
    each_raced(|session, real, number| {
        let text = number.to_string();
        let made = write(session, "d/f", &text);
        if made.is_ok() {
            assert_eq!(std::fs::read_to_string(real.join("f")).unwrap(), text);
        }
        made.is_ok()
    });
}

#[test]
fn no_parent_is_made_outside_while_one_is_exchanged() {
    each_raced(|session, real, number| {
        let made = if number % 2 == 0 {
            write(session, "d/a/b/c/f", "new").is_ok()
        } else {
            let (path, parents) = ("d/a/b/c/f".into(), Parents::Create);
            session.perform(Request::CreateDir { path, parents }).is_ok()
        };
        if made {
            assert!(real.join("a/b/c/f").exists());
        }
        // What was refused may have got as far as some of the parents.
        if real.join("a").exists() {
            std::fs::remove_dir_all(real.join("a")).unwrap();
        }
        made
    });
}
