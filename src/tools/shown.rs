//! From what a command wrote to what is shown of it. Pure.

use crate::shell::Output;

/// What was written, as text. Bytes that are no UTF-8 are told by U+FFFD; but for a char that an
/// output was cut in, which is left out.
pub(super) fn text(output: &Output) -> String {
    let begins_within = if output.is_truncated() { rest_of_a_char(&output.tail) } else { 0 };
    String::from_utf8_lossy(&output.tail[begins_within..]).into_owned()
}

/// What was written after the first `seen` bytes, as far as it is still there.
pub(super) fn after(seen: u64, mut output: Output) -> Output {
    output.total = output.total.saturating_sub(seen);
    let new = usize::try_from(output.total).unwrap_or(usize::MAX);
    let old = output.tail.len().saturating_sub(new);
    output.tail.drain(..old);
    output
}

/// The same without a char at its end that has more bytes to come.
pub(super) fn whole_chars(mut output: Output) -> Output {
    let unfinished = beginning_of_a_char(&output.tail);
    output.tail.truncate(output.tail.len() - unfinished);
    output.total -= unfinished as u64;
    output
}

/// How many bytes at the beginning belong to a char that began before.
fn rest_of_a_char(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| is_within_a_char(**byte)).count()
}

/// How many bytes at the end begin a char that goes on.
fn beginning_of_a_char(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(3);
    let (length, first) = (1..).zip(last).find(|(_, byte)| !is_within_a_char(**byte)).unzip();
    let needed = match first {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) | None => 0,
    };
    length.filter(|length| *length < needed).unwrap_or(0)
}

fn is_within_a_char(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::Spill;

    fn output(tail: &[u8], total: u64) -> Output {
        Output { tail: tail.to_vec(), total, spill: Spill::None }
    }

    #[test]
    fn a_tail_begins_with_a_whole_char() {
        for (tail, shown) in [
            (&b"\x82\xacb"[..], "b"),
            ("€b".as_bytes(), "€b"),
            (b"\xac", ""),
            (b"", ""),
            (b"\x9f\x98\x80!", "!"),
            (b"\x80\x80\x80\x80", "\u{fffd}"),
        ] {
            assert_eq!(text(&output(tail, 99)), shown, "{tail:?}");
        }
        assert_eq!(text(&output(b"\x82\xacb", 3)), "\u{fffd}\u{fffd}b", "it is all of it");
        assert_eq!(text(&output(b"a\xffb\0\x1b", 5)), "a\u{fffd}b\0\u{1b}");
    }

    #[test]
    fn what_was_seen_is_left_out() {
        assert_eq!(after(0, output(b"abc", 3)), output(b"abc", 3));
        assert_eq!(after(2, output(b"abc", 3)), output(b"c", 1));
        assert_eq!(after(3, output(b"abc", 3)), output(b"", 0));
        assert_eq!(after(9, output(b"fgh", 10)), output(b"h", 1));
        assert_eq!(after(7, output(b"fgh", 10)), output(b"fgh", 3));
        let skipped = after(5, output(b"fgh", 10));
        assert_eq!(skipped, output(b"fgh", 5));
        assert!(skipped.is_truncated(), "some of it was neither seen nor is still there");
    }

    #[test]
    fn a_char_that_is_still_being_written_is_left_for_later() {
        for (bytes, whole) in [
            (&b"a\xe2\x82"[..], 1),
            (b"a\xe2", 1),
            (b"\xf0\x9f\x98", 0),
            ("a€".as_bytes(), 4),
            ("😀".as_bytes(), 4),
            (b"a\xff", 2),
            (b"\x80\x80\x80\x80", 4),
            (b"", 0),
        ] {
            let found = whole_chars(output(bytes, bytes.len() as u64));
            assert_eq!(found, output(&bytes[..whole], whole as u64), "{bytes:?}");
        }
    }
}
