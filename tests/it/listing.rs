//! What a listing tells of each entry, and that one that cannot be looked at spoils nothing.

use std::os::unix::fs::PermissionsExt;

use ringfence::{Mode, Outcome, Request, Session, TempAreas};
use ringfence_platform::{Entry, Fence, Follow, Kind, RelPath, RootedPath};

use crate::act::beneath;
use crate::support::{Tree, as_user, dir, each_fence_on, fifo, file, link, this_test};

fn list(fence: &dyn Fence, path: RelPath) -> Vec<Entry> {
    let root = fence.roots().iter().next().unwrap().id();
    fence.list(&RootedPath::new(root, path)).unwrap()
}

fn kinds(entries: &[Entry]) -> Vec<(&str, Kind, Option<Kind>)> {
    let name = |entry: &'_ Entry| entry.name.to_str().unwrap().to_owned();
    entries
        .iter()
        .map(|entry| {
            let target = entry.target.map(|(kind, _)| kind);
            (&*name(entry).leak(), entry.kind, target)
        })
        .collect()
}

#[test]
fn each_entry_says_what_it_leads_to() {
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
    each_fence_on(&Tree::inside(inside).outside([file("out/f", "old")]), |_, fence| {
        for path in ["d", "to-d"] {
            let entries = list(fence, RelPath::new(path).unwrap());
            assert_eq!(
                kinds(&entries),
                [
                    ("dangling", Kind::Symlink, None),
                    ("dir", Kind::Dir, Some(Kind::Dir)),
                    ("fifo", Kind::Other, Some(Kind::Other)),
                    ("file", Kind::File, Some(Kind::File)),
                    ("loop", Kind::Symlink, None),
                    ("out", Kind::Symlink, None),
                    ("to-dir", Kind::Symlink, Some(Kind::Dir)),
                    ("to-file", Kind::Symlink, Some(Kind::File)),
                    ("to-link", Kind::Symlink, Some(Kind::File)),
                    ("up", Kind::Symlink, Some(Kind::File)),
                ]
            );
            for entry in &entries {
                let path = beneath(fence, &format!("{path}/{}", entry.name.display())).unwrap();
                let there = fence.stat(&path, Follow::Yes).ok().and_then(|stat| stat.found);
                assert_eq!(entry.target, there, "as a look at it: {entry:?}");
            }
        }
        let names: Vec<_> = list(fence, RelPath::root()).into_iter().map(|e| e.name).collect();
        assert_eq!(names, ["d", "other", "to-d"]);
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
            set_mode("readable", 0o755);
            set_mode("closed", 0o755);
            assert_eq!(
                kinds(&entries),
                [("f", Kind::File, None), ("l", Kind::Symlink, None)],
                "a directory that may be read and not passed"
            );
            assert_eq!(
                kinds(&all),
                [
                    ("closed", Kind::Dir, Some(Kind::Dir)),
                    ("into", Kind::Symlink, None),
                    ("readable", Kind::Dir, Some(Kind::Dir)),
                ]
            );
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
