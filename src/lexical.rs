//! Paths by their text alone: what people see, and what is looked up.

use std::path::{Component, Path, PathBuf};

use ringfence_platform::ErrorKind;

use crate::error::{Error, Result};
use crate::request::Op;

/// The absolute path that `raw` spells, taken against `base`, without `.`, `..`, empty components
/// or a trailing separator.
///
/// `..` removes the component before it, symlink or not, so no path that reaches a fence has one.
///
/// # Errors
///
/// [`ErrorKind::InvalidPath`] if `raw` is empty or has a NUL, which no file system can name.
pub(crate) fn shown(op: Op, base: &Path, raw: &Path) -> Result<PathBuf> {
    let bytes = raw.as_os_str().as_encoded_bytes();
    if bytes.is_empty() || bytes.contains(&0) {
        let (path, kind) = (raw.to_owned(), ErrorKind::InvalidPath);
        return Err(Error::Failed { op, path, kind, source: None });
    }
    let mut clean = PathBuf::with_capacity(base.as_os_str().len() + bytes.len() + 1);
    for component in base.join(raw).components() {
        match component {
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                clean.push(component);
            }
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
        }
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn dots_and_doubled_separators_are_folded_by_text() {
        for (raw, expected) in [
            ("a", "/ws/a"),
            (".", "/ws"),
            ("./a//b/./c/", "/ws/a/b/c"),
            ("link/../x", "/ws/x"),
            ("../x", "/x"),
            ("a/../../x", "/x"),
            ("../../../..", "/"),
            ("/etc/../../tmp/x", "/tmp/x"),
            ("//etc", "/etc"),
            ("~/x", "/ws/~/x"),
            ("$HOME", "/ws/$HOME"),
            (r"a\b", r"/ws/a\b"),
            ("...", "/ws/..."),
        ] {
            let path = shown(Op::Write, Path::new("/ws"), Path::new(raw)).unwrap();
            assert_eq!(path.as_os_str(), expected, "{raw}");
        }
    }

    #[test]
    fn an_empty_path_and_one_with_nul_name_nothing() {
        for raw in ["", "a\0b", "\0"] {
            let error = shown(Op::Read, Path::new("/ws"), Path::new(raw)).unwrap_err();
            assert_eq!(error.code(), Code::FsNotFound, "{raw:?}");
        }
    }
}
