//! Lines of a stream, of which none is too long to be held.

use std::io::{self, BufRead, Read as _};

const END: u8 = b'\n';

/// What stands before the end of a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Line {
    /// All of it; the end of the line may be with it.
    Whole(Vec<u8>),
    /// It is longer than is held, and was passed over.
    TooLong,
}

/// Reads the next line, and holds no more than `most` bytes of it; nothing at the end of the
/// stream. What has no line end before that is a line too.
pub(super) fn next(from: &mut impl BufRead, most: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    from.by_ref().take(most as u64 + 1).read_until(END, &mut line)?;
    Ok(match line.last() {
        None => None,
        Some(&END) => Some(Line::Whole(line)),
        Some(_) if line.len() <= most => Some(Line::Whole(line)),
        Some(_) => {
            drop(line);
            from.skip_until(END)?;
            Some(Line::TooLong)
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn all(text: &str, most: usize) -> Vec<Line> {
        // No buffer of the reader holds a line.
        let mut from = BufReader::with_capacity(2, text.as_bytes());
        std::iter::from_fn(|| next(&mut from, most).unwrap()).collect()
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[test]
    fn a_line_is_whole_with_its_end_or_without() {
        assert_eq!(all("ab\n\r\n\nc", 9), ["ab\n", "\r\n", "\n", "c"].map(whole));
        assert_eq!(all("", 9), []);
    }

    #[test]
    fn what_is_too_long_is_passed_over_and_nothing_else() {
        assert_eq!(all("abc\nabcd\nd\n", 3), [whole("abc\n"), Line::TooLong, whole("d\n")]);
        assert_eq!(all("abcd", 3), [Line::TooLong]);
        assert_eq!(all("abc", 3), [whole("abc")]);
    }
}
