//! Setting a stage: directories, files, links and stranger things, as the case tables write them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use ringfence_platform::Roots;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::Value;

use super::base::{Base, open_dir};
use super::host::is_root;
use super::snapshot::Snapshot;

/// What a test needs to find, beneath its roots and beside them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tree {
    pub(crate) roots: Vec<String>,
    pub(crate) inside: Vec<Entry>,
    pub(crate) outside: Vec<Entry>,
    pub(crate) note: String,
}

impl Tree {
    /// One root, `ROOT`, with these things beneath it.
    pub(crate) fn inside(entries: impl IntoIterator<Item = Entry>) -> Self {
        Self {
            roots: vec!["ROOT".to_owned()],
            inside: entries.into_iter().collect(),
            outside: Vec::new(),
            note: String::new(),
        }
    }

    /// And these beside it.
    pub(crate) fn outside(self, entries: impl IntoIterator<Item = Entry>) -> Self {
        Self { outside: entries.into_iter().collect(), ..self }
    }
}

/// One thing on the stage. Texts are expanded as [`Stage::expand`] says.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Vec<Value>")]
pub(crate) enum Entry {
    Dir(String),
    File(String, Option<String>),
    Link(String, String),
    /// A second name of something that is beneath the base.
    Hard(String, String),
    Fifo(String),
    Sock(String),
    /// A mounted tmpfs, or a plain directory on a stage without mounts.
    Tmpfs(String),
    Mode(String, u32),
    /// Done by root only.
    Owner(String, Option<u32>, Option<u32>),
}

pub(crate) fn dir(path: &str) -> Entry {
    Entry::Dir(path.to_owned())
}

pub(crate) fn file(path: &str, text: &str) -> Entry {
    Entry::File(path.to_owned(), Some(text.to_owned()))
}

pub(crate) fn link(path: &str, text: &str) -> Entry {
    Entry::Link(path.to_owned(), text.to_owned())
}

pub(crate) fn hard(path: &str, existing: &str) -> Entry {
    Entry::Hard(path.to_owned(), existing.to_owned())
}

pub(crate) fn fifo(path: &str) -> Entry {
    Entry::Fifo(path.to_owned())
}

pub(crate) fn sock(path: &str) -> Entry {
    Entry::Sock(path.to_owned())
}

pub(crate) fn tmpfs(path: &str) -> Entry {
    Entry::Tmpfs(path.to_owned())
}

pub(crate) fn mode(path: &str, bits: u32) -> Entry {
    Entry::Mode(path.to_owned(), bits)
}

impl TryFrom<Vec<Value>> for Entry {
    type Error = String;

    fn try_from(parts: Vec<Value>) -> Result<Self, String> {
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned).ok_or("not a text");
        let id = |value: &Value| value.as_i64().map(|id| u32::try_from(id).ok()).ok_or("no number");
        let octal = |value: &Value| {
            value.as_str().and_then(|s| u32::from_str_radix(s, 8).ok()).ok_or("not an octal number")
        };
        let kind = parts.first().and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(match (kind.as_str(), &parts[1..]) {
            ("dir", [p]) => Self::Dir(text(p)?),
            ("file", [p]) => Self::File(text(p)?, None),
            ("file", [p, contents]) => Self::File(text(p)?, Some(text(contents)?)),
            ("link", [p, to]) => Self::Link(text(p)?, text(to)?),
            ("hard", [p, existing]) => Self::Hard(text(p)?, text(existing)?),
            ("fifo", [p]) => Self::Fifo(text(p)?),
            ("sock", [p]) => Self::Sock(text(p)?),
            ("tmpfs", [p]) => Self::Tmpfs(text(p)?),
            ("mode", [p, bits]) => Self::Mode(text(p)?, octal(bits)?),
            ("owner", [p, user, group]) => Self::Owner(text(p)?, id(user)?, id(group)?),
            _ => return Err(format!("no entry is written {parts:?}")),
        })
    }
}

/// A tree that has been built, in a base of its own.
#[derive(Debug)]
pub(crate) struct Stage {
    base: Base,
    roots: Vec<PathBuf>,
    variables: BTreeMap<&'static str, String>,
    mounts: bool,
}

impl Stage {
    /// Builds `tree`; a `tmpfs` becomes a plain directory.
    pub(crate) fn new(tree: &Tree) -> Self {
        Self::build(tree, false)
    }

    /// Builds `tree` with its mounts, in a mount namespace of the test's own.
    pub(crate) fn with_mounts(tree: &Tree) -> Self {
        Self::build(tree, true)
    }

    fn build(tree: &Tree, mounts: bool) -> Self {
        let base = Base::new();
        let roots = tree.roots.iter().map(|root| base.path().join(root)).collect();
        let variables = BTreeMap::from([("pid", std::process::id().to_string())]);
        let stage = Self { base, roots, variables, mounts };
        for root in tree.roots.iter().filter(|root| !root.starts_with('/')) {
            make_dirs(open_dir(CWD, stage.base()).unwrap(), Path::new(root));
        }
        for entry in &tree.outside {
            stage.make(stage.base(), entry, "out");
        }
        for entry in &tree.inside {
            stage.make(stage.root(), entry, "data");
        }
        stage
    }

    /// The directory that holds the roots and what lies beside them.
    pub(crate) fn base(&self) -> &Path {
        self.base.path()
    }

    /// The first root.
    pub(crate) fn root(&self) -> &Path {
        &self.roots[0]
    }

    /// The roots, held open.
    pub(crate) fn roots(&self) -> Roots {
        Roots::open(&self.roots).expect("the roots of a stage exist")
    }

    /// Gives `{name}` a meaning in texts that are expanded from now on.
    pub(crate) fn define(&mut self, name: &'static str, value: impl ToString) {
        self.variables.insert(name, value.to_string());
    }

    /// `$BASE`, `$ROOT` and `{name}` become what they stand for; `{x*255}` becomes 255 times `x`.
    pub(crate) fn expand(&self, text: &str) -> String {
        let path = |path: &Path| path.to_str().expect("a base has a plain path").to_owned();
        let text = text.replace("$BASE", &path(self.base())).replace("$ROOT", &path(self.root()));
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (inner, after) = after.split_once('}').expect("a brace is closed");
            expanded += before;
            match inner.rsplit_once('*') {
                Some((part, times)) => {
                    expanded += &part.repeat(times.parse().expect("a number of times"));
                }
                None => match self.variables.get(inner) {
                    Some(value) => expanded += value,
                    None => write!(expanded, "{{{inner}}}").expect("a String takes everything"),
                },
            }
            rest = after;
        }
        expanded + rest
    }

    /// A picture of everything beneath the base.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::take(self.base())
    }

    /// The first root's path beneath the base; a root that lies elsewhere has none.
    pub(crate) fn root_in_base(&self) -> Option<&Path> {
        self.root().strip_prefix(self.base()).ok()
    }

    /// The pictures of what lies outside the roots are the same.
    #[track_caller]
    pub(crate) fn assert_outside_unchanged(&self, before: &Snapshot) {
        let roots: Vec<_> =
            self.roots.iter().filter_map(|root| root.strip_prefix(self.base()).ok()).collect();
        let changed = before.outside(&roots).differences(&self.snapshot().outside(&roots));
        assert!(changed.is_empty(), "outside the roots: {changed:#?}");
    }

    /// The picture of everything is the same.
    #[track_caller]
    pub(crate) fn assert_unchanged(&self, before: &Snapshot) {
        let changed = before.differences(&self.snapshot());
        assert!(changed.is_empty(), "nothing should have changed: {changed:#?}");
    }

    /// As [`assert_unchanged`](Self::assert_unchanged), but that a directory may show by its time
    /// that something was made in it and is gone.
    #[track_caller]
    pub(crate) fn assert_unchanged_but_times_of_dirs(&self, before: &Snapshot) {
        let after = self.snapshot().without_times_of_dirs();
        let changed = before.without_times_of_dirs().differences(&after);
        assert!(changed.is_empty(), "nothing should have changed: {changed:#?}");
    }

    fn make(&self, under: &Path, entry: &Entry, contents: &str) {
        let under = open_dir(CWD, under).unwrap();
        let place = |path: &str| {
            let path = PathBuf::from(self.expand(path));
            let parent = make_dirs(under.try_clone().unwrap(), path.parent().unwrap());
            (parent, path.file_name().unwrap().to_owned())
        };
        match entry {
            Entry::Dir(path) => {
                make_dirs(under, Path::new(&self.expand(path)));
            }
            Entry::File(path, text) => {
                let (parent, name) = place(path);
                let text = text.as_ref().map_or_else(|| contents.to_owned(), |t| self.expand(t));
                make_file(&parent, &name, text.as_bytes());
            }
            Entry::Link(path, text) => {
                let (parent, name) = place(path);
                rustix::fs::symlinkat(self.expand(text), parent, name).unwrap();
            }
            Entry::Hard(path, existing) => {
                let (parent, name) = place(path);
                let existing = self.base().join(self.expand(existing));
                rustix::fs::linkat(CWD, existing, parent, name, AtFlags::empty()).unwrap();
            }
            Entry::Fifo(path) => make_node(place(path), FileType::Fifo),
            Entry::Sock(path) => make_node(place(path), FileType::Socket),
            Entry::Tmpfs(path) if self.mounts => {
                use std::os::fd::AsRawFd;
                let dir = make_dirs(under, Path::new(&self.expand(path)));
                let at = format!("/proc/self/fd/{}", dir.as_raw_fd());
                rustix::mount::mount(
                    "tmpfs",
                    at,
                    "tmpfs",
                    rustix::mount::MountFlags::empty(),
                    None,
                )
                .unwrap();
            }
            Entry::Tmpfs(path) => {
                make_dirs(under, Path::new(&self.expand(path)));
            }
            Entry::Mode(path, bits) => {
                let (parent, name) = place(path);
                let mode = Mode::from_raw_mode(*bits);
                rustix::fs::chmodat(parent, name, mode, AtFlags::empty()).unwrap();
            }
            Entry::Owner(path, user, group) if is_root() => {
                let (parent, name) = place(path);
                let user = user.map(rustix::fs::Uid::from_raw);
                let group = group.map(rustix::fs::Gid::from_raw);
                rustix::fs::chownat(parent, name, user, group, AtFlags::SYMLINK_NOFOLLOW).unwrap();
            }
            Entry::Owner(..) => {}
        }
    }
}

/// Makes each directory on the way, one name at a time: the whole may be longer than a path can be.
fn make_dirs(from: OwnedFd, path: &Path) -> OwnedFd {
    let mut here = from;
    for component in path.components() {
        let Component::Normal(name) = component else { panic!("{} walks", path.display()) };
        match rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => {
                let mode = Mode::from_raw_mode(0o755);
                rustix::fs::chmodat(&here, name, mode, AtFlags::empty()).unwrap();
            }
            Err(Errno::EXIST) => {}
            Err(error) => panic!("cannot make {}: {error}", path.display()),
        }
        here = open_dir(&here, name).unwrap();
    }
    here
}

fn make_file(parent: impl AsFd, name: &OsStr, contents: &[u8]) {
    use std::io::Write;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let fd = rustix::fs::openat(parent, name, flags, mode).unwrap();
    rustix::fs::fchmod(&fd, mode).unwrap();
    std::fs::File::from(fd).write_all(contents).unwrap();
}

fn make_node((parent, name): (OwnedFd, std::ffi::OsString), kind: FileType) {
    let mode = Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(&parent, &name, kind, mode, 0).unwrap();
    rustix::fs::chmodat(&parent, &name, mode, AtFlags::empty()).unwrap();
}
