//! What a session says of a call beforehand, and that the call then comes to just that.

mod rules;
mod table;

use std::path::{Path, PathBuf};

use ringfence::{
    Code, Edit, Error, Matches, Op, Outcome, Parents, Precondition, Removal, Request, Session,
    Verdict, Why,
};

/// The operations that can be asked about.
pub(crate) const OPS: [Op; 8] =
    [Op::Read, Op::List, Op::Write, Op::Edit, Op::CreateDir, Op::Remove, Op::Rename, Op::Symlink];

/// The call that stands for `op`.
pub(crate) fn call(op: Op, path: &str) -> Request {
    let (path, when) = (PathBuf::from(path), Precondition::None);
    match op {
        Op::Read => Request::Read { path },
        Op::List => Request::List { path },
        Op::Write => {
            Request::Write { path, contents: b"written".to_vec(), when, parents: Parents::Create }
        }
        Op::Edit => {
            let (old, new, matches) = ("o".to_owned(), "0".to_owned(), Matches::All);
            Request::Edit { path, edit: Edit { old, new, matches }, seen: None }
        }
        Op::CreateDir => Request::CreateDir { path, parents: Parents::Require },
        Op::Remove => Request::Remove { path, what: Removal::File },
        Op::Rename => Request::Rename { to: beside(&path), from: path, when: Precondition::Absent },
        Op::Symlink => Request::Symlink { path, text: "nowhere".into() },
        Op::ReadText | Op::Stat | Op::Run | _ => panic!("{op:?} is not asked about"),
    }
}

fn beside(path: &Path) -> PathBuf {
    match path.file_name() {
        Some(_) => path.with_file_name("beside"),
        None => "beside".into(),
    }
}

/// What is said of `request`, if it is one that stands for its operation.
#[expect(clippy::wildcard_enum_match_arm, reason = "any other stands for no operation")]
pub(crate) fn said(session: &Session, request: &Request) -> Option<Why> {
    let path = request.paths().next().unwrap();
    let stands_for_it = match request {
        Request::Read { .. } | Request::List { .. } | Request::Edit { .. } => true,
        Request::Write { when: Precondition::None, parents: Parents::Create, .. }
        | Request::CreateDir { parents: Parents::Require, .. }
        | Request::Remove { what: Removal::File, .. } => true,
        Request::Rename { from, to, when: Precondition::Absent } => *to == beside(from),
        Request::Symlink { text, .. } => text == Path::new("nowhere"),
        _ => false,
    };
    stands_for_it.then(|| session.why(request.op(), path).unwrap())
}

/// Whether `answer` is what was said.
pub(crate) fn agrees(why: &Why, answer: &Result<Outcome, Error>) -> Result<(), String> {
    let (verdict, error) = match answer {
        Ok(_) | Err(Error::EditNotFound { .. }) => (Verdict::Allowed, None),
        Err(error) if error.code() == Code::FsSandboxDenied => {
            (Verdict::Denied, Some(error.to_string()))
        }
        Err(error) => {
            let (code, reason) = (error.code(), error.reason());
            (Verdict::Fails { code, reason }, Some(error.to_string()))
        }
    };
    // What has been done on the way is of the change alone.
    let error = error.map(|text| text.replace("; a part of it was done, and remains", ""));
    match (why.verdict, &why.error) == (verdict, &error) {
        true => Ok(()),
        false => Err(format!("{why:?} was said, and it answered {answer:?}")),
    }
}
