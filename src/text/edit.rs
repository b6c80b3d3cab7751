//! A literal replacement in a text, exact to the byte. Pure.
//!
//! The file, the old text and the new text are matched with each CRLF seen as one newline, so it
//! does not matter which kind the caller wrote. What is not changed is never rewritten: neither its
//! line ends, nor what the old and the new text have in common.

use std::borrow::Cow;
use std::ops::Range;

use super::Unedited;
use super::decode::without_bom;
use super::read::check_size;

/// What is to be replaced by what.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Edit {
    /// The text to replace; literal.
    pub old: String,
    /// What replaces it; literal.
    pub new: String,
    /// Which of several matches are replaced.
    pub matches: Matches,
}

/// How many matches an edit may have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Matches {
    /// Exactly one.
    One,
    /// At least one, and all that do not overlap, from left to right.
    All,
}

/// An edited text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Edited {
    pub(crate) text: String,
    /// How many matches were replaced.
    pub(crate) replaced: usize,
}

/// Makes the edit in `all` of a file, if no more than `limit` bytes come of it. A mark before the
/// text is no part of it, and stays.
///
/// Takes time that grows with the lengths of the texts, before and after, and not with a product of
/// them. What comes of it is measured before there is memory for it.
pub(crate) fn replace(all: &str, edit: &Edit, limit: u64) -> Result<Edited, Unedited> {
    let (text, _) = without_bom(all);
    let mark = &all[..all.len() - text.len()];
    let (file, old, new) = (Seen::new(text)?, Seen::new(&edit.old)?, Seen::new(&edit.new)?);
    if old.text.is_empty() {
        return Err(Unedited::NotFound);
    }
    let replaced = match edit.matches {
        Matches::One => match count_overlapping(&file.text, &old.text)? {
            matches @ 2.. => return Err(Unedited::Ambiguous { matches }),
            matches => matches,
        },
        Matches::All => file.text.matches(&*old.text).count(),
    };
    if replaced == 0 {
        return Err(Unedited::NotFound);
    }

    let replacement = Replacement::of(&file, &old, &new);
    let size = replacement.size(all.len());
    check_size(size, limit)?;
    let mut out = String::new();
    out.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX))?;
    out.push_str(mark);
    replacement.write(text, &mut out);
    debug_assert_eq!(out.len() as u64, size, "it was measured as it is written");
    Ok(Edited { text: out, replaced })
}

/// A text with each CRLF as one newline, and where they were.
struct Seen<'a> {
    text: Cow<'a, str>,
    /// The offsets in `text` of the newlines that were CRLF, in order.
    crlf: Vec<usize>,
}

impl<'a> Seen<'a> {
    fn new(text: &'a str) -> Result<Self, Unedited> {
        let pairs = text.matches("\r\n").count();
        if pairs == 0 {
            return Ok(Self { text: Cow::Borrowed(text), crlf: Vec::new() });
        }
        let (mut seen, mut crlf) = (String::new(), Vec::new());
        seen.try_reserve_exact(text.len() - pairs)?;
        crlf.try_reserve_exact(pairs)?;
        let mut pieces = text.split("\r\n");
        seen.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            crlf.push(seen.len());
            seen.push('\n');
            seen.push_str(piece);
        }
        Ok(Self { text: Cow::Owned(seen), crlf })
    }

    /// Where in the original what is in `range` is.
    fn original(&self, range: &Range<usize>) -> Range<usize> {
        let original = |at| at + self.crlf.partition_point(|&newline| newline < at);
        original(range.start)..original(range.end)
    }

    fn is_crlf(&self, newline: usize) -> bool {
        self.crlf.binary_search(&newline).is_ok()
    }

    /// Of each newline in `range`, whether it was a CRLF.
    fn newlines(&self, range: Range<usize>) -> impl Iterator<Item = bool> {
        let newlines = self.text[range.clone()].match_indices('\n');
        newlines.map(move |(at, _)| self.is_crlf(range.start + at))
    }
}

/// The same text in place of a part of each match.
struct Replacement<'a> {
    file: &'a Seen<'a>,
    old: &'a str,
    /// How much at the start and the end of a match is no part of the change.
    prefix: usize,
    suffix: usize,
    new: &'a Seen<'a>,
    /// What of `new` is inserted.
    inserted: Range<usize>,
    /// How many newlines are in it, and how many of them were written as CRLF.
    newlines: usize,
    written_crlf: usize,
}

/// A range of the file as seen that is replaced.
struct Change {
    range: Range<usize>,
    /// Whether a newline near by is a CRLF. Says nothing where the range has newlines itself.
    nearby: Option<bool>,
}

impl<'a> Replacement<'a> {
    fn of(file: &'a Seen<'a>, old: &'a Seen<'a>, new: &'a Seen<'a>) -> Self {
        let (prefix, suffix) = common(&old.text, &new.text);
        let inserted = prefix..new.text.len() - suffix;
        let newlines = new.newlines(inserted.clone()).count();
        let written_crlf = new.newlines(inserted.clone()).filter(|is_crlf| *is_crlf).count();
        Self { file, old: &old.text, prefix, suffix, new, inserted, newlines, written_crlf }
    }

    /// Every change, from left to right.
    fn changes(&self) -> impl Iterator<Item = Change> {
        // Nobody asks for one where no newline is inserted.
        let mut nearby = (self.newlines > 0).then(|| Nearby::new(self.file));
        self.file.text.match_indices(self.old).map(move |(place, _)| {
            let range = place + self.prefix..place + self.old.len() - self.suffix;
            let newline = nearby.as_mut().and_then(|nearby| nearby.beyond(range.end));
            Change { range, nearby: newline.map(|newline| self.file.is_crlf(newline)) }
        })
    }

    /// How many bytes come of `before`, or more than can be counted.
    fn size(&self, before: usize) -> u64 {
        let (mut kept, mut inserted) = (before, 0_u64);
        for change in self.changes() {
            kept -= self.file.original(&change.range).len();
            inserted = inserted.saturating_add(self.inserted_by(&change) as u64);
        }
        inserted.saturating_add(kept as u64)
    }

    /// How many bytes are inserted at `change`: as [`insert`](Self::insert) does, without going
    /// through all of them.
    fn inserted_by(&self, change: &Change) -> usize {
        let (mut crlf, mut left, mut form) = (0, self.newlines, change.nearby);
        for is_crlf in self.file.newlines(change.range.clone()).take(self.newlines) {
            crlf += usize::from(is_crlf);
            left -= 1;
            form = Some(is_crlf);
        }
        let beyond = match form {
            Some(true) => left,
            Some(false) => 0,
            None => self.written_crlf,
        };
        self.inserted.len() + crlf + beyond
    }

    /// Puts the original, with every change made, behind what is in `out`.
    fn write(&self, original: &str, out: &mut String) {
        let mut copied = 0;
        for change in self.changes() {
            let replaced = self.file.original(&change.range);
            out.push_str(&original[copied..replaced.start]);
            self.insert(&change, out);
            copied = replaced.end;
        }
        out.push_str(&original[copied..]);
    }

    /// Puts what is inserted at `change` behind what is in `out`. Each newline has the form of its
    /// counterpart in the range, of the last one beyond that, of one near by, or as it was written.
    fn insert(&self, change: &Change, out: &mut String) {
        let mut lines = self.new.text[self.inserted.clone()].split('\n');
        out.push_str(lines.next().unwrap_or_default());
        let mut replaced = self.file.newlines(change.range.clone());
        let mut form = change.nearby;
        for (line, written) in lines.zip(self.new.newlines(self.inserted.clone())) {
            form = replaced.next().or(form);
            out.push_str(if form.unwrap_or(written) { "\r\n" } else { "\n" });
            out.push_str(line);
        }
    }
}

/// Finds a newline near each of some places, from left to right, and goes through the text once.
struct Nearby<'a> {
    text: &'a str,
    /// The last newline of all.
    last: Option<usize>,
    /// The first at or beyond the last place that was asked for.
    next: Option<usize>,
}

impl<'a> Nearby<'a> {
    fn new(file: &'a Seen<'_>) -> Self {
        Self { text: &file.text, last: file.text.rfind('\n'), next: None }
    }

    /// The first newline at or beyond `place`; where there is none, the last before it.
    fn beyond(&mut self, place: usize) -> Option<usize> {
        let last = self.last?;
        if last < place {
            return Some(last);
        }
        let find = || self.text[place..].find('\n').map(|at| place + at);
        self.next = self.next.filter(|&next| next >= place).or_else(find);
        self.next
    }
}

/// How many bytes at the start, and then of what remains at the end, are the same chars in both.
fn common(old: &str, new: &str) -> (usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let length = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(same).map(|(char, _)| char.len_utf8()).sum()
    };
    let prefix = length(&mut old.chars().zip(new.chars()));
    let (old, new) = (&old[prefix..], &new[prefix..]);
    (prefix, length(&mut old.chars().rev().zip(new.chars().rev())))
}

/// How many occurrences there are if overlapping ones count. In time that grows with the lengths
/// and not with their product, whatever the texts are (Knuth, Morris and Pratt); and with no memory
/// if there are fewer than two.
fn count_overlapping(text: &str, old: &str) -> Result<usize, Unedited> {
    if old.len() > text.len() {
        return Ok(0);
    }
    let Some(first) = text.find(old) else { return Ok(0) };
    let rest = &text[first + old.chars().next().map_or(0, char::len_utf8)..];
    let Some(second) = rest.find(old) else { return Ok(1) };

    let (rest, old) = (&rest.as_bytes()[second..], old.as_bytes());
    // For each length of a prefix of `old`, the longest shorter one that it ends in.
    let mut borders = Vec::new();
    borders.try_reserve_exact(old.len() + 1)?;
    borders.resize(old.len() + 1, 0);
    let longer = |borders: &[usize], mut matched: usize, byte: u8| {
        while matched == old.len() || old[matched] != byte {
            if matched == 0 {
                return 0;
            }
            matched = borders[matched];
        }
        matched + 1
    };
    for length in 1..old.len() {
        borders[length + 1] = longer(&borders, borders[length], old[length]);
    }
    let (mut count, mut matched) = (1, 0);
    for &byte in rest {
        matched = longer(&borders, matched, byte);
        count += usize::from(matched == old.len());
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::Config;

    use super::*;

    /// One newline for each CRLF.
    fn as_seen(text: &str) -> String {
        text.replace("\r\n", "\n")
    }

    /// Where in `text` what is at `at` as seen begins, by going there.
    fn place_of(text: &str, at: usize) -> usize {
        (0..=text.len())
            .filter(|place| text.is_char_boundary(*place))
            .find(|place| as_seen(&text[..*place]).len() == at && !cuts_a_pair(text, *place))
            .expect("it is in the text")
    }

    fn cuts_a_pair(text: &str, place: usize) -> bool {
        text[..place].ends_with('\r') && text[place..].starts_with('\n')
    }

    proptest::proptest! {
        #![proptest_config(Config { failure_persistence: None, ..Config::default() })]
        #[test]
        fn an_edit_changes_what_it_says_and_no_byte_around_it(
            before in "[ab\r\n\u{e9}]{0,12}",
            old in "[ab\n\u{e9}]{1,4}",
            after in "[ab\r\n\u{e9}]{0,12}",
            new in "[ab\n\u{e9}]{0,6}",
            crlf in proptest::bool::ANY,
        ) {
            let there = if crlf { old.replace('\n', "\r\n") } else { old.clone() };
            let text = format!("{before}{there}{after}");
            let seen = as_seen(&text);
            match replace(&text, &edit(&old, &new), u64::MAX) {
                Ok(done) => {
                    let (prefix, suffix) = common(&old, &new);
                    let place = seen.find(&old).expect("it was found");
                    let start = place_of(&text, place + prefix);
                    let end = place_of(&text, place + old.len() - suffix);
                    assert!(done.text.starts_with(&text[..start]));
                    assert!(done.text.ends_with(&text[end..]));
                    // A lone carriage return makes a pair with a newline that comes after it.
                    if !seen.contains('\r') {
                        assert_eq!(as_seen(&done.text), seen.replacen(&old, &new, 1));
                    }
                }
                Err(Unedited::Ambiguous { matches }) => assert!(matches > 1),
                Err(why) => assert!(!seen.contains(&old), "{why:?}"),
            }
        }
    }

    /// The chars of a text, with each CRLF as one.
    fn chars(text: &str) -> Vec<&str> {
        let mut chars: Vec<&str> = Vec::new();
        for (at, char) in text.char_indices() {
            match chars.last_mut() {
                Some(last) if *last == "\r" && char == '\n' => *last = "\r\n",
                _ => chars.push(&text[at..at + char.len_utf8()]),
            }
        }
        chars
    }

    /// All matches replaced, with a look at all of the text for each of them.
    fn by_looking_around(text: &str, old: &str, new: &str) -> (String, usize) {
        let same = |a: &str, b: &str| a == b || a.ends_with('\n') && b.ends_with('\n');
        let newline = |char: &&&str| char.ends_with('\n');
        let (text, old, new) = (chars(text), chars(old), chars(new));
        let prefix = old.iter().zip(&new).take_while(|(a, b)| same(a, b)).count();
        let rest = old[prefix..].iter().rev().zip(new[prefix..].iter().rev());
        let suffix = rest.take_while(|(a, b)| same(a, b)).count();
        let (mut out, mut at, mut replaced) = (String::new(), 0, 0);
        while at < text.len() {
            let there = text.get(at..at + old.len());
            if !there.is_some_and(|there| there.iter().zip(&old).all(|(a, b)| same(a, b))) {
                out += text[at];
                at += 1;
                continue;
            }
            let (start, end) = (at + prefix, at + old.len() - suffix);
            let counterparts: Vec<_> = text[start..end].iter().filter(newline).collect();
            let nearby = text[end..].iter().find(newline);
            let nearby = nearby.or_else(|| text[..start].iter().rfind(newline));
            out.extend(text[at..start].iter().copied());
            let mut number = 0;
            for char in &new[prefix..new.len() - suffix] {
                let form = counterparts.get(number).or(counterparts.last()).copied().or(nearby);
                number += usize::from(newline(&char));
                out += if newline(&char) { form.unwrap_or(char) } else { char };
            }
            out.extend(text[end..at + old.len()].iter().copied());
            (at, replaced) = (at + old.len(), replaced + 1);
        }
        (out, replaced)
    }

    proptest::proptest! {
        #![proptest_config(Config { failure_persistence: None, ..Config::default() })]
        #[test]
        fn all_matches_are_replaced_as_with_a_look_around_each_and_no_byte_over_the_limit(
            text in "[ab\r\n]{0,24}",
            old in "[ab\n]{0,1}[a\n]{1,2}",
            new in "[ab\n]{0,3}(\r\n|\n|b)?[ab\r\n]{0,3}",
            bom in proptest::bool::ANY,
        ) {
            let (expected, matches) = by_looking_around(&text, &old, &new);
            let mark = if bom { "\u{feff}" } else { "" };
            let (text, expected) = (format!("{mark}{text}"), format!("{mark}{expected}"));
            let size = expected.len() as u64;
            match replace(&text, &each(&old, &new), size) {
                Ok(done) => assert_eq!((done.text, done.replaced), (expected, matches)),
                Err(why) => assert!(matches!(why, Unedited::NotFound) && matches == 0, "{why:?}"),
            }
            if matches > 0 && size > 0 {
                let limit = size - 1;
                let why = replace(&text, &each(&old, &new), limit).unwrap_err();
                let Unedited::TooLarge { size: told, limit: most } = why else { panic!("{why:?}") };
                assert_eq!((told, most), (size, limit));
            }
        }
    }

    #[test]
    fn one_long_line_takes_no_longer_for_each_match_in_it() {
        const LENGTH: usize = 1 << 20;
        let line = "a".repeat(LENGTH);
        let (edited, replaced) = all(&line, "a", "b");
        assert!(edited == "b".repeat(LENGTH) && replaced == LENGTH);
        // A newline near by is looked for only where one is inserted.
        for (before, after) in [("\r\n", ""), ("", "\r\n")] {
            let (edited, replaced) = all(&format!("{before}{line}{after}"), "aaaa", "\n");
            let expected = format!("{before}{}{after}", "\r\n".repeat(LENGTH / 4));
            assert!(edited == expected && replaced == LENGTH / 4, "{before:?} {after:?}");
        }
    }

    #[test]
    fn what_would_be_larger_than_there_is_memory_for_is_measured_and_not_made() {
        let (text, new) = ("a\r\n".repeat(1 << 16), "b\n".repeat(1 << 19));
        let inserted = (1 << 16) * (new.len() as u64 + (1 << 19));
        let size = inserted + (1 << 17);
        let limit = 1 << 29;
        let why = replace(&text, &each("a", &new), limit).unwrap_err();
        assert!(matches!(why, Unedited::TooLarge { size: told, .. } if told == size), "{why:?}");
    }

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old: old.into(), new: new.into(), matches: Matches::One }
    }

    fn each(old: &str, new: &str) -> Edit {
        Edit { matches: Matches::All, ..edit(old, new) }
    }

    fn refused(text: &str, old: &str, new: &str) -> Unedited {
        replace(text, &edit(old, new), u64::MAX).unwrap_err()
    }

    fn edited(text: &str, old: &str, new: &str) -> String {
        replace(text, &edit(old, new), u64::MAX).unwrap().text
    }

    fn all(text: &str, old: &str, new: &str) -> (String, usize) {
        let edited = replace(text, &each(old, new), u64::MAX).unwrap();
        (edited.text, edited.replaced)
    }

    #[test]
    fn a_match_is_literal() {
        assert_eq!(edited("a.c abc", "a.c", "$1 \\0 .*"), "$1 \\0 .* abc");
        assert_eq!(edited("e\u{301} é", "é", "e"), "e\u{301} e");
        assert!(matches!(refused("a  b", "a b", "x"), Unedited::NotFound));
        assert!(matches!(refused("a", "", "x"), Unedited::NotFound));
    }

    #[test]
    fn overlapping_occurrences_are_counted_and_not_replaced_twice() {
        assert!(matches!(refused("aaa", "aa", "b"), Unedited::Ambiguous { matches: 2 }));
        assert!(matches!(refused("éé", "é", "b"), Unedited::Ambiguous { matches: 2 }));
        assert_eq!(all("aaaaa", "aa", "b"), ("bba".into(), 2));
        assert_eq!(all("a.a.a", "a", "aa"), ("aa.aa.aa".into(), 3));
    }

    #[test]
    fn counting_is_as_looking_at_each_place_and_takes_no_longer_than_the_text() {
        let by_looking = |text: &str, old: &str| {
            (0..text.len()).filter(|&at| text.as_bytes()[at..].starts_with(old.as_bytes())).count()
        };
        let letters = |number: usize, length: usize| -> String {
            (0..length).map(|bit| if number >> bit & 1 == 0 { 'a' } else { 'b' }).collect()
        };
        for number in 0..1 << 9 {
            let text = letters(number, 9);
            for old in (1..=4).flat_map(|length| (0..1 << length).map(move |n| letters(n, length)))
            {
                let counted = count_overlapping(&text, &old).unwrap();
                assert_eq!(counted, by_looking(&text, &old), "{text} {old}");
            }
        }
        let (text, old) = ("a".repeat(1 << 20), "a".repeat(1 << 19));
        assert_eq!(count_overlapping(&text, &old).unwrap(), (1 << 19) + 1);
        assert_eq!(count_overlapping(&old, &text).unwrap(), 0);
    }

    #[test]
    fn either_kind_of_newline_matches_the_other() {
        assert_eq!(edited("a\r\nb\r\n", "a\nb", "a\nc"), "a\r\nc\r\n");
        assert_eq!(edited("a\nb\n", "a\r\nb", "a\r\nc"), "a\nc\n");
        // A carriage return alone is a char like any other.
        assert!(matches!(refused("a\r\nb", "a\r", "x"), Unedited::NotFound));
        assert_eq!(edited("a\rb", "a\r", "x"), "xb");
    }

    #[test]
    fn bytes_that_old_and_new_have_in_common_stay_as_they_are() {
        // The first newline is CRLF, the second LF, and neither is part of the change.
        assert_eq!(edited("a\r\nb\nc", "a\nb\nc", "a\nX\nc"), "a\r\nX\nc");
        assert_eq!(edited("one\r\ntwo\n", "one\ntwo\n", "one\nand\ntwo\n"), "one\r\nand\ntwo\n");
    }

    #[test]
    fn new_newlines_take_the_form_of_those_they_replace() {
        assert_eq!(edited("1\r\n2\n3", "1\n2\n3", "x\ny\nz"), "x\r\ny\nz");
        // More than there were: the form of the last.
        assert_eq!(edited("(1\r\n2)", "(1\n2)", "(x\ny\nz)"), "(x\r\ny\r\nz)");
    }

    #[test]
    fn new_newlines_take_the_form_of_one_near_by_if_they_replace_none() {
        assert_eq!(edited("a\r\nb\nc", "b", "x\ny"), "a\r\nx\ny\nc");
        assert_eq!(edited("a\nb\r\nc", "b", "x\ny"), "a\nx\r\ny\r\nc");
        // None after: the last one before.
        assert_eq!(edited("a\r\nb", "b", "x\ny"), "a\r\nx\r\ny");
        // None at all: as written.
        assert_eq!(edited("b", "b", "x\r\ny\nz"), "x\r\ny\nz");
    }

    #[test]
    fn an_edit_cannot_convert_line_ends() {
        for (old, new) in [("a\r\nb", "a\nb"), ("a\nb", "a\r\nb")] {
            assert_eq!(edited("a\r\nb\r\n", old, new), "a\r\nb\r\n");
        }
    }

    #[test]
    fn nothing_is_cut_from_a_pair() {
        assert_eq!(edited("a\r\n", "\n", ""), "a");
        assert_eq!(edited("a\r\nb", "a", ""), "\r\nb");
        assert_eq!(edited("\r\r\n\n", "\r", "x"), "x\r\n\n");
    }
}
