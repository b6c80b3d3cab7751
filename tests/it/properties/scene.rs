//! A tree that was grown at random, and its shape.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ringfence_platform::Roots;

use crate::support::{Snapshot, Stage, Tree, dir, file};

/// What is planted beneath a root, where that is possible.
#[derive(Clone, Debug)]
pub(super) enum Plant {
    Dir(String),
    File(String, String),
    Link(String, &'static str),
}

/// Both roots, as directories of one tree.
const ROOTS: [&str; 2] = ["ROOT", "R2"];

impl Plant {
    /// The same beneath one of the roots.
    pub(super) fn beneath(self, root: usize) -> Self {
        let place = |path: String| format!("{}/{path}", ROOTS[root]);
        match self {
            Self::Dir(path) => Self::Dir(place(path)),
            Self::File(path, text) => Self::File(place(path), text),
            Self::Link(path, text) => Self::Link(place(path), text),
        }
    }
}

/// What there is at a place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Node {
    Dir,
    File(Vec<u8>),
    /// With `$BASE` for where the scene is.
    Link(String),
}

/// All that is beneath the roots, by path from where they lie.
pub(super) type Shape = BTreeMap<PathBuf, Node>;

#[derive(Debug)]
pub(super) struct Scene(Stage);

impl Scene {
    pub(super) fn new(plants: &[Plant]) -> Self {
        let outside = ["out/a", "out/b/c", "out/c/a/b", "a"].map(|path| file(path, "outside"));
        let tree = Tree::inside([]).outside(outside.into_iter().chain([dir("R2")]));
        let roots = ROOTS.map(ToOwned::to_owned).to_vec();
        let scene = Self(Stage::new(&Tree { roots, ..tree }));
        for plant in plants {
            scene.plant(plant);
        }
        scene
    }

    /// Grows a plant, unless something is in its way.
    fn plant(&self, plant: &Plant) {
        let path = match plant {
            Plant::Dir(path) | Plant::File(path, _) | Plant::Link(path, _) => path,
        };
        let mut here = self.0.base().to_owned();
        let (parent, leaf) = path.rsplit_once('/').expect("it lies beneath a root");
        for name in parent.split('/') {
            here.push(name);
            // One that is there may be a link: nothing is planted beyond.
            drop(std::fs::create_dir(&here));
            if !here.symlink_metadata().unwrap().is_dir() {
                return;
            }
        }
        here.push(leaf);
        if here.symlink_metadata().is_ok() {
            return;
        }
        match plant {
            Plant::Dir(_) => std::fs::create_dir(here).unwrap(),
            Plant::File(_, text) => std::fs::write(here, text).unwrap(),
            Plant::Link(_, text) => std::os::unix::fs::symlink(self.expand(text), here).unwrap(),
        }
    }

    pub(super) fn roots(&self) -> Roots {
        self.0.roots()
    }

    pub(super) fn expand(&self, text: &str) -> String {
        self.0.expand(text)
    }

    /// A picture of what no root covers.
    pub(super) fn outside(&self) -> Snapshot {
        self.0.snapshot().outside(&ROOTS.map(Path::new))
    }

    pub(super) fn shape(&self) -> Shape {
        let mut shape = Shape::new();
        for root in ROOTS {
            self.add(Path::new(root), &mut shape);
        }
        shape
    }

    fn add(&self, path: &Path, shape: &mut Shape) {
        let place = self.0.base().join(path);
        let kind = place.symlink_metadata().unwrap().file_type();
        let node = if kind.is_dir() {
            Node::Dir
        } else if kind.is_symlink() {
            let text = place.read_link().unwrap();
            let base = self.0.base().to_str().expect("a base has a plain path");
            Node::Link(String::from_utf8_lossy(text.as_os_str().as_bytes()).replace(base, "$BASE"))
        } else {
            Node::File(std::fs::read(&place).unwrap())
        };
        let is_dir = node == Node::Dir;
        shape.insert(path.to_owned(), node);
        if is_dir {
            for entry in std::fs::read_dir(place).unwrap() {
                self.add(&path.join(entry.unwrap().file_name()), shape);
            }
        }
    }
}

/// Where a path beneath a root is in a shape.
pub(super) fn in_shape(root: usize, path: &str) -> PathBuf {
    Path::new(ROOTS[root]).join(path)
}
