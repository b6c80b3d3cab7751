//! What differs between two texts, line by line, found within a deadline. Pure, but for the clock.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use serde::Serialize;
use similar::algorithms::{Capture, Compact, DiffHook as _, Replace, diff_deadline};
use similar::{Algorithm, DiffOp, DiffTag};

use super::decode::decode;
use crate::spelling::Visible;

/// How many lines are shown before and after a change.
const CONTEXT: usize = 3;

/// How many lines are read between two looks at the clock.
const LINES_A_LOOK: usize = 1_024;

/// What is written behind a last line that does not end, as diff(1) does.
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// How much may be spent on a diff.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DiffLimits {
    /// The most bytes that either side may have; 10 MiB by default.
    pub max_bytes: usize,
    /// How long the search may take; 50 ms by default. Reading the texts and writing down what was
    /// found come on top, in time that grows with their size alone.
    pub deadline: Duration,
}

impl Default for DiffLimits {
    fn default() -> Self {
        Self { max_bytes: 10 * 1_024 * 1_024, deadline: Duration::from_millis(50) }
    }
}

/// What differs between two texts.
///
/// A line ends at a line feed, which is part of it, as is a carriage return before it. Nothing is
/// altered or left out where the texts differ, so either can be made of the other. `Display` gives
/// the unified form for people: there, characters that a terminal would act on or not show are
/// escaped, so it is not to be parsed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// The places that differ, in order, each with at most three lines before and after it.
    pub hunks: Vec<Hunk>,
    /// Whether the search took too long: then there is one hunk, with all lines between those
    /// that both texts begin and those that both end with.
    pub coarse: bool,
}

/// One place that differs, with the lines around it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Hunk {
    /// Where it is in the text before.
    pub before: Lines,
    /// Where it is in the text after.
    pub after: Lines,
    /// What is there, in order.
    pub parts: Vec<Part>,
}

/// A run of lines of one text.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Lines {
    /// The number of the first, from 1; of no lines, that of the one before.
    pub first: usize,
    /// How many there are.
    pub count: usize,
}

/// Whole lines that are in one of the texts or in both, to the byte.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", content = "text", rename_all = "snake_case")]
pub enum Part {
    /// In both.
    Same(String),
    /// In the text before.
    Removed(String),
    /// In the text after.
    Added(String),
}

impl Diff {
    /// Tells what differs between the bytes of a whole file and the text that comes after them.
    ///
    /// There is no diff if one of them has too many bytes, or the bytes are no text: not UTF-8, or
    /// with a NUL near their start. A byte order mark is part of the first line. It always ends in
    /// about the time that `limits` allows, whatever the texts are.
    #[must_use]
    pub fn between(before: &[u8], after: &str, limits: DiffLimits) -> Option<Self> {
        by_clock(before, after, limits, Instant::now)
    }
}

fn by_clock(
    before: &[u8],
    after: &str,
    limits: DiffLimits,
    clock: impl Fn() -> Instant,
) -> Option<Diff> {
    if before.len().max(after.len()) > limits.max_bytes {
        return None;
    }
    // A deadline beyond all time is none.
    let end = clock().checked_add(limits.deadline);
    let texts = Texts::new(decode(before).ok()?, after);
    let found = texts.search(end, || end.is_some_and(|end| clock() >= end));
    let coarse = found.is_none();
    let changes = found.unwrap_or_else(|| vec![texts.middle()]);
    Some(Diff { hunks: texts.hunks(&changes), coarse })
}

/// Two texts, and how much of them is the same at their ends, in bytes and in whole lines.
struct Texts<'a> {
    before: &'a str,
    after: &'a str,
    head: usize,
    tail: usize,
}

/// Lines, counted from 0, that come in the place of others.
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

impl<'a> Texts<'a> {
    fn new(before: &'a str, after: &'a str) -> Self {
        let mut texts = Self { before, after, head: 0, tail: 0 };
        if before == after {
            texts.head = before.len();
            return texts;
        }
        let (old, new) = (before.as_bytes(), after.as_bytes());
        let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        texts.head = old[..same].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);

        let (old, new) = (&old[texts.head..], &new[texts.head..]);
        let same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let begins_line = |text: &[u8]| text.len() == same || text[text.len() - same - 1] == b'\n';
        let tail = &old[old.len() - same..];
        // The line in which they become the same is another one in each, unless it begins there.
        let newline = tail.iter().position(|&byte| byte == b'\n');
        let cut = newline.map_or(same, |newline| newline + 1);
        texts.tail = if begins_line(old) && begins_line(new) { same } else { same - cut };
        texts
    }

    /// The lines between those ends, of each text.
    fn middles(&self) -> [&'a str; 2] {
        [self.before, self.after].map(|text| &text[self.head..text.len() - self.tail])
    }

    /// All of them as one change.
    fn middle(&self) -> Change {
        let first = count(&self.before[..self.head]);
        let [old, new] = self.middles().map(|lines| first..first + count(lines));
        Change { old, new }
    }

    /// The changes; nothing if the time is up before they are found.
    fn search(&self, end: Option<Instant>, is_up: impl Fn() -> bool) -> Option<Vec<Change>> {
        let [old, new] = self.middles();
        if old.is_empty() && new.is_empty() {
            return Some(Vec::new());
        }
        if old.is_empty() || new.is_empty() {
            return Some(vec![self.middle()]);
        }
        // Numbers are compared in no time, however long the lines are and however alike.
        let mut numbers = HashMap::new();
        let old = numbered(old, &mut numbers, &is_up)?;
        let new = numbered(new, &mut numbers, &is_up)?;
        drop(numbers);
        let (old, new) = (&old[..], &new[..]);
        let (olds, news) = (0..old.len(), 0..new.len());
        let mut found = Capture::new();
        let Ok(()) = diff_deadline(Algorithm::Myers, &mut found, old, olds, new, news, end);
        // A search that was ended gives what it has, which may be anything.
        if is_up() {
            return None;
        }
        let first = count(&self.before[..self.head]);
        let shifted = |lines: Range<usize>| first + lines.start..first + lines.end;
        let ops = tidied(found.ops(), old, new).into_iter();
        let changes = ops.filter(|op| op.tag() != DiffTag::Equal);
        let change =
            |op: DiffOp| Change { old: shifted(op.old_range()), new: shifted(op.new_range()) };
        Some(changes.map(change).collect())
    }

    /// The changes with the lines around them.
    fn hunks(&self, changes: &[Change]) -> Vec<Hunk> {
        let (mut old, mut new) = (Cursor::at_start(self.before), Cursor::at_start(self.after));
        changes
            .chunk_by(|one, next| next.old.start - one.old.end <= 2 * CONTEXT)
            .map(|changes| hunk(changes, &mut old, &mut new))
            .collect()
    }
}

/// The same changes where people would have made them, those that touch as one.
fn tidied(ops: &[DiffOp], old: &[usize], new: &[usize]) -> Vec<DiffOp> {
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = ops.iter().try_for_each(|op| op.apply_to_hook(&mut hook));
    let Ok(()) = hook.finish();
    hook.into_inner().into_inner().into_ops()
}

fn hunk(changes: &[Change], old: &mut Cursor<'_>, new: &mut Cursor<'_>) -> Hunk {
    let lead = changes[0].old.start.min(CONTEXT);
    old.skip_to(changes[0].old.start - lead);
    new.skip_to(changes[0].new.start - lead);
    let starts = (old.line, new.line);
    let mut parts = Vec::new();
    for change in changes {
        parts.push(Part::Same(old.take(change.old.start - old.line).to_owned()));
        new.skip_to(change.new.start);
        parts.push(Part::Removed(old.take(change.old.len()).to_owned()));
        parts.push(Part::Added(new.take(change.new.len()).to_owned()));
    }
    parts.push(Part::Same(old.take(CONTEXT).to_owned()));
    new.take(CONTEXT);
    parts.retain(|part| !part.text().is_empty());
    Hunk { before: Lines::of(starts.0..old.line), after: Lines::of(starts.1..new.line), parts }
}

/// A place between two lines of a text.
struct Cursor<'a> {
    rest: &'a str,
    /// How many lines are before it.
    line: usize,
}

impl<'a> Cursor<'a> {
    fn at_start(text: &'a str) -> Self {
        Self { rest: text, line: 0 }
    }

    /// Goes on by `lines`, or as many as there are, and gives them.
    fn take(&mut self, lines: usize) -> &'a str {
        let bytes = self.rest.bytes().enumerate();
        let mut ends = bytes.filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1);
        let end = if lines == 0 { Some(0) } else { ends.nth(lines - 1) };
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.line += if end.is_some() { lines } else { count(taken) };
        self.rest = rest;
        taken
    }

    fn skip_to(&mut self, line: usize) {
        self.take(line - self.line);
    }
}

/// How many lines `text` has.
fn count(text: &str) -> usize {
    let ended = text.bytes().filter(|&byte| byte == b'\n').count();
    ended + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The number of each line, which is the same for the same lines; nothing if the time is up.
fn numbered<'a>(
    text: &'a str,
    numbers: &mut HashMap<&'a str, usize>,
    is_up: impl Fn() -> bool,
) -> Option<Vec<usize>> {
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        if lines.len() % LINES_A_LOOK == 0 && is_up() {
            return None;
        }
        let next = numbers.len();
        lines.push(*numbers.entry(line).or_insert(next));
    }
    Some(lines)
}

impl Lines {
    fn of(range: Range<usize>) -> Self {
        Self { first: range.start + usize::from(!range.is_empty()), count: range.len() }
    }
}

impl Part {
    /// The lines.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Same(text) | Self::Removed(text) | Self::Added(text) => text,
        }
    }

    fn mark(&self) -> char {
        match self {
            Self::Same(_) => ' ',
            Self::Removed(_) => '-',
            Self::Added(_) => '+',
        }
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hunks.iter().try_for_each(|hunk| hunk.fmt(f))
    }
}

impl fmt::Display for Hunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after, parts } = self;
        writeln!(f, "@@ -{before} +{after} @@")?;
        for part in parts {
            for line in part.text().split_inclusive('\n') {
                let (shown, ended) = line.strip_suffix('\n').map_or((line, false), |l| (l, true));
                writeln!(f, "{}{}", part.mark(), Visible(shown))?;
                if !ended {
                    writeln!(f, "{NO_NEWLINE}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.first, self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::test_runner::Config;

    use super::*;

    /// A deadline that no test meets by the clock on the wall.
    const LONG: DiffLimits =
        DiffLimits { deadline: Duration::from_secs(1 << 20), max_bytes: 1 << 20 };

    fn between(before: &str, after: &str) -> Diff {
        Diff::between(before.as_bytes(), after, LONG).unwrap()
    }

    /// The other text, made of `text` and the diff; in both directions.
    fn applied(diff: &Diff, text: &str, forward: bool) -> String {
        let mut cursor = Cursor::at_start(text);
        let mut made = String::new();
        for hunk in &diff.hunks {
            let at = if forward { hunk.before } else { hunk.after };
            let start = at.first - usize::from(at.count > 0);
            made += cursor.take(start - cursor.line);
            for part in &hunk.parts {
                match (part, forward) {
                    (Part::Same(lines), _) => made += lines,
                    (Part::Added(lines), true) | (Part::Removed(lines), false) => made += lines,
                    (Part::Added(_), false) | (Part::Removed(_), true) => {}
                }
                if !matches!((part, forward), (Part::Added(_), true) | (Part::Removed(_), false)) {
                    assert_eq!(cursor.take(count(part.text())), part.text());
                }
            }
            assert_eq!(cursor.line, start + at.count);
        }
        made + cursor.rest
    }

    fn assert_tells_both(before: &str, after: &str, diff: &Diff) {
        assert_eq!(applied(diff, before, true), after, "{before:?}");
        assert_eq!(applied(diff, after, false), before, "{after:?}");
    }

    /// Tells the time, until it has been looked at `looks` times.
    fn clock(looks: usize) -> impl Fn() -> Instant {
        let (start, left) = (Instant::now(), Cell::new(looks));
        move || {
            left.set(left.get().saturating_sub(1));
            if left.get() > 0 { start } else { start + LONG.deadline }
        }
    }

    proptest::proptest! {
        #![proptest_config(Config { failure_persistence: None, ..Config::default() })]
        #[test]
        fn each_text_can_be_told_from_the_other(
            before in "([ab]?(\n|\r\n|\r)){0,20}(\u{feff}|\u{e9})?",
            after in "([ab]?(\n|\r\n|\r)){0,20}(\u{feff}|\u{e9})?",
            looks in 2..5_usize,
        ) {
            let diff = between(&before, &after);
            assert_tells_both(&before, &after, &diff);
            assert!(!diff.coarse);
            assert_eq!(diff.hunks.is_empty(), before == after);
            for Hunk { parts, .. } in &diff.hunks {
                for end in [parts.first(), parts.last()] {
                    let Some(Part::Same(lines)) = end else { continue };
                    assert!((1..=CONTEXT).contains(&count(lines)), "{lines:?}");
                }
            }
            let cut = by_clock(before.as_bytes(), &after, LONG, clock(looks)).unwrap();
            assert_tells_both(&before, &after, &cut);
        }
    }

    #[test]
    fn the_unified_form_is_that_of_diff() {
        let numbers = |skip: &str, to: &str| -> String {
            (1..=20).map(|n| format!("{n}\n").replace(skip, to)).collect()
        };
        let diff = between(&numbers("10\n", "10\n"), &numbers("10\n", "ten\r\nten\n"));
        let expected = "@@ -7,7 +7,8 @@\n 7\n 8\n 9\n-10\n+ten\\r\n+ten\n 11\n 12\n 13\n";
        assert_eq!(diff.to_string(), expected);
        let made = between("", "a\nb").to_string();
        assert_eq!(made, "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
        let ended = between("a", "a\n").to_string();
        let expected = "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n";
        assert_eq!(ended, expected);
        assert_eq!(between("a\n", "").to_string(), "@@ -1,1 +0,0 @@\n-a\n");
    }

    #[test]
    fn changes_far_apart_are_hunks_of_their_own() {
        let lines = |changed: [usize; 2]| -> String {
            let line = |n| if changed.contains(&n) { "x\n".into() } else { format!("{n}\n") };
            (1..=30).map(line).collect()
        };
        for (second, expected) in [(16, vec![(6, 14)]), (17, vec![(6, 7), (14, 7)])] {
            let diff = between(&lines([0, 0]), &lines([9, second]));
            let places: Vec<_> = diff.hunks.iter().map(|hunk| hunk.before).collect();
            let places: Vec<_> = places.iter().map(|lines| (lines.first, lines.count)).collect();
            assert_eq!(places, expected, "lines 9 and {second}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_shown_and_stays_in_the_data() {
        let after = "\u{feff}a\tb\u{1b}[2J\u{202e}\u{200d}\u{e9}\r\r\n\\n\n";
        let diff = between("", after);
        assert_eq!(diff.hunks[0].parts, [Part::Added(after.into())]);
        let line = "\\u{feff}a\tb\\u{1b}[2J\\u{202e}\u{200d}\u{e9}\\r\\r";
        assert_eq!(diff.to_string(), format!("@@ -0,0 +1,2 @@\n+{line}\n+\\n\n"));
    }

    #[test]
    fn a_changed_line_end_or_mark_is_a_change() {
        for (before, after) in [("a\r\n", "a\n"), ("a\r", "a\n"), ("\u{feff}a\n", "a\n")] {
            let parts = [Part::Removed(before.into()), Part::Added(after.into())];
            assert_eq!(between(before, after).hunks[0].parts, parts);
        }
    }

    /// Each look at the clock is the last one, until the search needs no more of them.
    #[test]
    fn a_deadline_that_has_passed_gives_one_coarse_hunk() {
        let many = |end: &str| "same\n".repeat(LINES_A_LOOK) + end;
        let before = format!("1\n2\n3\n4\na\n{}b\n5\n6\n7\n8\n", many("x\n"));
        let after = format!("1\n2\n3\n4\nA\n{}B\n5\n6\n7\n8\n", many("y\n"));
        let by_looks = |looks| by_clock(before.as_bytes(), &after, LONG, clock(looks)).unwrap();
        let mut looks = 2;
        while by_looks(looks).coarse {
            let diff = by_looks(looks);
            let [hunk] = &diff.hunks[..] else { panic!("{} hunks", diff.hunks.len()) };
            let part = |first: &str, end, last: &str| format!("{first}\n{}{last}\n", many(end));
            let parts = [
                Part::Same("2\n3\n4\n".into()),
                Part::Removed(part("a", "x\n", "b")),
                Part::Added(part("A", "y\n", "B")),
                Part::Same("5\n6\n7\n".into()),
            ];
            assert_eq!(hunk.parts, parts);
            assert_tells_both(&before, &after, &diff);
            looks += 1;
        }
        // Twice for the lines of each text, and once after the search.
        assert_eq!(looks, 2 + 5, "looks at the clock");
        assert_eq!(by_looks(looks).hunks.len(), 2);
    }

    #[test]
    fn what_needs_no_search_is_never_coarse() {
        for (before, after) in [("a\nb\n", "a\n"), ("", "a"), ("a\nc\n", "a\nb\nc\n"), ("a", "a")] {
            let diff = by_clock(before.as_bytes(), after, LONG, clock(0)).unwrap();
            assert!(!diff.coarse, "{before:?} {after:?}");
            assert_tells_both(before, after, &diff);
        }
    }

    #[test]
    fn there_is_no_diff_of_what_is_too_large_or_no_text() {
        let limits = DiffLimits { max_bytes: 4, ..LONG };
        assert!(Diff::between(b"abcd", "1234", limits).is_some());
        assert_eq!(Diff::between(b"abcde", "1234", limits), None);
        assert_eq!(Diff::between(b"abcd", "12345", limits), None);
        assert_eq!(Diff::between(b"caf\xe9", "cafe", LONG), None);
        assert_eq!(Diff::between(b"a\0", "a", LONG), None);
    }

    #[test]
    fn a_program_is_told_the_same_as_a_person() {
        let json = serde_json::to_value(between("a\r\nb\n", "a\r\nc\n")).unwrap();
        let expected = serde_json::json!({
            "hunks": [{
                "before": { "first": 1, "count": 2 },
                "after": { "first": 1, "count": 2 },
                "parts": [
                    { "kind": "same", "text": "a\r\n" },
                    { "kind": "removed", "text": "b\n" },
                    { "kind": "added", "text": "c\n" },
                ],
            }],
            "coarse": false,
        });
        assert_eq!(json, expected);
    }
}
