//! Paths as a fence takes them.

mod grammar;

pub use grammar::{LinkText, RelPath, RootedPath};
pub(crate) use grammar::{Name, PATH_MAX};
