//! A file that never stands still is read and changed a bounded number of times, and no more.

use ringfence::{Edit, Matches, Outcome, Request};

use crate::actor;
use crate::strace::{self, Traced};
use crate::support::{Stage, Tree, file, offered, session_in, this_test};

/// What a call does to the file: it is read, or a word of it is replaced.
fn plays(part: &str, words: &[String]) {
    let kind = offered()[words[1].parse::<usize>().unwrap()];
    let session = session_in(words[0].as_ref(), kind);
    let path = "f".into();
    let request = match part {
        "read" => Request::ReadText { path },
        _ => Request::Edit {
            path,
            edit: Edit { old: "old".into(), new: "new".into(), matches: Matches::One },
            seen: None,
        },
    };
    actor::tell(match session.perform(request) {
        Ok(Outcome::Text { text, .. }) => text.text,
        Ok(outcome) => format!("{outcome:?}"),
        Err(error) => format!("{:?}", error.code()),
    });
}

/// The part on a kernel that answers for the stamp of the file as `answers` say.
fn on_a_kernel_that(answers: Option<&str>, test: &str, part: &str, kind: usize) -> Traced {
    let stage = Stage::new(&Tree::inside([file("f", "old")]));
    let path = stage.root().join("f");
    let answers = answers.map(|answers| format!("--inject=fstat:{answers}"));
    let options = ["-P", path.to_str().unwrap(), "-e", "trace=fstat"].into_iter();
    let options: Vec<_> = options.chain(answers.as_deref()).collect();
    let traced =
        strace::run(&options, test, part, &[stage.root().to_str().unwrap(), &kind.to_string()]);
    let left = std::fs::read_to_string(path).unwrap();
    assert_eq!(left, "old", "nothing is written over what was not read");
    traced
}

/// Every second answer, which is the one after the reading, names another device.
const MOVES: &str = "poke_exit=@arg2=ff:when=2+2";
/// The file that is open is never the one that the fence finds.
const IS_ANOTHER: &str = "poke_exit=@arg2=ff";

#[test]
fn a_text_that_changes_while_it_is_read_is_read_three_times_and_told() {
    let test = this_test!();
    if let Some((part, words)) = actor::part() {
        return plays(&part, &words);
    }
    if !strace::is_there(test) {
        return;
    }
    for kind in 0..offered().len() {
        let still = on_a_kernel_that(None, test, "read", kind);
        assert_eq!((&*still.said, still.count("fstat")), ("old", 2), "before and after");
        let moves = on_a_kernel_that(Some(MOVES), test, "read", kind);
        assert_eq!((&*moves.said, moves.count("fstat")), ("old", 3 * 2));
    }
}

#[test]
fn an_edit_that_others_are_always_faster_than_is_tried_sixteen_times() {
    let test = this_test!();
    if let Some((part, words)) = actor::part() {
        return plays(&part, &words);
    }
    if !strace::is_there(test) {
        return;
    }
    for kind in 0..offered().len() {
        let traced = on_a_kernel_that(Some(IS_ANOTHER), test, "edit", kind);
        assert_eq!((&*traced.said, traced.count("fstat")), ("FsStaleVersion", 16 * 2));
    }
}
