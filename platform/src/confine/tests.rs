//! The two locks are independent: what the resolver gets wrong, the domain refuses.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, mpsc};
use std::{fmt, fs, thread};

use rustix::fs::OFlags;

use crate::assurance::{Confinement, Enforcement, Options, Resolution};
use crate::dir::{Dir, Hold};
use crate::error::{ErrorKind, Fault};
use crate::fence::Fence;
use crate::local::Local;
use crate::mutation::{Mutation, Parents, Precondition, Removal, Terms};
use crate::path::{LinkText, RelPath, RootedPath};
use crate::resolve::{Anchor, Openat2, Place, Resolve, Rules, Scope, Trail};
use crate::roots::{Root, RootId, Roots};
use crate::stat::Follow;

/// A resolver that misbehaves at the end of each lookup.
struct Bent<F> {
    honest: Openat2,
    bend: F,
}

impl<F> fmt::Debug for Bent<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.honest.fmt(f)
    }
}

impl<F> Resolve for Bent<F>
where
    F: Fn(Place) -> Place + Send + Sync + 'static,
{
    fn pin(&self, root: &Root, trail: &Trail, hold: Hold) -> Result<Place, Fault> {
        self.honest.pin(root, trail, hold).map(&self.bend)
    }

    fn open(&self, root: &Root, path: &Path, flags: OFlags) -> Result<OwnedFd, Fault> {
        self.honest.open(root, path, flags)
    }

    fn count_links(&self, root: &Root, path: &Path) -> Result<(), Fault> {
        self.honest.count_links(root, path)
    }

    fn rules(&self) -> Rules {
        self.honest.rules()
    }
}

/// A workspace with a directory and a file in it, and the same outside.
struct Stage {
    base: tempfile::TempDir,
    roots: Roots,
}

impl Stage {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        for place in ["ws/sub/full", "out/sub/full"] {
            fs::create_dir_all(base.path().join(place)).unwrap();
            fs::write(base.path().join(place).join("file"), "old").unwrap();
            fs::write(base.path().join(place).join("../file"), "old").unwrap();
        }
        let roots = Roots::open([base.path().join("ws")]).unwrap();
        Self { base, roots }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.base.path().join(path)
    }

    fn fence<F>(&self, bend: F) -> Box<dyn Fence>
    where
        F: Fn(Place) -> Place + Send + Sync + 'static,
    {
        let rules = Rules::new(Scope::Beneath, Options::default());
        let honest = Openat2::proven(&self.roots, rules).unwrap();
        let bent = Bent { honest, bend };
        let fence =
            Local::new(&self.roots, Box::new(bent), Resolution::Openat2, Confinement::Landlock)
                .unwrap();
        assert_eq!(fence.assurance().level, Enforcement::Confined);
        Box::new(fence)
    }

    /// Every entry beneath `place` with its contents.
    fn picture(&self, place: &str) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut found = Vec::new();
        let mut ahead = vec![self.path(place)];
        while let Some(dir) = ahead.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    ahead.push(path.clone());
                }
                found.push((path.clone(), fs::read(path).ok()));
            }
        }
        found.sort();
        found
    }
}

fn at(path: &str) -> RootedPath {
    RootedPath::new(RootId(0), RelPath::new(path).unwrap())
}

fn every_mutation() -> Vec<Mutation> {
    let write = |path, when| Mutation::Write {
        path: at(path),
        contents: b"new".to_vec(),
        when,
        parents: Parents::Create,
    };
    let remove = |path, what| Mutation::Remove { path: at(path), what };
    vec![
        write("sub/new", Precondition::Absent),
        write("sub/file", Precondition::None),
        write("sub/not/there/new", Precondition::None),
        Mutation::CreateDir { path: at("sub/new"), parents: Parents::Create },
        remove("sub/file", Removal::File),
        remove("sub/full", Removal::Tree),
        Mutation::Rename { from: at("sub/file"), to: at("sub/moved"), when: Precondition::Absent },
        Mutation::Rename { from: at("sub/file"), to: at("sub/moved"), when: Precondition::None },
        Mutation::Exchange { first: at("sub/file"), second: at("sub/full") },
        Mutation::Symlink { path: at("sub/link"), text: LinkText::new("file").unwrap() },
    ]
}

fn replace_dir(place: Place, dir: Dir) -> Place {
    match place {
        Place::Dir(_) => Place::Dir(dir),
        Place::Entry(anchor) => Place::Entry(Anchor { dir, ..anchor }),
    }
}

#[test]
fn the_kernel_refuses_what_a_lying_resolver_allows() {
    let stage = Stage::new();
    let outside = stage.path("out/sub");
    let fence = stage.fence(move |place| replace_dir(place, Dir::open_ambient(&outside).unwrap()));
    let before = (stage.picture("ws"), stage.picture("out"));
    for mutation in every_mutation() {
        let shown = format!("{mutation:?}");
        let error = fence.apply(mutation, &Terms::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Escape, "{shown}: {error:?}");
    }
    assert_eq!((stage.picture("ws"), stage.picture("out")), before);
}

#[test]
fn nothing_follows_a_parent_that_is_moved_out_between_resolving_and_acting() {
    for mutation in every_mutation() {
        let stage = Stage::new();
        let (from, to) = (stage.path("ws/sub"), stage.path("away"));
        // The confined thread, and what it starts, could not do this.
        let (move_out, asked) = mpsc::sync_channel(0);
        let (tell, moved) = mpsc::sync_channel(0);
        let mover = thread::spawn(move || {
            for () in asked {
                if from.exists() {
                    fs::rename(&from, &to).unwrap();
                }
                tell.send(()).unwrap();
            }
        });
        let moved = Mutex::new(moved);
        let fence = stage.fence(move |place| {
            move_out.send(()).unwrap();
            moved.lock().unwrap().recv().unwrap();
            place
        });
        let before = stage.picture("ws/sub");
        let shown = format!("{mutation:?}");
        let error = fence.apply(mutation, &Terms::default()).unwrap_err();
        // A rename looks its second end up after the move, and finds nothing.
        let refused = [ErrorKind::Escape, ErrorKind::NotFound].contains(&error.kind());
        assert!(refused, "{shown}: {error:?}");
        drop(fence);
        mover.join().unwrap();
        fs::rename(stage.path("away"), stage.path("ws/sub")).unwrap();
        assert_eq!(stage.picture("ws/sub"), before, "{shown}");
    }
}

#[test]
fn a_way_that_others_make_after_it_was_looked_for_leads_to_no_protected_place() {
    let beneath = |path| Mutation::Write {
        path: at(path),
        contents: b"new".to_vec(),
        when: Precondition::None,
        parents: Parents::Create,
    };
    for mutation in [
        beneath("way/kept/file"),
        beneath("way/kept/sub/file"),
        Mutation::CreateDir { path: at("way/kept"), parents: Parents::Create },
        Mutation::CreateDir { path: at("way/kept/sub"), parents: Parents::Create },
    ] {
        let mut stage = Stage::new();
        stage.roots = stage.roots.protecting([at("way/kept")]);
        let way = stage.path("ws/way");
        let fence = stage.fence(move |place| {
            fs::create_dir_all(&way).unwrap();
            place
        });
        let shown = format!("{mutation:?}");
        let error = fence.apply(mutation, &Terms::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protected, "{shown}: {error:?}");
        assert!(stage.path("ws/way").exists() && !stage.path("ws/way/kept").exists(), "{shown}");
    }
}

#[test]
fn a_panic_in_a_change_refuses_every_later_change() {
    let stage = Stage::new();
    let fence = stage.fence(|_| panic!("a bug"));
    for _ in 0..3 {
        for mutation in every_mutation() {
            let error = fence.apply(mutation, &Terms::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConfinementLost);
        }
    }
    assert_eq!(fs::read(stage.path("ws/sub/file")).unwrap(), b"old");
}

#[test]
fn only_the_confined_thread_is_confined() {
    let stage = Stage::new();
    let fence = stage.fence(|place| place);
    let write = every_mutation().swap_remove(1);
    let receipt = fence.apply(write, &Terms::default()).unwrap();
    assert_eq!(receipt.enforcement, Enforcement::Confined);
    assert_eq!(fs::read(stage.path("ws/sub/file")).unwrap(), b"new");
    fs::write(stage.path("out/by this thread"), "").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| fs::write(stage.path("out/by a later thread"), "").unwrap());
    });
    assert!(fence.stat(&at("sub/file"), Follow::No).unwrap().found.is_some());
}
