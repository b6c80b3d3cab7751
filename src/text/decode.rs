//! What counts as text: strict UTF-8, no NUL near the start. Pure.

/// How much of a file's start is looked through for a NUL.
const PROBED: usize = 8_192;

/// The mark that some programs put before a UTF-8 text.
const BOM: &str = "\u{feff}";

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

/// The bytes of a whole file as text.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, NotText> {
    if bytes.iter().take(PROBED).any(|&byte| byte == 0) {
        return Err(NotText::Nul);
    }
    std::str::from_utf8(bytes).map_err(|_| NotText::Encoding)
}

/// The text without the one mark that may stand before it, and whether it did.
pub(crate) fn without_bom(text: &str) -> (&str, bool) {
    text.strip_prefix(BOM).map_or((text, false), |rest| (rest, true))
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
    fn one_mark_is_taken_off_and_a_second_is_text() {
        assert_eq!(without_bom("\u{feff}\u{feff}a"), ("\u{feff}a", true));
        assert_eq!(without_bom("a\u{feff}"), ("a\u{feff}", false));
    }
}
