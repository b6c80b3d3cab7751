//! The same as the texts, for a program.

mod commands;
mod schema;

use serde_json::{Map, Value, json};

use crate::spelling::spelled;

use super::answer::{Answer, Change, Found, Listed};
use super::failure::Failure;
use super::listing::Page;
use super::window::{Line, Window};

pub(super) use commands::millis;
pub(super) use schema::of as schema;

/// What a tool did or found.
pub(super) fn answer(answer: &Answer) -> Value {
    match answer {
        Answer::Lines { path, window: Window { offset, lines, total, .. } } => {
            let lines: Vec<_> = lines
                .iter()
                .map(|Line { number, text }| json!({ "number": number, "text": text }))
                .collect();
            let mut object = spelled("path", path.as_os_str().as_encoded_bytes());
            object.insert("offset".into(), (*offset).into());
            object.insert("lines".into(), lines.into());
            object.insert("totalLines".into(), (*total).into());
            object.into()
        }
        Answer::Change(Change { path, operation, replaced, not_kept, diff }) => {
            let not_kept: Vec<_> = not_kept.iter().map(ToString::to_string).collect();
            let mut object = spelled("path", path.as_os_str().as_encoded_bytes());
            object.insert("operation".into(), operation.as_str().into());
            object.extend(replaced.map(|count| ("replaced".to_owned(), count.into())));
            object.insert("notKept".into(), not_kept.into());
            object.extend(diff.as_ref().map(|diff| ("diff".to_owned(), json!(diff))));
            object.into()
        }
        Answer::Entries { path, page: Page { entries, total, .. } } => {
            let mut object = spelled("path", path.as_os_str().as_encoded_bytes());
            object.insert("entries".into(), entries.iter().map(listed).collect());
            object.insert("total".into(), (*total).into());
            object.into()
        }
        Answer::Ran { job, ran } => commands::ended(job.as_deref(), ran),
        Answer::Started { job } => commands::started(job),
        Answer::Running { job, stdout, stderr } => commands::running(job, stdout, stderr),
    }
}

/// Why a call failed.
pub(super) fn failure(failure: &Failure) -> Value {
    let mut object = Map::new();
    object.insert("code".into(), failure.code().as_str().into());
    object.extend(failure.reason().map(|reason| ("reason".to_owned(), reason.into())));
    object.into()
}

fn listed(Listed { name, kind }: &Listed) -> Value {
    let mut object = spelled("name", name.as_encoded_bytes());
    object.insert("kind".into(), kind.as_str().into());
    match kind {
        Found::File { size } => {
            object.insert("size".into(), (*size).into());
        }
        Found::Directory | Found::Other => {}
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use ringfence_platform::{ErrorKind, Lost};

    use super::super::answer::Operation;
    use super::super::arguments::Unpaired;
    use super::super::tool::Tool;
    use super::super::window::End;
    use super::*;
    use crate::error::Error;
    use crate::request::Op;

    #[test]
    fn lines_have_their_numbers_and_the_total() {
        let lines = vec![Line { number: 3, text: "c\r".into() }];
        let window = Window { offset: 3, lines, total: 9, end: End::Lines };
        assert_eq!(
            answer(&Answer::Lines { path: "/ws/a\n".into(), window }),
            json!({
                "path": "/ws/a\n",
                "offset": 3,
                "lines": [{ "number": 3, "text": "c\r" }],
                "totalLines": 9,
            })
        );
    }

    #[test]
    fn a_change_names_what_it_did_and_what_it_lost() {
        let lost = vec![Lost::Owner, Lost::Xattr("user.a".into()), Lost::HardLink(2)];
        let change = |operation, replaced, not_kept| {
            let (path, diff) = ("/ws/a".into(), None);
            answer(&Answer::Change(Change { path, operation, replaced, not_kept, diff }))
        };
        assert_eq!(
            change(Operation::Update, Some(2), lost),
            json!({
                "path": "/ws/a",
                "operation": "update",
                "replaced": 2,
                "notKept": ["owner", "xattr:user.a", "hard_link"],
            })
        );
        for (operation, token) in
            [(Operation::Create, "create"), (Operation::Unchanged, "unchanged")]
        {
            let expected = json!({ "path": "/ws/a", "operation": token, "notKept": [] });
            assert_eq!(change(operation, None, Vec::new()), expected);
        }
    }

    #[test]
    fn an_entry_has_a_size_only_if_it_is_a_file() {
        let entries = [Found::File { size: 0 }, Found::Directory, Found::Other]
            .map(|kind| Listed { name: "a".into(), kind });
        let page = Page { offset: 1, entries: entries.into(), total: 4 };
        assert_eq!(
            answer(&Answer::Entries { path: "/ws".into(), page }),
            json!({
                "path": "/ws",
                "entries": [
                    { "name": "a", "kind": "file", "size": 0 },
                    { "name": "a", "kind": "directory" },
                    { "name": "a", "kind": "other" },
                ],
                "total": 4,
            })
        );
    }

    #[test]
    fn a_failure_has_its_code_and_a_reason_where_there_is_one() {
        let failed = |kind| {
            let error = Error::Failed { op: Op::Edit, path: "/ws/a".into(), kind, source: None };
            Failure::Refused { tool: Tool::Edit, path: "a".into(), error }
        };
        let expected = json!({ "code": "FS_IO_ERROR", "reason": "loop" });
        assert_eq!(failure(&failed(ErrorKind::Loop)), expected);
        assert_eq!(failure(&failed(ErrorKind::Stale)), json!({ "code": "FS_STALE_VERSION" }));
        let why = Unpaired::Blank;
        assert_eq!(
            failure(&Failure::Unpaired { tool: Tool::Edit, why }),
            json!({ "code": "SANDBOX_ESCALATION_INVALID", "reason": "blank_justification" })
        );
    }
}
