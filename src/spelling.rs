//! Names and texts as JSON has them, though they may be no UTF-8.

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
}
