//! A literal replacement in a text, exact to the byte. Pure.
//!
//! The file, the old text and the new text are matched with each CRLF seen as one newline, so it
//! does not matter which kind the caller wrote. What is not changed is never rewritten: neither its
//! line ends, nor what the old and the new text have in common.

use super::Unedited;

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

/// Makes the edit in `text`.
pub(crate) fn replace(text: &str, edit: &Edit) -> Result<Edited, Unedited> {
    let file = Seen::new(text);
    let (old, new) = (Seen::new(&edit.old), Seen::new(&edit.new));
    if old.text.is_empty() {
        return Err(Unedited::NotFound);
    }
    let places = match edit.matches {
        Matches::One => match count_overlapping(&file.text, &old.text) {
            (Some(place), 1) => vec![place],
            (None, _) => return Err(Unedited::NotFound),
            (Some(_), matches) => return Err(Unedited::Ambiguous { matches }),
        },
        Matches::All => file.text.match_indices(&*old.text).map(|(place, _)| place).collect(),
    };
    if places.is_empty() {
        return Err(Unedited::NotFound);
    }

    let (prefix, suffix) = common(&old.text, &new.text);
    let inserted = prefix..new.text.len() - suffix;
    let mut out = String::with_capacity(text.len() + places.len() * edit.new.len());
    let mut copied = 0;
    for &place in &places {
        let changed = place + prefix..place + old.text.len() - suffix;
        out.push_str(&text[copied..file.original(changed.start)]);
        let forms = Forms::around(&file, changed.clone());
        for (count, (at, char)) in new.newlines_and_others(inserted.clone()) {
            match char {
                '\n' if forms.is_crlf(count, || new.is_crlf(at)) => out.push_str("\r\n"),
                char => out.push(char),
            }
        }
        copied = file.original(changed.end);
    }
    out.push_str(&text[copied..]);
    Ok(Edited { text: out, replaced: places.len() })
}

/// A text with each CRLF as one newline, and where they were.
struct Seen {
    text: String,
    /// The offsets in `text` of the newlines that were CRLF, in order.
    crlf: Vec<usize>,
}

impl Seen {
    fn new(text: &str) -> Self {
        let mut seen = Self { text: String::with_capacity(text.len()), crlf: Vec::new() };
        let mut pieces = text.split("\r\n");
        seen.text.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            seen.crlf.push(seen.text.len());
            seen.text.push('\n');
            seen.text.push_str(piece);
        }
        seen
    }

    /// Where in the original what is at `at` begins.
    fn original(&self, at: usize) -> usize {
        at + self.crlf.partition_point(|&newline| newline < at)
    }

    fn is_crlf(&self, newline: usize) -> bool {
        self.crlf.binary_search(&newline).is_ok()
    }

    /// The chars of `range` with their offsets, and how many newlines were before each.
    fn newlines_and_others(
        &self,
        range: std::ops::Range<usize>,
    ) -> impl Iterator<Item = (usize, (usize, char))> {
        let start = range.start;
        self.text[range].char_indices().scan(0, move |newlines, (at, char)| {
            let before = *newlines;
            *newlines += usize::from(char == '\n');
            Some((before, (start + at, char)))
        })
    }
}

/// The forms that newlines take in the place of a changed range.
struct Forms {
    /// Of the newlines in the range, one for one; whether each is a CRLF.
    replaced: Vec<bool>,
    /// Of a newline near by, where the range has none.
    nearby: Option<bool>,
}

impl Forms {
    fn around(file: &Seen, changed: std::ops::Range<usize>) -> Self {
        let text = &file.text;
        let replaced: Vec<_> = text[changed.clone()]
            .match_indices('\n')
            .map(|(at, _)| file.is_crlf(changed.start + at))
            .collect();
        let after = || text[changed.end..].find('\n').map(|at| changed.end + at);
        let before = || text[..changed.start].rfind('\n');
        let nearby = if replaced.is_empty() { after().or_else(before) } else { None };
        Self { replaced, nearby: nearby.map(|newline| file.is_crlf(newline)) }
    }

    /// The form of newline `number`: of its counterpart, of the last one beyond that, of one near
    /// by, or as it was written.
    fn is_crlf(&self, number: usize, written: impl FnOnce() -> bool) -> bool {
        let counterpart = self.replaced.get(number).or(self.replaced.last());
        counterpart.copied().or(self.nearby).unwrap_or_else(written)
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

/// The first occurrence, and how many there are if overlapping ones count. In time that grows with
/// the lengths and not with their product, whatever the texts are (Knuth, Morris and Pratt).
fn count_overlapping(text: &str, old: &str) -> (Option<usize>, usize) {
    let (text, old) = (text.as_bytes(), old.as_bytes());
    // For each length of a prefix of `old`, the longest shorter one that it ends in.
    let mut borders = vec![0; old.len() + 1];
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
    let (mut first, mut count, mut matched) = (None, 0, 0);
    for (at, &byte) in text.iter().enumerate() {
        matched = longer(&borders, matched, byte);
        if matched == old.len() {
            first = first.or(Some(at + 1 - old.len()));
            count += 1;
        }
    }
    (first, count)
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
            match replace(&text, &edit(&old, &new)) {
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

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old: old.into(), new: new.into(), matches: Matches::One }
    }

    fn edited(text: &str, old: &str, new: &str) -> String {
        replace(text, &edit(old, new)).unwrap().text
    }

    fn all(text: &str, old: &str, new: &str) -> (String, usize) {
        let edit = Edit { matches: Matches::All, ..edit(old, new) };
        let edited = replace(text, &edit).unwrap();
        (edited.text, edited.replaced)
    }

    #[test]
    fn a_match_is_literal() {
        assert_eq!(edited("a.c abc", "a.c", "$1 \\0 .*"), "$1 \\0 .* abc");
        assert_eq!(edited("e\u{301} é", "é", "e"), "e\u{301} e");
        assert!(matches!(replace("a  b", &edit("a b", "x")), Err(Unedited::NotFound)));
        assert!(matches!(replace("a", &edit("", "x")), Err(Unedited::NotFound)));
    }

    #[test]
    fn overlapping_occurrences_are_counted_and_not_replaced_twice() {
        assert!(matches!(
            replace("aaa", &edit("aa", "b")),
            Err(Unedited::Ambiguous { matches: 2 })
        ));
        assert!(matches!(replace("éé", &edit("é", "b")), Err(Unedited::Ambiguous { matches: 2 })));
        assert_eq!(all("aaaaa", "aa", "b"), ("bba".into(), 2));
        assert_eq!(all("a.a.a", "a", "aa"), ("aa.aa.aa".into(), 3));
    }

    #[test]
    fn counting_is_as_looking_at_each_place_and_takes_no_longer_than_the_text() {
        let by_looking = |text: &str, old: &str| {
            let places: Vec<_> = (0..text.len())
                .filter(|&at| text.as_bytes()[at..].starts_with(old.as_bytes()))
                .collect();
            (places.first().copied(), places.len())
        };
        let letters = |number: usize, length: usize| -> String {
            (0..length).map(|bit| if number >> bit & 1 == 0 { 'a' } else { 'b' }).collect()
        };
        for number in 0..1 << 9 {
            let text = letters(number, 9);
            for old in (1..=4).flat_map(|length| (0..1 << length).map(move |n| letters(n, length)))
            {
                assert_eq!(count_overlapping(&text, &old), by_looking(&text, &old), "{text} {old}");
            }
        }
        let (text, old) = ("a".repeat(1 << 20), "a".repeat(1 << 19));
        assert_eq!(count_overlapping(&text, &old), (Some(0), (1 << 19) + 1));
    }

    #[test]
    fn either_kind_of_newline_matches_the_other() {
        assert_eq!(edited("a\r\nb\r\n", "a\nb", "a\nc"), "a\r\nc\r\n");
        assert_eq!(edited("a\nb\n", "a\r\nb", "a\r\nc"), "a\nc\n");
        // A carriage return alone is a char like any other.
        assert!(matches!(replace("a\r\nb", &edit("a\r", "x")), Err(Unedited::NotFound)));
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
