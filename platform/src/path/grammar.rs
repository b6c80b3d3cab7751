//! Parse, don't validate: what these types hold has been checked, once, when they were made.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::error::{ErrorKind, Fault, Result};
use crate::roots::RootId;

/// The longest path a fence takes, in bytes: Linux's `PATH_MAX` with its final NUL. Held on every
/// backend, so that one which walks by single names does not accept what the kernel refuses.
pub(crate) const PATH_MAX: usize = 4096;

/// A relative path: no root, no NUL, no `..`, no trailing slash or `.`, and not empty.
///
/// Doubled slashes and `.` between names are folded away. `..` in what a caller asks for is
/// normalised by text before it gets here; `..` inside a symlink is the kernel's business.
///
/// [`RelPath::root`] stands for the root itself, which can be looked at and listed, and which is a
/// directory already. Any other mutation of it is [`ErrorKind::WrongKind`].
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct RelPath(PathBuf);

impl RelPath {
    /// Parses `path`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidPath`] if it is empty, absolute, has a NUL or a `..`, or ends in a slash
    /// or a `.`.
    pub fn new(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = path.as_os_str().as_encoded_bytes();
        let names_a_directory = matches!(bytes, [.., b'/'] | b"." | [.., b'/', b'.']);
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        let leads_on = !bytes.is_empty() && !names_a_directory && !bytes.contains(&0);
        if !leads_on || !path.components().all(is_plain) {
            return Err(Fault::new(ErrorKind::InvalidPath).at("use", path));
        }
        Ok(Self(path.components().filter(|part| *part != Component::CurDir).collect()))
    }

    /// The root itself.
    pub fn root() -> Self {
        Self(PathBuf::new())
    }

    /// The path; empty for [`RelPath::root`].
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

/// A path beneath one of a fence's roots.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct RootedPath {
    /// Which root.
    pub root: RootId,
    /// The path beneath it.
    pub path: RelPath,
}

impl RootedPath {
    /// Puts `path` beneath `root`.
    pub fn new(root: RootId, path: RelPath) -> Self {
        Self { root, path }
    }
}

/// What a new symlink points to: a relative text without NUL, not empty.
///
/// Whether it stays beneath the root depends on where the link is, so the fence decides that when
/// it makes the link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinkText(PathBuf);

impl LinkText {
    /// Parses `text`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Escape`] if it is absolute, [`ErrorKind::InvalidPath`] if it is empty or has a
    /// NUL, [`ErrorKind::NameTooLong`] if it is longer than a path can be.
    pub fn new(text: impl AsRef<Path>) -> Result<Self> {
        let text = text.as_ref();
        let bytes = text.as_os_str().as_encoded_bytes();
        let require = |holds, otherwise| {
            Fault::new(otherwise).unless(holds).map_err(|fault| fault.at("link to", text))
        };
        require(!bytes.is_empty() && !bytes.contains(&0), ErrorKind::InvalidPath)?;
        require(!text.has_root() && !text.is_absolute(), ErrorKind::Escape)?;
        require(bytes.len() < PATH_MAX, ErrorKind::NameTooLong)?;
        Ok(Self(text.to_owned()))
    }

    /// The text, byte for byte as it was given.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

/// One name in a directory: never empty, `.` or `..`, and without a separator. The only thing that
/// is ever given to a call that changes something, so there is nothing left in it to resolve: a
/// trailing slash would defeat `O_NOFOLLOW`.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub(crate) struct Name(OsString);

impl Name {
    /// The name, if `text` is one.
    pub(crate) fn new(text: &OsStr) -> Option<Self> {
        let bytes = text.as_encoded_bytes();
        let plain = !bytes.is_empty()
            && bytes != b"."
            && bytes != b".."
            && !bytes.iter().any(|&b| b == b'/' || b == 0);
        plain.then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_os_str(&self) -> &OsStr {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_plainly_beneath_its_root_is_refused() {
        for path in [
            "", "/", "//", "/a", ".", "./", "..", "../a", "a/..", "a/../b", "a/", "a//", "a/.",
            "a/./", "a\0b", "\0",
        ] {
            let error = RelPath::new(path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidPath, "{path:?}");
        }
    }

    #[test]
    fn spellings_of_one_path_are_equal() {
        for path in ["a/b", "./a/b", "a//b", "a/./b", ".//a/.//b"] {
            assert_eq!(RelPath::new(path).unwrap().as_path(), Path::new("a/b"), "{path:?}");
        }
        for path in ["...", "a b", " ", "a\\b", "~", "-rf", "..a", "a\nb"] {
            assert_eq!(RelPath::new(path).unwrap().as_path(), Path::new(path));
        }
    }

    #[test]
    fn a_name_has_nothing_left_to_resolve() {
        for text in ["", ".", "..", "/", "a/", "/a", "a/b", "a\0"] {
            assert!(Name::new(text.as_ref()).is_none(), "{text:?}");
        }
        for text in ["...", "a", " ", "-"] {
            assert!(Name::new(text.as_ref()).is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_link_text_is_relative_and_kept_to_the_byte() {
        for (text, kind) in [
            ("", ErrorKind::InvalidPath),
            ("a\0", ErrorKind::InvalidPath),
            ("/", ErrorKind::Escape),
            ("/a", ErrorKind::Escape),
        ] {
            assert_eq!(LinkText::new(text).unwrap_err().kind(), kind, "{text:?}");
        }
        let long = "x".repeat(PATH_MAX);
        assert_eq!(LinkText::new(long).unwrap_err().kind(), ErrorKind::NameTooLong);
        for text in ["a", "../a/", "./a/.", "a//b"] {
            assert_eq!(LinkText::new(text).unwrap().as_path().as_os_str(), text);
        }
    }
}
