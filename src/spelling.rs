//! Names and texts as people and JSON have them.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

/// `bytes` as text under `key`. Where they are no UTF-8 the text is a likeness, with U+FFFD in it,
/// and `<key>_hex` has them to the byte.
#[must_use]
pub fn spelled(key: &str, bytes: &[u8]) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert(key.to_owned(), String::from_utf8_lossy(bytes).into());
    if std::str::from_utf8(bytes).is_err() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        object.insert(format!("{key}_hex"), hex.into());
    }
    object
}

/// A line without its end, with what cannot be seen in it escaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visible<'a>(pub(crate) &'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(is_unseen) {
            let (seen, unseen) = rest.split_at(at);
            f.write_str(seen)?;
            let mut chars = unseen.chars();
            chars.next().into_iter().try_for_each(|char| char.escape_default().fmt(f))?;
            rest = chars.as_str();
        }
        f.write_str(rest)
    }
}

/// Whether a character moves the cursor, turns the direction, or is not there to the eye. A tab
/// is where one sees it; joiners make up letters and emoji.
fn is_unseen(char: char) -> bool {
    match char {
        '\t' => false,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        char => char.is_control(),
    }
}

/// The name of a signal, as Linux numbers them; that of one which has no name is its number.
pub(crate) fn signal_name(number: i32) -> Cow<'static, str> {
    const FROM_ONE: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    match index.and_then(|index| FROM_ONE.get(index)) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("signal {number}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_utf8_is_lossless() {
        let object = |bytes: &[u8]| Value::Object(spelled("name", bytes));
        assert_eq!(object(b"a\xff"), json!({ "name": "a\u{fffd}", "name_hex": "61ff" }));
        assert_eq!(object("a\u{fffd}\n".as_bytes()), json!({ "name": "a\u{fffd}\n" }));
    }

    #[test]
    fn a_signal_has_its_name_or_its_number() {
        for (number, name) in [
            (1, "SIGHUP"),
            (9, "SIGKILL"),
            (11, "SIGSEGV"),
            (15, "SIGTERM"),
            (31, "SIGSYS"),
            (0, "signal 0"),
            (34, "signal 34"),
            (-1, "signal -1"),
        ] {
            assert_eq!(signal_name(number), name);
        }
    }
}
