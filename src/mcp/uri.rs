//! From a URI to the path of a directory on this machine.

use std::path::PathBuf;

/// The path that a `file:` URI of this machine names, absolute; or why there is none.
pub(super) fn path(uri: &str) -> Result<PathBuf, &'static str> {
    let (scheme, rest) = uri.split_once(':').ok_or("it is no URI")?;
    if !scheme.eq_ignore_ascii_case("file") {
        return Err("it is no file: URI");
    }
    let encoded = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let slash = rest.find('/').ok_or("it has no path")?;
            let (host, path) = rest.split_at(slash);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err("it is on another machine");
            }
            path
        }
    };
    if encoded.contains(['?', '#']) {
        return Err("it has more than a path");
    }
    let path = decoded(encoded)?;
    if path.contains('\0') {
        return Err("its path has a NUL in it");
    }
    if !path.starts_with('/') {
        return Err("its path is not absolute");
    }
    Ok(path.into())
}

fn decoded(encoded: &str) -> Result<String, &'static str> {
    const MALFORMED: &str = "a % in it is not followed by two hexadecimal digits";
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = after.split_at_checked(2).ok_or(MALFORMED)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(MALFORMED);
        let value = digit(digits[0])? * 16 + digit(digits[1])?;
        bytes.push(u8::try_from(value).map_err(|_| MALFORMED)?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| "its path is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_of_this_machine_is_a_path() {
        for (uri, expected) in [
            ("file:///a/b", "/a/b"),
            ("file://localhost/a", "/a"),
            ("FILE:///a", "/a"),
            ("file:/a", "/a"),
            ("file:///", "/"),
            ("file:///a%20b%2Fc%25/%C3%A9", "/a b/c%/é"),
            ("file:///a/../b", "/a/../b"),
        ] {
            assert_eq!(path(uri).unwrap(), PathBuf::from(expected), "{uri}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for uri in [
            "",
            "/a",
            "http://localhost/a",
            "file:a",
            "file://",
            "file://host/a",
            "file://host",
            "file:///a?b",
            "file:///a#b",
            "file:///a%",
            "file:///a%2",
            "file:///a%+1",
            "file:///a%zz",
            "file:///a%00",
            "file:///a%ff",
        ] {
            assert!(path(uri).is_err(), "{uri}");
        }
    }
}
