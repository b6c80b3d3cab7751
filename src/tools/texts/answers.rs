//! What a model is told of what was done or found.

use ringfence_platform::Lost;

use super::super::answer::{Answer, Change, Found, Listed, Operation};
use super::super::listing::Page;
use super::super::window::{End, Window};
use super::commands;
use super::failures::Standing;

/// What is shown where a line has more than `chars` chars.
pub(in super::super) fn cut_mark(chars: usize) -> String {
    format!("... [line cut after {chars} chars]")
}

/// What was done or found. Paths and names are quoted, so that nothing in them can be taken for
/// anything else.
pub(in super::super) fn answer(answer: &Answer, standing: Standing) -> String {
    match answer {
        Answer::Lines { path, window } => format!("file {path:?}\n{}", lines(window)),
        Answer::Change(change) => changed(change),
        Answer::Entries { path, page } => format!("directory {path:?}\n{}", entries(page)),
        Answer::Ran { job, ran } => commands::ended(job.as_deref(), ran, standing),
        Answer::Started { job } => commands::started(job),
        Answer::Running { job, stdout, stderr } => commands::running(job, stdout, stderr),
    }
}

fn lines(window: &Window) -> String {
    let Window { offset, lines, total, end } = window;
    let last = offset - 1 + lines.len() as u64;
    let range = format!("lines {offset} to {last} of {total}");
    let next = last + 1;
    let footer = match end {
        End::Bytes => format!("[{range}, no more fit in one answer; go on with offset {next}]"),
        End::Lines => format!("[{range}; go on with offset {next}]"),
        End::File => format!("[end of file: {} in all]", count(*total, "line", "lines")),
    };
    let lines = lines.iter().map(|line| format!("{:>6}\t{}\n", line.number, line.text));
    lines.chain([footer]).collect()
}

fn entries(page: &Page) -> String {
    let Page { offset, entries, total } = page;
    let last = page.last();
    let footer = if last < *total {
        format!("[entries {offset} to {last} of {total}; go on with offset {}]", last + 1)
    } else {
        format!("[end of directory: {} in all]", count(*total, "entry", "entries"))
    };
    entries.iter().map(entry).chain([footer]).collect()
}

fn entry(Listed { name, kind }: &Listed) -> String {
    let size = match kind {
        Found::File { size } => format!(", {}", count(*size, "byte", "bytes")),
        Found::Directory | Found::Other => String::new(),
    };
    format!("{:<9}  {name:?}{size}\n", kind.as_str())
}

fn changed(Change { path, operation, replaced, not_kept, diff: _ }: &Change) -> String {
    let places = replaced.map(|replaced| count(replaced as u64, "place", "places"));
    let done = match (operation, places) {
        (Operation::Create, _) => format!("created the file {path:?}"),
        (Operation::Update, None) => format!("updated the file {path:?}"),
        (Operation::Update, Some(places)) => format!("updated the file {path:?} in {places}"),
        (Operation::Unchanged, _) => {
            format!("the file {path:?} is unchanged: it has just this content already")
        }
    };
    if not_kept.is_empty() {
        return done;
    }
    let lost: Vec<_> = not_kept.iter().map(lost).collect();
    format!("{done}\nnot kept of the file before: {}", lost.join(", "))
}

/// The stable token, and what it means where that is more than it says.
fn lost(lost: &Lost) -> String {
    let token = lost.to_string();
    let token = token.escape_debug();
    match lost {
        Lost::HardLink(names) => {
            let names = count(*names, "other name has", "other names have");
            format!("{token} ({names} the content before)")
        }
        Lost::Owner
        | Lost::Group
        | Lost::Xattr(_)
        | Lost::Acl
        | Lost::Label
        | Lost::Setid
        | Lost::Capability
        | _ => token.to_string(),
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
