//! What counts as text: strict UTF-8, no NUL near the start. Pure.

/// How much of a file's start is looked through for a NUL.
const PROBED: usize = 8_192;

/// The mark that some programs put before a UTF-8 text.
pub(crate) const BOM: &[u8] = "\u{feff}".as_bytes();

/// How many lines end in which way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Newlines {
    /// In a line feed alone.
    pub lf: usize,
    /// In a carriage return and a line feed.
    pub crlf: usize,
    /// Carriage returns alone, which end no line here.
    pub cr: usize,
}

impl Newlines {
    pub(crate) fn of(text: &str) -> Self {
        let count = |what: &str| text.matches(what).count();
        let crlf = count("\r\n");
        Self { lf: count("\n") - crlf, crlf, cr: count("\r") - crlf }
    }
}

/// Why a file is no text.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotText {
    /// There is a NUL in its first 8,192 bytes.
    #[error("it has a NUL byte near its start")]
    Nul,
    /// It is not UTF-8 throughout.
    #[error("it is not valid UTF-8")]
    Encoding,
}

/// Fails if these bytes at the start of a file are of none that is text.
pub(crate) fn begins_as_text(start: &[u8]) -> Result<(), NotText> {
    let has_nul = start.iter().take(PROBED).any(|&byte| byte == 0);
    if has_nul { Err(NotText::Nul) } else { Ok(()) }
}

/// The bytes of a whole file as text.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, NotText> {
    begins_as_text(bytes)?;
    std::str::from_utf8(bytes).map_err(|_| NotText::Encoding)
}

/// The text without the one mark that may stand before it, and whether it did.
pub(crate) fn without_bom(text: &str) -> (&str, bool) {
    text.strip_prefix('\u{feff}').map_or((text, false), |rest| (rest, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_strict_utf_8() {
        for bytes in [
            &b"\xc0\xaf"[..],
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"a\xe2\x82",
            b"\xff\xfea\0",
            b"caf\xe9",
        ] {
            let decoded = decode(bytes);
            assert!(matches!(decoded, Err(NotText::Encoding | NotText::Nul)), "{bytes:?}");
        }
        assert_eq!(decode(b""), Ok(""));
        assert_eq!(decode("\u{10ffff}é\r".as_bytes()), Ok("\u{10ffff}é\r"));
    }

    #[test]
    fn a_nul_counts_only_near_the_start() {
        let mut bytes = vec![b'a'; PROBED];
        bytes.push(0);
        assert!(decode(&bytes).is_ok());
        bytes[PROBED - 1] = 0;
        assert_eq!(decode(&bytes), Err(NotText::Nul));
    }

    #[test]
    fn each_way_to_end_a_line_is_counted_for_itself() {
        let newlines = |text| {
            let Newlines { lf, crlf, cr } = Newlines::of(text);
            (lf, crlf, cr)
        };
        assert_eq!(newlines(""), (0, 0, 0));
        assert_eq!(newlines("a\nb\r\nc\rd\r\r\n\n\r"), (2, 2, 3));
    }

    #[test]
    fn one_mark_is_taken_off_and_a_second_is_text() {
        assert_eq!(without_bom("\u{feff}\u{feff}a"), ("\u{feff}a", true));
        assert_eq!(without_bom("a\u{feff}"), ("a\u{feff}", false));
    }
}
