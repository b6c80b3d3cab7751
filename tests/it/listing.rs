//! What a listing tells of each entry, and that one that cannot be looked at spoils nothing.

use std::os::unix::fs::PermissionsExt;

use ringfence::{Mode, Outcome, Request, Session, TempAreas};
use ringfence_platform::{Cancel, Entry, ErrorKind, Fence, Follow, Kind, RelPath, RootedPath};

use crate::act::beneath;
use crate::support::{
    Tree, as_user, dir, each_fence_on, each_session_on, fifo, file, link, offered, session_in,
    this_test,
};

fn list(fence: &dyn Fence, path: RelPath) -> Vec<Entry> {
    let root = fence.roots().iter().next().unwrap().id();
    fence.list(&RootedPath::new(root, path), &Cancel::never()).unwrap()
}

fn kinds(entries: &[Entry]) -> Vec<(&str, Kind)> {
    entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect()
}

#[test]
fn each_entry_is_told_as_it_is_and_where_it_leads_is_not_looked_at() {
    let inside = [
        file("d/file", "abc"),
        dir("d/dir"),
        fifo("d/fifo"),
        link("d/dangling", "nowhere"),
        link("d/out", "../../out/f"),
        link("d/to-dir", "dir"),
        file("other", "x"),
        link("to-d", "d"),
    ];
    each_fence_on(&Tree::inside(inside).outside([file("out/f", "old")]), |_, fence| {
        for path in ["d", "to-d"] {
            let entries = list(fence, RelPath::new(path).unwrap());
            assert_eq!(
                kinds(&entries),
                [
                    ("dangling", Kind::Symlink),
                    ("dir", Kind::Dir),
                    ("fifo", Kind::Other),
                    ("file", Kind::File),
                    ("out", Kind::Symlink),
                    ("to-dir", Kind::Symlink),
                ]
            );
            for entry in &entries {
                let path = beneath(fence, &format!("{path}/{}", entry.name.display())).unwrap();
                let there = fence.stat(&path, Follow::No).unwrap().found.unwrap();
                assert_eq!(entry.stamp, Some(there.1), "as a look at it: {entry:?}");
            }
        }
        let names: Vec<_> = list(fence, RelPath::root()).into_iter().map(|e| e.name).collect();
        assert_eq!(names, ["d", "other", "to-d"]);
    });
}

#[test]
fn a_listing_that_is_cancelled_tells_nothing() {
    each_fence_on(&Tree::inside([file("f", "abc")]), |_, fence| {
        let cancel = Cancel::new();
        cancel.cancel();
        let root = fence.roots().iter().next().unwrap().id();
        let error = fence.list(&RootedPath::new(root, RelPath::root()), &cancel).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    });
}

#[test]
fn a_session_tells_what_each_entry_leads_to() {
    let inside = [
        file("d/file", "abc"),
        dir("d/dir"),
        fifo("d/fifo"),
        link("d/to-file", "file"),
        link("d/to-dir", "dir"),
        link("d/to-link", "to-file"),
        link("d/up", "../other"),
        link("d/dangling", "nowhere"),
        link("d/loop", "loop"),
        link("d/out", "../../out/f"),
        file("other", "x"),
        link("to-d", "d"),
    ];
    let tree = Tree::inside(inside).outside([file("out/f", "old")]);
    each_session_on(&tree, |_, session| {
        for path in ["d", "to-d"] {
            let listed = session.perform(Request::List { path: path.into() }).unwrap();
            let Outcome::Listed { entries, .. } = listed else { panic!("{listed:?}") };
            let told = entries.iter().map(|entry| {
                let target = entry.target.map(|(kind, stamp)| (kind, stamp.size()));
                (entry.name.to_str().unwrap(), entry.kind, target)
            });
            let told: Vec<_> = told.filter(|(_, kind, _)| *kind != Kind::Dir).collect();
            let size = |entry: &str| entries.iter().find(|e| e.name == entry).unwrap().target;
            let of_dir = size("dir").map(|(kind, stamp)| (kind, stamp.size()));
            assert_eq!(
                told,
                [
                    ("dangling", Kind::Symlink, None),
                    ("fifo", Kind::Other, Some((Kind::Other, 0))),
                    ("file", Kind::File, Some((Kind::File, 3))),
                    ("loop", Kind::Symlink, None),
                    ("out", Kind::Symlink, Some((Kind::File, 3))),
                    ("to-dir", Kind::Symlink, of_dir),
                    ("to-file", Kind::Symlink, Some((Kind::File, 3))),
                    ("to-link", Kind::Symlink, Some((Kind::File, 3))),
                    ("up", Kind::Symlink, Some((Kind::File, 1))),
                ]
            );
            assert!(of_dir.is_some_and(|(kind, _)| kind == Kind::Dir), "{entries:?}");
        }
    });
}

#[test]
fn an_entry_that_may_not_be_looked_at_is_told_without() {
    as_user(this_test!(), || {
        let inside = [
            file("readable/f", "abc"),
            link("readable/l", "f"),
            file("closed/f", "abc"),
            link("into", "closed/f"),
        ];
        each_fence_on(&Tree::inside(inside), |stage, fence| {
            let set_mode = |path: &str, mode| {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(stage.root().join(path), mode).unwrap();
            };
            set_mode("readable", 0o444);
            set_mode("closed", 0o000);
            let entries = list(fence, RelPath::new("readable").unwrap());
            let all = list(fence, RelPath::root());
            let session = session_in(stage.root(), offered()[0]);
            let listed = ["readable", "."].map(|path| {
                let listed = session.perform(Request::List { path: path.into() }).unwrap();
                let Outcome::Listed { entries, .. } = listed else { panic!("{listed:?}") };
                entries
            });
            set_mode("readable", 0o755);
            set_mode("closed", 0o755);
            assert_eq!(
                kinds(&entries),
                [("f", Kind::File), ("l", Kind::Symlink)],
                "a directory that may be read and not passed"
            );
            assert!(entries.iter().all(|entry| entry.stamp.is_none()), "{entries:?}");
            let all_told =
                [("closed", Kind::Dir), ("into", Kind::Symlink), ("readable", Kind::Dir)];
            assert_eq!(kinds(&all), all_told);
            assert!(all.iter().all(|entry| entry.stamp.is_some()), "{all:?}");
            let targets: [Vec<_>; 2] =
                listed.map(|entries| entries.iter().map(|e| e.target.is_some()).collect());
            assert_eq!(targets, [vec![false, false], vec![true, false, true]]);
        });
    });
}

/// The descriptors of a process are magic links: each jumps to what is open.
#[test]
fn no_magic_link_is_jumped() {
    let session = Session::builder().temps(TempAreas::none()).mode(Mode::ReadOnly);
    let session = session.workspace(env!("CARGO_MANIFEST_DIR")).build().unwrap();
    let listed = session.perform(Request::List { path: "/proc/self/fd".into() }).unwrap();
    let Outcome::Listed { entries, .. } = listed else { panic!("{listed:?}") };
    assert!(!entries.is_empty());
    assert!(entries.iter().all(|entry| entry.target.is_none()), "{entries:?}");
}
