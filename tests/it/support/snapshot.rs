//! Pictures of a directory tree, and what changed between two of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ringfence_platform::Digest;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, StatxFlags};
use rustix::io::Errno;
use serde::Deserialize;

use super::base::{names, open_dir};

/// What kind of thing an entry is, as the case tables call it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NodeKind {
    File,
    Dir,
    Symlink,
    Fifo,
    Socket,
    BlkDev,
    ChrDev,
}

impl NodeKind {
    pub(crate) fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::BlockDevice => Self::BlkDev,
            FileType::CharacterDevice => Self::ChrDev,
            FileType::Unknown => panic!("{:o} is no kind of file", stat.st_mode),
        }
    }
}

/// One change between two pictures; paths are beneath the root, or begin with `$BASE`.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(try_from = "Vec<String>")]
pub(crate) enum Effect {
    New(NodeKind, String),
    Gone(NodeKind, String),
    Moved(String, String),
    Linked(String, String),
    Replaced(String),
    Mode(String),
    /// The content changed, in one and the same file.
    Size(String),
    Mtime(String),
}

impl TryFrom<Vec<String>> for Effect {
    type Error = String;

    fn try_from(parts: Vec<String>) -> Result<Self, String> {
        let kind = |text: &str| {
            serde_json::from_value(text.into()).map_err(|_| format!("{text:?} is no kind"))
        };
        let parts: Vec<_> = parts.iter().map(String::as_str).collect();
        Ok(match parts[..] {
            ["new", k, p] => Self::New(kind(k)?, p.to_owned()),
            ["gone", k, p] => Self::Gone(kind(k)?, p.to_owned()),
            ["moved", from, to] => Self::Moved(from.to_owned(), to.to_owned()),
            ["linked", old, new] => Self::Linked(old.to_owned(), new.to_owned()),
            ["replaced", p] => Self::Replaced(p.to_owned()),
            ["mode", p] => Self::Mode(p.to_owned()),
            ["size", p] => Self::Size(p.to_owned()),
            ["mtime", p] => Self::Mtime(p.to_owned()),
            _ => return Err(format!("no effect is written {parts:?}")),
        })
    }
}

/// Which inode, of which kind, born when: a number is given again when its file is gone.
type Identity = (u64, u64, NodeKind, Option<(i64, u32)>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct Node {
    identity: Identity,
    mode: u32,
    owner: (u32, u32),
    size: i64,
    mtime: (i64, i64),
    rdev: u64,
    /// The text of a link.
    text: Option<OsString>,
    /// Of a regular file that this user may read.
    contents: Option<Digest>,
}

impl Node {
    fn kind(&self) -> NodeKind {
        self.identity.2
    }

    fn is_dir(&self) -> bool {
        self.kind() == NodeKind::Dir
    }
}

/// A picture of a directory and all that is beneath it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, Node>);

impl Snapshot {
    /// Looks at everything beneath `top` and at `top` itself, on every mount.
    pub(crate) fn take(top: &Path) -> Self {
        let mut nodes = BTreeMap::new();
        let mut here = open_dir(CWD, top).expect("the top of a picture can be opened");
        nodes.insert(PathBuf::new(), look(&here, OsString::from(".")));
        // By name and back up by `..`: the tree may be deeper than a path can be long and than
        // the process may hold descriptors.
        let mut to_do = vec![(PathBuf::new(), names(&here).expect("the top can be listed"))];
        while let Some((path, rest)) = to_do.last_mut() {
            if let Some(name) = rest.pop() {
                let path = path.join(&name);
                let node = look(&here, name.clone());
                let inner = if node.is_dir() { enter(&here, name) } else { None };
                nodes.insert(path.clone(), node);
                if let Some(inner) = inner {
                    to_do.push((path, names(&inner).expect("it was opened to be listed")));
                    here = inner;
                }
            } else {
                to_do.pop();
                if !to_do.is_empty() {
                    here = open_dir(&here, "..").expect("the way up is open");
                }
            }
        }
        Self(nodes)
    }

    /// The part that lies beneath none of `roots`.
    pub(crate) fn outside(&self, roots: &[&Path]) -> Self {
        let outside = |path: &Path| !roots.iter().any(|root| path.starts_with(root));
        Self(
            self.0
                .iter()
                .filter(|(p, _)| outside(p))
                .map(|(p, n)| (p.clone(), n.clone()))
                .collect(),
        )
    }

    /// The same, as if no directory had ever changed.
    pub(crate) fn without_times_of_dirs(&self) -> Self {
        let mut without = self.clone();
        for node in without.0.values_mut().filter(|node| node.is_dir()) {
            node.mtime = (0, 0);
        }
        without
    }

    /// Everything that is not exactly as it was, one line each.
    pub(crate) fn differences(&self, after: &Self) -> Vec<String> {
        let paths: BTreeSet<_> = self.0.keys().chain(after.0.keys()).collect();
        paths
            .into_iter()
            .filter_map(|path| match (self.0.get(path), after.0.get(path)) {
                (Some(old), Some(new)) if old == new => None,
                (old, new) => Some(format!("{}: {old:?} became {new:?}", path.display())),
            })
            .collect()
    }

    /// What changed, in the words of the case tables. `root` is where paths begin.
    pub(crate) fn effects(&self, after: &Self, root: Option<&Path>) -> BTreeSet<Effect> {
        let spell = |path: &Path| match root.map(|root| path.strip_prefix(root)) {
            Some(Ok(inside)) if inside.as_os_str().is_empty() => ".".to_owned(),
            Some(Ok(inside)) => inside.display().to_string(),
            Some(Err(_)) | None => format!("$BASE/{}", path.display()),
        };
        let moves = self.moves(after);
        let moved = moves.iter().map(|(from, to)| Effect::Moved(spell(from), spell(to)));
        let mut effects: BTreeSet<_> = moved.collect();
        let expected = self.with_moves(&moves);
        let paths: BTreeSet<_> = expected.keys().chain(after.0.keys()).collect();
        for path in paths {
            match (expected.get(path), after.0.get(path)) {
                (None, Some(new)) => {
                    effects.insert(match self.other_name(after, new) {
                        Some(old) => Effect::Linked(spell(old), spell(path)),
                        None => Effect::New(new.kind(), spell(path)),
                    });
                }
                (Some((_, old)), None) => {
                    let is_gone =
                        |dir: &Path| expected.contains_key(dir) && !after.0.contains_key(dir);
                    if !path.parent().is_some_and(is_gone) {
                        effects.insert(Effect::Gone(old.kind(), spell(path)));
                    }
                }
                (Some((_, old)), Some(new)) if old.identity != new.identity => {
                    effects.insert(Effect::Replaced(spell(path)));
                }
                (Some((original, old)), Some(new)) => {
                    if (old.mode, old.owner) != (new.mode, new.owner) {
                        effects.insert(Effect::Mode(spell(path)));
                    }
                    let same_contents = if old.is_dir() {
                        self.children(original) == after.children(path)
                    } else {
                        (old.size, &old.contents) == (new.size, &new.contents)
                    };
                    if !same_contents && !old.is_dir() {
                        effects.insert(Effect::Size(spell(path)));
                    } else if same_contents && old.mtime != new.mtime {
                        effects.insert(Effect::Mtime(spell(path)));
                    }
                }
                (None, None) => {}
            }
        }
        effects
    }

    /// Entries that have another name; what lies in a directory that moved is not listed.
    fn moves(&self, after: &Self) -> Vec<(PathBuf, PathBuf)> {
        let (before, now) = (self.by_identity(), after.by_identity());
        let mut all = Vec::new();
        for (identity, old) in &before {
            let Some(new) = now.get(identity) else { continue };
            all.extend(old.difference(new).copied().zip(new.difference(old).copied()));
        }
        all.sort_by_key(|(from, _)| from.components().count());
        let mut moves: Vec<(PathBuf, PathBuf)> = Vec::new();
        for (from, to) in all {
            if place(&moves, from) != *to {
                moves.push((from.clone(), to.clone()));
            }
        }
        moves
    }

    /// This picture as it would be if only the moves had happened, with the original paths.
    fn with_moves(&self, moves: &[(PathBuf, PathBuf)]) -> BTreeMap<PathBuf, (&Path, &Node)> {
        let all = || self.0.iter().map(|(path, node)| (place(moves, path), (path.as_path(), node)));
        let stayed = all().filter(|(now, (path, _))| now == path);
        let went = all().filter(|(now, (path, _))| now != path);
        // What has moved stands on the place of what it overwrote.
        stayed.chain(went).collect()
    }

    fn by_identity(&self) -> BTreeMap<Identity, BTreeSet<&PathBuf>> {
        let mut map: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (path, node) in &self.0 {
            map.entry(node.identity).or_default().insert(path);
        }
        map
    }

    fn other_name<'a>(&'a self, after: &Self, node: &Node) -> Option<&'a Path> {
        let is_kept = |path: &Path| after.0.get(path).is_some_and(|n| n.identity == node.identity);
        let mut old = self.0.iter().filter(|(_, old)| old.identity == node.identity);
        old.find(|(path, _)| is_kept(path)).map(|(path, _)| path.as_path())
    }

    fn children(&self, dir: &Path) -> BTreeSet<(&Path, Identity)> {
        let beneath = self.0.range(dir.to_owned()..).take_while(|(path, _)| path.starts_with(dir));
        beneath
            .filter(|(path, _)| path.parent() == Some(dir))
            .map(|(path, node)| (path.strip_prefix(dir).expect("it is beneath"), node.identity))
            .collect()
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(path, node)| writeln!(f, "{}: {node:?}", path.display()))
    }
}

/// Where `path` is after `moves`, of which none lies beneath another.
fn place(moves: &[(PathBuf, PathBuf)], path: &Path) -> PathBuf {
    moves
        .iter()
        .filter_map(|(from, to)| path.strip_prefix(from).ok().map(|rest| (from, to, rest)))
        .max_by_key(|(from, ..)| from.components().count())
        .map_or_else(
            || path.to_owned(),
            // Joining nothing would leave a slash at the end.
            |(_, to, rest)| if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) },
        )
}

fn look(dir: &OwnedFd, name: OsString) -> Node {
    let stat = rustix::fs::statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW)
        .unwrap_or_else(|error| panic!("cannot look at {name:?}: {error}"));
    let kind = NodeKind::of(&stat);
    let text = (kind == NodeKind::Symlink).then(|| {
        use std::os::unix::ffi::OsStringExt;
        let text = rustix::fs::readlinkat(dir, &name, Vec::new()).expect("a link has a text");
        OsString::from_vec(text.into_bytes())
    });
    let contents = if kind == NodeKind::File { digest(dir, &name) } else { None };
    Node {
        identity: (stat.st_dev, stat.st_ino, kind, born(dir, &name)),
        mode: stat.st_mode,
        owner: (stat.st_uid, stat.st_gid),
        size: stat.st_size,
        mtime: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).expect("less than a second")),
        rdev: stat.st_rdev,
        text,
        contents,
    }
}

/// When the file was made, where the file system and the kernel tell.
fn born(dir: &OwnedFd, name: &OsString) -> Option<(i64, u32)> {
    let statx = rustix::fs::statx(dir, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
    let tells = statx.stx_mask & StatxFlags::BTIME.bits() != 0;
    tells.then_some((statx.stx_btime.tv_sec, statx.stx_btime.tv_nsec))
}

fn digest(dir: &OwnedFd, name: &OsString) -> Option<Digest> {
    use std::io::Read;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Ok(fd) => std::fs::File::from(fd),
        Err(Errno::ACCESS) => return None,
        Err(error) => panic!("cannot read {name:?}: {error}"),
    };
    let mut bytes = Vec::new();
    (&file).read_to_end(&mut bytes).expect("a regular file can be read");
    Some(Digest::of(&bytes))
}

/// The directory, unless this user may not list it or pass through it.
fn enter(dir: &OwnedFd, name: OsString) -> Option<OwnedFd> {
    let inner = match open_dir(dir, name) {
        Ok(inner) => inner,
        Err(Errno::ACCESS) => return None,
        Err(error) => panic!("cannot enter a directory: {error}"),
    };
    rustix::fs::statat(&inner, ".", AtFlags::empty()).is_ok().then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::super::{Stage, Tree, dir, file, hard, link};
    use super::{Effect, NodeKind, Snapshot};

    fn effects(tree: &Tree, act: impl FnOnce(&std::path::Path)) -> Vec<Effect> {
        let stage = Stage::new(tree);
        let before = stage.snapshot();
        act(stage.root());
        before.effects(&stage.snapshot(), stage.root_in_base()).into_iter().collect()
    }

    fn tree() -> Tree {
        Tree::inside([file("d/f", "data"), dir("e"), link("l", "d"), file("g", "g")])
            .outside([file("out/secret", "out")])
    }

    #[test]
    fn nothing_done_is_no_effect() {
        assert_eq!(effects(&tree(), |_| {}), []);
    }

    #[test]
    fn a_move_lists_the_directory_and_not_what_is_in_it() {
        let moved = effects(&tree(), |root| {
            std::fs::rename(root.join("d"), root.join("e/d")).unwrap();
        });
        assert_eq!(moved, [Effect::Moved("d".into(), "e/d".into())]);
    }

    #[test]
    fn an_exchange_is_two_moves() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let moved = effects(&tree(), |root| {
            renameat_with(CWD, root.join("d"), CWD, root.join("l"), RenameFlags::EXCHANGE).unwrap();
        });
        assert_eq!(
            moved,
            [Effect::Moved("d".into(), "l".into()), Effect::Moved("l".into(), "d".into())]
        );
    }

    #[test]
    fn what_a_move_overwrites_is_not_listed() {
        let moved = effects(&tree(), |root| {
            std::fs::rename(root.join("g"), root.join("d/f")).unwrap();
        });
        assert_eq!(moved, [Effect::Moved("g".into(), "d/f".into())]);
    }

    #[test]
    fn a_change_in_a_moved_directory_is_listed_at_its_new_place() {
        let changed = effects(&tree(), |root| {
            std::fs::write(root.join("d/f"), "longer than before").unwrap();
            std::fs::write(root.join("d/new"), "").unwrap();
            std::fs::rename(root.join("d"), root.join("z")).unwrap();
        });
        assert_eq!(
            changed,
            [
                Effect::New(NodeKind::File, "z/new".into()),
                Effect::Moved("d".into(), "z".into()),
                Effect::Size("z/f".into()),
            ]
        );
    }

    #[test]
    fn each_kind_of_change_has_its_word() {
        use std::os::unix::fs::PermissionsExt;
        let changed = effects(&tree(), |root| {
            std::fs::set_permissions(root.join("e"), std::fs::Permissions::from_mode(0o700))
                .unwrap();
            std::fs::hard_link(root.join("g"), root.join("g2")).unwrap();
            std::fs::write(root.join("../out/secret"), "written").unwrap();
            std::fs::write(root.join("e/scratch"), "x").unwrap();
            std::fs::remove_file(root.join("l")).unwrap();
            std::fs::create_dir(root.join("l")).unwrap();
            // Last: where no birth is told, a new file may pass for one that is gone.
            std::fs::remove_dir_all(root.join("d")).unwrap();
        });
        assert_eq!(
            changed,
            [
                Effect::New(NodeKind::File, "e/scratch".into()),
                Effect::Gone(NodeKind::Dir, "d".into()),
                Effect::Linked("g".into(), "g2".into()),
                Effect::Replaced("l".into()),
                Effect::Mode("e".into()),
                Effect::Size("$BASE/out/secret".into()),
            ]
        );
    }

    #[test]
    fn an_entry_that_came_and_went_shows_in_the_time_of_its_directory() {
        let stage = Stage::new(&tree());
        let past = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
        std::fs::File::open(stage.root().join("e")).unwrap().set_modified(past).unwrap();
        let before = stage.snapshot();
        std::fs::write(stage.root().join("e/scratch"), "").unwrap();
        std::fs::remove_file(stage.root().join("e/scratch")).unwrap();
        let after = stage.snapshot();
        let effects: Vec<_> = before.effects(&after, stage.root_in_base()).into_iter().collect();
        assert_eq!(effects, [Effect::Mtime("e".into())]);
        assert_eq!(before.differences(&after).len(), 1);
    }

    #[test]
    fn outside_is_what_no_root_covers() {
        let tree = Tree::inside([file("g", "g"), hard("alias", "out/secret")])
            .outside([file("out/secret", "out")]);
        let stage = Stage::new(&tree);
        let before = stage.snapshot();
        std::fs::write(stage.root().join("g"), "changed").unwrap();
        stage.assert_outside_unchanged(&before);
        std::fs::write(stage.root().join("alias"), "changed through another name").unwrap();
        let outside = |picture: &Snapshot| picture.outside(&[std::path::Path::new("ROOT")]);
        assert_eq!(outside(&before).differences(&outside(&stage.snapshot())).len(), 1);
    }
}
