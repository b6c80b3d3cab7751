//! What a change does to a tree in memory, as far as no link has a say in it.

use std::path::{Path, PathBuf};

use ringfence_platform::{Parents, Removal};

use super::scene::{Node, Shape, in_shape};
use super::{Answer, Change, Place, When};

/// The answer and the tree after `change`; nothing where a link is involved, or where what happens
/// is not cheap to say.
pub(super) fn model(before: &Shape, change: &Change) -> Option<(Answer, Shape)> {
    let mut tree = Plain { shape: before.clone(), parents_made: 0 };
    let done = match change {
        Change::Write { at, contents, when, parents } => {
            tree.write(&plain(before, at)?, contents, *when, *parents)
        }
        Change::CreateDir { at, parents } => tree.create_dir(&plain(before, at)?, *parents),
        Change::Remove { at, what } => tree.remove(&plain(before, at)?, *what),
        Change::Rename { from, to, when } => {
            let (from, to) = apart(plain(before, from)?, plain(before, to)?)?;
            // What an expected version is good for is told by a write.
            let simple = matches!(when, When::None | When::Absent);
            simple.then(|| tree.rename(&from, &to, *when))?
        }
        Change::Exchange { first, second } => {
            let (first, second) = apart(plain(before, first)?, plain(before, second)?)?;
            tree.exchange(&first, &second)
        }
        Change::Symlink { at, text } => {
            let stays = !text.contains("..") && !text.starts_with(['/', '$']);
            let plain = plain(before, at)?;
            // What the text leads to is a matter of links again if there are any.
            let no_links = !before.values().any(|node| matches!(node, Node::Link(_)));
            (stays && no_links).then(|| tree.symlink(&plain, text))?
        }
    };
    let answer = done.map(|effect| format!("{effect} {}", tree.parents_made));
    let answer = answer.map_err(ToOwned::to_owned);
    Some((answer, tree.shape))
}

/// The place in the shape, if there is no link on the way or at it.
fn plain(shape: &Shape, place: &Place) -> Option<PathBuf> {
    let path = in_shape(place.root, &place.path);
    let is_link = |path: &Path| matches!(shape.get(path), Some(Node::Link(_)));
    (!path.ancestors().any(is_link)).then_some(path)
}

/// Two places of which neither lies beneath the other.
fn apart(one: PathBuf, other: PathBuf) -> Option<(PathBuf, PathBuf)> {
    (!one.starts_with(&other) && !other.starts_with(&one)).then_some((one, other))
}

/// A tree without links.
struct Plain {
    shape: Shape,
    parents_made: u32,
}

/// The effect, or the kind of the error.
type Done = Result<&'static str, &'static str>;

impl Plain {
    /// Goes to the parent of `path`.
    fn enter(&mut self, path: &Path, parents: Parents) -> Result<(), &'static str> {
        let mut way: Vec<_> = path.ancestors().skip(1).collect();
        way.reverse();
        for dir in way.into_iter().filter(|dir| !dir.as_os_str().is_empty()) {
            match self.shape.get(dir) {
                Some(Node::Dir) => {}
                Some(_) => return Err("WrongKind"),
                None if parents == Parents::Require => return Err("NotFound"),
                None => {
                    self.shape.insert(dir.to_owned(), Node::Dir);
                    self.parents_made += 1;
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, path: &Path, text: &str, when: When, parents: Parents) -> Done {
        if when == When::Current {
            // The look before it is a look only.
            self.enter(path, Parents::Require)?;
            match self.shape.get(path) {
                None => return Err("NotFound"),
                Some(Node::Dir) => return Err("WrongKind"),
                Some(_) => {}
            }
        }
        if when == When::Other {
            self.enter(path, Parents::Require).map_err(|kind| match kind {
                "NotFound" => "Stale",
                other => other,
            })?;
        }
        self.enter(path, parents)?;
        let effect = match (self.shape.get(path), when) {
            (Some(Node::Dir), _) => return Err("WrongKind"),
            (Some(_), When::Absent) => return Err("AlreadyExists"),
            (_, When::Other) => return Err("Stale"),
            (Some(Node::File(old)), _) if old == text.as_bytes() => "Unchanged",
            (Some(_), When::None | When::Current) => "Replaced",
            (None, _) => "Created",
        };
        self.shape.insert(path.to_owned(), Node::File(text.as_bytes().to_vec()));
        Ok(effect)
    }

    fn create_dir(&mut self, path: &Path, parents: Parents) -> Done {
        self.enter(path, parents)?;
        match self.shape.get(path) {
            Some(Node::Dir) => Ok("Unchanged"),
            Some(_) => Err("AlreadyExists"),
            None => {
                self.shape.insert(path.to_owned(), Node::Dir);
                Ok("Created")
            }
        }
    }

    fn remove(&mut self, path: &Path, what: Removal) -> Done {
        self.enter(path, Parents::Require)?;
        match (self.shape.get(path).ok_or("NotFound")?, what) {
            (Node::Dir, Removal::File) => return Err("WrongKind"),
            (Node::Dir, Removal::EmptyDir) if self.is_full(path) => return Err("WrongKind"),
            (Node::File(_), Removal::EmptyDir) => return Err("WrongKind"),
            _ => {}
        }
        self.shape.retain(|other, _| !other.starts_with(path));
        Ok("Removed")
    }

    fn rename(&mut self, from: &Path, to: &Path, when: When) -> Done {
        self.enter(from, Parents::Require)?;
        self.enter(to, Parents::Require)?;
        let moved = self.shape.get(from).ok_or("NotFound")?;
        match (moved, self.shape.get(to)) {
            (_, None) => {}
            (_, Some(_)) if when == When::Absent => return Err("AlreadyExists"),
            (Node::Dir, Some(Node::Dir)) if self.is_full(to) => return Err("WrongKind"),
            (Node::Dir, Some(Node::Dir)) | (Node::File(_), Some(Node::File(_))) => {}
            (_, Some(_)) => return Err("WrongKind"),
        }
        let moved = self.take(from);
        self.shape.remove(to);
        self.put(to, moved);
        Ok("Renamed")
    }

    fn exchange(&mut self, first: &Path, second: &Path) -> Done {
        self.enter(first, Parents::Require)?;
        self.enter(second, Parents::Require)?;
        if !self.shape.contains_key(first) || !self.shape.contains_key(second) {
            return Err("NotFound");
        }
        let (one, other) = (self.take(first), self.take(second));
        self.put(second, one);
        self.put(first, other);
        Ok("Exchanged")
    }

    fn symlink(&mut self, path: &Path, text: &str) -> Done {
        self.enter(path, Parents::Require)?;
        if self.shape.contains_key(path) {
            return Err("AlreadyExists");
        }
        self.shape.insert(path.to_owned(), Node::Link(text.to_owned()));
        Ok("Created")
    }

    fn is_full(&self, dir: &Path) -> bool {
        self.shape.keys().any(|path| path.parent() == Some(dir))
    }

    /// Takes a thing and all beneath it out of the tree.
    fn take(&mut self, path: &Path) -> Vec<(PathBuf, Node)> {
        let taken: Vec<_> = self
            .shape
            .iter()
            .filter(|(other, _)| other.starts_with(path))
            .map(|(other, node)| {
                (other.strip_prefix(path).expect("it is").to_owned(), node.clone())
            })
            .collect();
        self.shape.retain(|other, _| !other.starts_with(path));
        taken
    }

    fn put(&mut self, path: &Path, taken: Vec<(PathBuf, Node)>) {
        for (rest, node) in taken {
            let place = if rest.as_os_str().is_empty() { path.to_owned() } else { path.join(rest) };
            self.shape.insert(place, node);
        }
    }
}
