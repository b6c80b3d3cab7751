//! What a fence says beforehand about a change, and that it only says it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use ringfence_platform::{
    Digest, Durability, Effect as Did, ErrorKind, Fence, LinkText, Mutation, Parents, Precondition,
    Removal, Terms,
};

use crate::act::beneath;
use crate::support::{
    Stage, Tree, as_user, dir, each_fence, each_fence_on, fence_on, fifo, file, is_root, link,
    offered, sock, this_test, with_own_mounts,
};

const TERMS: fn() -> Terms = || Terms { durability: Durability::None, ..Terms::default() };

/// What there is for a write to meet.
fn tree() -> Tree {
    let long = "x".repeat(255);
    Tree::inside([
        file("f", "old"),
        file("d/f", "old"),
        dir("empty"),
        fifo("fifo"),
        sock("sock"),
        link("to-f", "f"),
        link("to-new", "d/new"),
        link("to-dir", "d"),
        link("to-dir-slash", "f/"),
        link("dangling", "nowhere/new"),
        link("loop", "loop"),
        link("out", "../out/f"),
        link("out-new", "../out/new"),
        link("out-dir", "../out"),
        link("absolute", "$BASE/ROOT/f"),
        dir(&format!("d/{long}")),
    ])
    .outside([file("out/f", "old")])
}

/// Paths of every kind, with whatever there is at them.
fn paths() -> Vec<String> {
    let long = "x".repeat(256);
    let plain = [
        "f",
        "new",
        "d",
        "d/f",
        "d/new",
        "empty",
        "empty/new",
        "fifo",
        "sock",
        "to-f",
        "to-new",
        "to-dir",
        "to-dir/f",
        "to-dir/new",
        "to-dir-slash",
        "dangling",
        "dangling/new",
        "loop",
        "loop/new",
        "out",
        "out-new",
        "out-dir",
        "out-dir/f",
        "out-dir/new",
        "out-dir/a/new",
        "absolute",
        "f/new",
        "f/a/new",
        "missing/new",
        "missing/a/new",
        "fifo/new",
    ];
    let long = [long.clone(), format!("missing/{long}"), format!("{long}/new")];
    plain.into_iter().map(ToOwned::to_owned).chain(long).collect()
}

/// Every precondition, of which two can be true of a file that is there.
fn preconditions(fence: &dyn Fence, path: &str) -> Vec<Precondition> {
    let mut all = vec![Precondition::None, Precondition::Absent];
    let f = beneath(fence, "f").unwrap();
    let other = fence.open(&f).ok();
    let own = beneath(fence, path).ok().and_then(|path| fence.open(&path).ok());
    for snapshot in own.into_iter().chain(other) {
        for digest in [None, Some(Digest::of(b"old")), Some(Digest::of(b"other"))] {
            all.push(Precondition::Matches { stamp: snapshot.stamp, digest });
        }
    }
    all
}

fn verdict<T>(result: ringfence_platform::Result<T>) -> Option<(ErrorKind, String)> {
    // What has been done on the way is of the write alone.
    let told = |text: String| text.replace("; a part of it was done, and remains", "");
    result.err().map(|error| (error.kind(), told(error.to_string())))
}

/// Rehearses and makes each write, and expects the same of both. What a write has changed is undone
/// by `anew`.
fn rehearse_all(stage: &Stage, fence: &dyn Fence, paths: &[String], anew: impl Fn()) {
    let (mut made, mut refused) = (0, 0);
    for path in paths {
        for parents in [Parents::Require, Parents::Create] {
            for when in preconditions(fence, path) {
                let write = || {
                    let (path, contents) = (beneath(fence, path).unwrap(), b"new".to_vec());
                    Mutation::Write { path, contents, when: when.clone(), parents }
                };
                let before = stage.snapshot();
                let rehearsed = verdict(fence.rehearse(&write()));
                stage.assert_unchanged(&before);
                let written = verdict(fence.apply(write(), &TERMS()));
                assert_eq!(rehearsed, written, "{path} {when:?} {parents:?}");
                match written {
                    None => {
                        made += 1;
                        anew();
                    }
                    Some(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 0 && (made > 0 || !is_root()), "{made} made and {refused} refused");
}

#[test]
fn a_rehearsal_says_what_the_write_will_say_and_changes_nothing() {
    each_fence_on(&tree(), |stage, fence| {
        let anew = || {
            for path in ["f", "d/f"] {
                std::fs::write(stage.root().join(path), "old").unwrap();
            }
            for path in ["new", "d/new", "empty/new"] {
                drop(std::fs::remove_file(stage.root().join(path)));
            }
            drop(std::fs::remove_dir_all(stage.root().join("missing")));
        };
        rehearse_all(stage, fence, &paths(), anew);
    });
}

#[test]
fn it_knows_the_rights_of_the_caller_and_tells_those_to_the_directory() {
    let paths = ["f", "new", "d/f", "d/new", "to-f", "to-new", "missing/new", "empty/a/new"];
    let paths = paths.map(ToOwned::to_owned);
    as_user(this_test!(), || {
        each_fence_on(&tree(), |stage, fence| {
            let set_mode = |path: &str, mode| {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(stage.root().join(path), mode).unwrap();
            };
            for (mode_of_f, mode_of_dirs) in [(0o444, 0o755), (0o644, 0o555), (0o200, 0o755)] {
                for path in ["f", "d/f"] {
                    set_mode(path, mode_of_f);
                }
                for path in ["d", "empty", "."] {
                    set_mode(path, mode_of_dirs);
                }
                let anew = || {
                    for path in ["f", "d/f"] {
                        set_mode(path, 0o600);
                        std::fs::write(stage.root().join(path), "old").unwrap();
                        set_mode(path, mode_of_f);
                    }
                    for path in ["new", "d/new", "empty/new"] {
                        drop(std::fs::remove_file(stage.root().join(path)));
                    }
                    drop(std::fs::remove_dir_all(stage.root().join("missing")));
                    drop(std::fs::remove_dir_all(stage.root().join("empty/a")));
                };
                rehearse_all(stage, fence, &paths, anew);
                for path in ["d", "empty", "."] {
                    set_mode(path, 0o755);
                }
            }
        });
    });
}

#[test]
fn it_knows_a_mount_that_is_read_only() {
    with_own_mounts(this_test!(), || {
        let stage = Stage::new(&Tree::inside([]));
        let place = stage.root();
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("tmpfs", place, "tmpfs", flags, None).unwrap();
        std::fs::create_dir_all(place.join("d")).unwrap();
        std::fs::write(place.join("f"), "old").unwrap();
        let flags = rustix::mount::MountFlags::RDONLY;
        rustix::mount::mount_remount(place, flags, "").unwrap();
        each_fence(&stage.roots(), |fence| {
            for path in ["f", "new", "d/new", "missing/new"] {
                let (when, parents) = (Precondition::None, Parents::Create);
                let (path, contents) = (beneath(fence, path).unwrap(), b"new".to_vec());
                let write = Mutation::Write { path, contents, when, parents };
                let rehearsed = verdict(fence.rehearse(&write));
                assert_eq!(rehearsed, verdict(fence.apply(write, &TERMS())));
                assert_eq!(rehearsed.unwrap().0, ErrorKind::Denied);
            }
        });
    });
}

#[test]
fn what_takes_the_place_of_another_is_not_rehearsed_and_only_a_write_is_told_its_place() {
    each_fence_on(&Tree::inside([file("f", "old"), dir("d")]), |stage, fence| {
        let at = |path| beneath(fence, path).unwrap();
        let place = place(fence, "f");
        let before = stage.snapshot();
        for change in [
            Mutation::Rename { from: at("f"), to: at("new"), when: Precondition::None },
            Mutation::Exchange { first: at("f"), second: at("d") },
        ] {
            let error = fence.rehearse(&change).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{change:?}");
        }
        for change in changes(fence, "new")
            .into_iter()
            .chain([Mutation::Exchange { first: at("f"), second: at("d") }])
        {
            let terms = Terms { at: Some(place.clone()), ..TERMS() };
            let error = fence.apply(change, &terms).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
        stage.assert_unchanged(&before);
    });
}

/// Every change of the entry itself that can be rehearsed, but for a rename.
fn changes(fence: &dyn Fence, path: &str) -> Vec<Mutation> {
    let at = || beneath(fence, path).unwrap();
    let make = [Parents::Require, Parents::Create];
    let remove = [Removal::File, Removal::EmptyDir];
    let link = ["f", "../f"].map(|text| LinkText::new(text).unwrap());
    let link = link.map(|text| Mutation::Symlink { path: at(), text });
    let make = make.map(|parents| Mutation::CreateDir { path: at(), parents });
    let remove = remove.map(|what| Mutation::Remove { path: at(), what });
    make.into_iter().chain(remove).chain(link).collect()
}

/// Rehearses and makes every change of each path, each on a stage of its own if it is made.
fn rehearse_changes(tree: &Tree, paths: &[String], prepare: impl Fn(&Stage)) {
    for kind in offered() {
        let fresh = || {
            let stage = Stage::new(tree);
            prepare(&stage);
            let fence = fence_on(&stage, *kind);
            (stage, fence)
        };
        let (mut stage, mut fence) = fresh();
        for path in paths {
            let how_many = changes(fence.as_ref(), path).len();
            for which in 0..=how_many {
                let at = |path: &str| beneath(fence.as_ref(), path).unwrap();
                let when = Precondition::Absent;
                let taken = Mutation::Rename { from: at(path), to: at(path), when: when.clone() };
                let beside = std::path::Path::new(path).with_file_name("beside");
                let to = at(beside.to_str().unwrap());
                let moved = Mutation::Rename { from: at(path), to, when };
                let mut all = changes(fence.as_ref(), path);
                let (asked, made) = match which == how_many {
                    true => (taken, moved),
                    false => (all.swap_remove(which), changes(fence.as_ref(), path).remove(which)),
                };
                let before = stage.snapshot();
                let said = fence.rehearse(&asked).map_err(|error| error.kind());
                stage.assert_unchanged(&before);
                let done = fence.apply(made, &TERMS()).map_err(|error| error.kind());
                let answer = done.as_ref().map(drop).map_err(|kind| *kind);
                assert_eq!(said.map(drop), answer, "{path} {asked:?} on {kind}");
                if done.is_ok() {
                    (stage, fence) = fresh();
                }
            }
        }
    }
}

#[test]
fn a_rehearsal_of_any_change_says_what_the_change_will_say_and_changes_nothing() {
    rehearse_changes(&tree(), &paths(), |_| {});
}

#[test]
fn the_rights_of_the_caller_are_known_of_any_change() {
    let paths = ["f", "new", "d", "d/f", "d/new", "to-f", "missing/new", "empty", "empty/new"];
    let paths = paths.map(ToOwned::to_owned);
    as_user(this_test!(), || {
        for path in [".", "d", "empty"] {
            rehearse_changes(&tree(), &paths, |stage| {
                let mode = std::fs::Permissions::from_mode(0o555);
                std::fs::set_permissions(stage.root().join(path), mode).unwrap();
            });
        }
    });
}

/// Where a write to `path` would be.
fn place(fence: &dyn Fence, path: &str) -> PathBuf {
    let (path, when) = (beneath(fence, path).unwrap(), Precondition::None);
    let write = Mutation::Write { path, contents: Vec::new(), when, parents: Parents::Create };
    fence.rehearse(&write).unwrap().expect("there is a /proc")
}

#[test]
fn a_directory_that_is_moved_takes_no_write_for_where_it_was() {
    each_fence_on(&tree(), |stage, fence| {
        let there = place(fence, "d/new");
        put_away(stage, "d");
        put_link(stage, "away", "d");
        let before = stage.snapshot();
        let (path, contents) = (beneath(fence, "d/new").unwrap(), b"new".to_vec());
        let (when, parents) = (Precondition::None, Parents::Create);
        let write = Mutation::Write { path, contents, when, parents };
        let error = fence.apply(write, &Terms { at: Some(there), ..TERMS() }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
        stage.assert_unchanged(&before);
    });
}

/// Where a write may end up: at a file, a name that is free, through links and below directories
/// that are missing.
const PLACES: [&str; 7] =
    ["f", "new", "to-f", "to-new", "to-dir/new", "missing/new", "to-dir/missing/a/new"];

#[test]
fn a_write_is_made_at_the_place_that_was_looked_at() {
    for path in PLACES {
        each_fence_on(&tree(), |stage, fence| {
            let at = beneath(fence, path).unwrap();
            let there = place(fence, path);
            let write = |place| {
                let (path, contents) = (at.clone(), b"new".to_vec());
                let (when, parents) = (Precondition::None, Parents::Create);
                let terms = Terms { at: Some(place), ..TERMS() };
                fence.apply(Mutation::Write { path, contents, when, parents }, &terms)
            };
            let before = stage.snapshot();
            let error = write(place(fence, "d/elsewhere")).unwrap_err();
            assert_eq!((error.kind(), error.remains()), (ErrorKind::Stale, false), "{path}");
            stage.assert_unchanged(&before);
            drop(write(there.clone()).unwrap());
            assert_eq!(std::fs::read(stage.root().join(path)).unwrap(), b"new");
            assert_eq!(place(fence, path), there, "now that nothing is missing");
            assert_eq!(there, stage.root().join(path).canonicalize().unwrap());
            assert_eq!(write(there).unwrap().effect, Did::Unchanged);
        });
    }
}

#[test]
fn a_link_that_leads_elsewhere_by_now_is_another_place() {
    each_fence_on(&tree(), |stage, fence| {
        let at = |path| beneath(fence, path).unwrap();
        let there = place(fence, "to-f");
        assert_eq!(there, place(fence, "f"));
        std::fs::remove_file(stage.root().join("to-f")).unwrap();
        std::os::unix::fs::symlink("d/f", stage.root().join("to-f")).unwrap();
        let before = stage.snapshot();
        for parents in [Parents::Require, Parents::Create] {
            let (path, contents, when) = (at("to-f"), b"new".to_vec(), Precondition::None);
            let terms = Terms { at: Some(there.clone()), ..TERMS() };
            let write = Mutation::Write { path, contents, when, parents };
            let error = fence.apply(write, &terms).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
        }
        stage.assert_unchanged(&before);
    });
}

#[test]
fn directories_that_were_made_on_the_way_meanwhile_make_no_other_place() {
    for (path, made) in [
        ("missing/new", "missing"),
        ("missing/a/new", "missing"),
        ("missing/a/new", "missing/a"),
        ("to-dir/missing/a/new", "d/missing"),
    ] {
        each_fence_on(&tree(), |stage, fence| {
            let at = beneath(fence, path).unwrap();
            let there = place(fence, path);
            put_dir(stage, made);
            let (when, parents) = (Precondition::Absent, Parents::Create);
            let write = Mutation::Write { path: at, contents: b"new".to_vec(), when, parents };
            drop(fence.apply(write, &Terms { at: Some(there), ..TERMS() }).unwrap());
            assert_eq!(std::fs::read(stage.root().join(path)).unwrap(), b"new");
        });
    }
}

fn put_away(stage: &Stage, path: &str) {
    std::fs::rename(stage.root().join(path), stage.root().join("away")).unwrap();
}

fn put_link(stage: &Stage, text: &str, path: &str) {
    std::os::unix::fs::symlink(text, stage.root().join(path)).unwrap();
}

fn put_dir(stage: &Stage, path: &str) {
    std::fs::create_dir_all(stage.root().join(path)).unwrap();
}

#[test]
fn what_has_come_where_directories_were_missing_is_another_place_if_it_leads_elsewhere() {
    type Change = fn(&Stage);
    let cases: [(&str, Change); 3] = [
        ("missing/new", |stage| put_link(stage, "empty", "missing")),
        ("missing/a/new", |stage| {
            put_dir(stage, "empty/a");
            put_link(stage, "empty", "missing");
        }),
        ("to-dir/missing/new", |stage| {
            put_away(stage, "to-dir");
            put_dir(stage, "empty/missing");
            put_link(stage, "empty", "to-dir");
        }),
    ];
    for (path, change) in cases {
        each_fence_on(&tree(), |stage, fence| {
            let at = beneath(fence, path).unwrap();
            let there = place(fence, path);
            change(stage);
            let before = stage.snapshot();
            let (when, parents) = (Precondition::None, Parents::Create);
            let write = Mutation::Write { path: at, contents: b"new".to_vec(), when, parents };
            let error = fence.apply(write, &Terms { at: Some(there), ..TERMS() }).unwrap_err();
            assert_eq!((error.kind(), error.remains()), (ErrorKind::Stale, false), "{path}");
            stage.assert_unchanged(&before);
        });
    }
}
