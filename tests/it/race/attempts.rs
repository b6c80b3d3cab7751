//! Every change that a fence can make, aimed at what the attacker moves.

use std::cell::Cell;
use std::io::Read;

use ringfence_platform::{
    Cancel, Digest, Fence, LinkText, Mutation, Parents, Precondition, RelPath, Removal, RootId,
    RootedPath, Stamp,
};

use crate::cases::Op;

/// What the fence is around, and what was last read there.
#[derive(Debug)]
pub(super) struct Scene {
    roots: [RootId; 2],
    /// The version of `p/m` that was read last.
    read: Option<(Stamp, Digest)>,
    /// A name that was listed in `p` last.
    listed: String,
    /// How many writes have been tried.
    writes: Cell<usize>,
}

impl Scene {
    pub(super) fn new(fence: &dyn Fence) -> Self {
        let ids: Vec<_> = fence.roots().iter().map(|root| root.id()).collect();
        let roots = ids.try_into().expect("the fence is around two roots");
        Self { roots, read: None, listed: "x".to_owned(), writes: Cell::new(0) }
    }

    pub(super) fn path(&self, path: &str) -> RootedPath {
        RootedPath::new(self.roots[0], RelPath::new(path).unwrap())
    }

    fn in_second(&self, path: &str) -> RootedPath {
        RootedPath::new(self.roots[1], RelPath::new(path).unwrap())
    }

    fn write(&self, path: &str, when: Precondition) -> Mutation {
        let path = self.path(path);
        // What is there already would not be written.
        self.writes.set(self.writes.get() + 1);
        let contents = format!("{} {}", super::INSIDE, self.writes.get()).into_bytes();
        Mutation::Write { path, contents, when, parents: Parents::Require }
    }

    fn rename(&self, from: &str, to: &str, when: Precondition) -> Mutation {
        Mutation::Rename { from: self.path(from), to: self.path(to), when }
    }

    fn remove(&self, path: &str, what: Removal) -> Mutation {
        Mutation::Remove { path: self.path(path), what }
    }

    fn last_read(&self) -> Precondition {
        match self.read {
            Some((stamp, digest)) => Precondition::Matches { stamp, digest: Some(digest) },
            None => Precondition::Absent,
        }
    }

    /// Reads and lists what the changes go by. Returns what came from outside.
    pub(super) fn look(&mut self, fence: &dyn Fence, round: usize) -> Vec<String> {
        let mut from_outside = Vec::new();
        if let Ok(mut snapshot) = fence.open(&self.path("p/m")) {
            let mut text = String::new();
            snapshot.file.read_to_string(&mut text).unwrap();
            if !text.starts_with(super::INSIDE) {
                from_outside.push(format!("read {text:?}"));
            }
            self.read = Some((snapshot.stamp, Digest::of(text.as_bytes())));
        }
        if let Ok(entries) = fence.list(&self.path("p"), &Cancel::never()) {
            let names = entries.iter().map(|entry| entry.name.to_string_lossy());
            from_outside.extend(names.filter(|n| n.starts_with("out")).map(|n| format!("saw {n}")));
            if let Some(entry) = entries.get(round % entries.len().max(1)) {
                self.listed = entry.name.to_string_lossy().into_owned();
            }
        }
        from_outside
    }
}

/// One way to change something in a directory that may be elsewhere by then.
pub(super) struct Attempt {
    pub(super) name: &'static str,
    /// The operation of the case tables that it is.
    pub(super) op: Op,
    pub(super) change: fn(&Scene) -> Mutation,
}

/// One round. Each undoes what one before it did, so that all can go on succeeding; and each is
/// aimed at a name that is also there outside.
pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt {
        name: "write",
        op: Op::Write,
        change: |scene| scene.write("p/x", Precondition::None),
    },
    Attempt {
        name: "write where nothing is",
        op: Op::CreateNew,
        change: |scene| scene.write("p/new", Precondition::Absent),
    },
    Attempt {
        name: "write over what was read",
        op: Op::Replace,
        change: |scene| scene.write("p/m", scene.last_read()),
    },
    Attempt {
        name: "write what was listed",
        op: Op::List,
        change: |scene| scene.write(&format!("p/{}", scene.listed), Precondition::None),
    },
    Attempt {
        name: "remove a file",
        op: Op::RemoveFile,
        change: |scene| scene.remove("p/new", Removal::File),
    },
    Attempt {
        name: "create a directory and those on the way",
        op: Op::MkdirAll,
        change: |scene| Mutation::CreateDir {
            path: scene.path("p/n/a/b/c"),
            parents: Parents::Create,
        },
    },
    Attempt {
        name: "remove a tree",
        op: Op::RemoveAll,
        change: |scene| scene.remove("p/n", Removal::Tree),
    },
    Attempt {
        name: "create a directory",
        op: Op::Mkdir,
        change: |scene| Mutation::CreateDir {
            path: scene.path("p/d/k"),
            parents: Parents::Require,
        },
    },
    Attempt {
        name: "remove a directory",
        op: Op::RemoveDir,
        change: |scene| scene.remove("p/d/k", Removal::EmptyDir),
    },
    Attempt {
        name: "write further down",
        op: Op::Write,
        change: |scene| scene.write("p/d/y", Precondition::None),
    },
    Attempt {
        name: "write further down where nothing is",
        op: Op::CreateNew,
        change: |scene| scene.write("p/d/z", Precondition::Absent),
    },
    Attempt {
        name: "exchange further down",
        op: Op::Rename,
        change: |scene| Mutation::Exchange {
            first: scene.path("p/d/y"),
            second: scene.path("p/d/z"),
        },
    },
    Attempt {
        name: "rename further down",
        op: Op::Rename,
        change: |scene| scene.rename("p/d/z", "p/d/y", Precondition::None),
    },
    Attempt {
        name: "create a symlink further down",
        op: Op::Symlink,
        change: |scene| Mutation::Symlink {
            path: scene.path("p/d/l"),
            text: LinkText::new("y").unwrap(),
        },
    },
    Attempt {
        name: "remove further down",
        op: Op::RemoveFile,
        change: |scene| scene.remove("p/d/l", Removal::File),
    },
    Attempt {
        name: "create a symlink",
        op: Op::Symlink,
        change: |scene| Mutation::Symlink {
            path: scene.path("p/l"),
            text: LinkText::new("x").unwrap(),
        },
    },
    Attempt {
        name: "remove a symlink",
        op: Op::RemoveFile,
        change: |scene| scene.remove("p/l", Removal::File),
    },
    Attempt {
        name: "rename into",
        op: Op::Rename,
        change: |scene| scene.rename("s", "p/r", Precondition::None),
    },
    Attempt {
        name: "rename within",
        op: Op::Rename,
        change: |scene| scene.rename("p/r", "p/r2", Precondition::None),
    },
    Attempt {
        name: "rename to another root",
        op: Op::Rename,
        change: |scene| Mutation::Rename {
            from: scene.path("p/r2"),
            to: scene.in_second("c"),
            when: Precondition::None,
        },
    },
    Attempt {
        name: "rename from another root where nothing is",
        op: Op::Rename,
        change: |scene| Mutation::Rename {
            from: scene.in_second("c"),
            to: scene.path("p/r"),
            when: Precondition::Absent,
        },
    },
    Attempt {
        name: "rename out of",
        op: Op::Rename,
        change: |scene| scene.rename("p/r", "s2", Precondition::None),
    },
    Attempt {
        name: "rename over what was read",
        op: Op::Rename,
        change: |scene| scene.rename("s2", "p/m", scene.last_read()),
    },
    Attempt {
        name: "exchange",
        op: Op::Rename,
        change: |scene| Mutation::Exchange { first: scene.path("s3"), second: scene.path("p/x") },
    },
    Attempt {
        name: "exchange with another root",
        op: Op::Rename,
        change: |scene| Mutation::Exchange {
            first: scene.in_second("e"),
            second: scene.path("p/x"),
        },
    },
];

/// What a round finds beside the directory that moves. It is set anew before each.
pub(super) const BESIDE: [&str; 3] = ["s", "s2", "s3"];
