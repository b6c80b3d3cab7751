//! Which place a path means, and whether it is one that may be changed.

use std::path::PathBuf;

use ringfence::{
    Code, Effect as Did, Enforcement, Mode, Outcome, Parents, Precondition, Receipt, Request,
    Session, TempAreas,
};

use super::{CHANGES, edit, read, write};
use crate::support::told_by;
use crate::support::{Stage, Tree, dir, each_session_on, file, link, offered, session_in};

#[test]
fn a_path_is_no_pattern() {
    each_session_on(&Tree::inside([]), |stage, session| {
        for path in [
            "src/[id]/page.txt",
            "a b",
            "it's \"quoted\"",
            "new\nline",
            "-rf",
            "*",
            "?",
            "{a,b}",
            "~",
            "$HOME",
            "%41",
            "\\n",
            "\u{1f980}",
            "e\u{301}",
        ] {
            assert_eq!(write(session, path, "old").unwrap().effect, Did::Created, "{path:?}");
            let place = stage.root().join(path);
            assert_eq!(std::fs::read_to_string(&place).unwrap(), "old", "{path:?}");
            let parent = place.parent().unwrap().to_owned();
            let listed = session.perform(Request::List { path: parent });
            let Ok(Outcome::Listed { entries, .. }) = listed else { panic!("{path:?}") };
            let name = place.file_name().unwrap();
            assert!(entries.iter().any(|entry| entry.name == name), "{path:?}: {entries:?}");
            assert_eq!(read(session, path).text, "old", "{path:?}");
            drop(edit(session, path, "old", "new").unwrap());
            assert_eq!(std::fs::read_to_string(&place).unwrap(), "new", "{path:?}");
        }
    });
}

#[test]
fn a_root_is_the_same_by_each_of_its_spellings() {
    for kind in offered() {
        let tree = Tree::inside([file("f", "old")]);
        let stage =
            Stage::new(&tree.outside([link("alias", "ROOT"), link("deep/alias", "../ROOT")]));
        let roots = ["ROOT", "alias", "deep/alias", "./deep/../ROOT/"];
        let roots = roots.map(|root| stage.base().join(root));
        for opened in &roots {
            let session = session_in(opened, *kind);
            for asked in &roots {
                std::fs::write(stage.root().join("f"), "old").unwrap();
                let done = edit(&session, asked.join("f"), "old", "new");
                assert_eq!(done.unwrap().effect, Did::Replaced, "{asked:?} on {opened:?}");
                assert_eq!(std::fs::read_to_string(stage.root().join("f")).unwrap(), "new");
            }
        }
    }
}

#[test]
fn links_that_stay_inside_are_followed_and_stay_links() {
    let inside = [
        file("t", "old"),
        link("l", "t"),
        link("ll", "l"),
        link("absolute", "$ROOT/t"),
        dir("store/memory"),
        link("memory", "store/memory"),
    ];
    each_session_on(&Tree::inside(inside), |stage, session| {
        let at = |path: &str| stage.root().join(path);
        for path in ["l", "ll", "absolute"] {
            for change in CHANGES {
                std::fs::write(at("t"), "old").unwrap();
                assert_eq!(change(session, path).unwrap().effect, Did::Replaced, "{path}");
                assert_ne!(std::fs::read_to_string(at("t")).unwrap(), "old", "{path}");
                assert!(at(path).is_symlink() && at("l").is_symlink() && !at("t").is_symlink());
            }
        }
        drop(write(session, "memory/x", "new").unwrap());
        assert_eq!(std::fs::read_to_string(at("store/memory/x")).unwrap(), "new");
        assert!(at("memory").is_symlink());
    });
}

#[test]
fn what_leads_outside_is_refused_to_every_change() {
    let inside = [
        link("l", "../out"),
        link("d/l", "../../out"),
        link("a/b/l", "c"),
        link("a/b/c", "../../../out"),
        link("n", "../out/f"),
        link("m", "n"),
        link("absolute", "$BASE/out/f"),
        link("dangling", "../out/new"),
    ];
    let outside =
        [file("out/f", "old"), dir("out/c"), file("ROOT-evil/f", "old"), file("f", "old")];
    each_session_on(&Tree::inside(inside).outside(outside), |stage, session| {
        let before = stage.snapshot();
        let paths = [
            "l/f",
            "l/x",
            "d/l/f",
            "d/l/x",
            "a/b/l/f",
            "a/b/l/c/x",
            "n",
            "m",
            "absolute",
            "dangling",
            "../ROOT-evil/f",
            "../f",
            "$BASE/ROOT-evil/f",
            "$BASE/ROOT-evil/x",
        ];
        for path in paths.map(|path| stage.expand(path)) {
            for change in CHANGES {
                let error = change(session, &path).unwrap_err();
                assert_eq!(error.code(), Code::FsSandboxDenied, "{path}: {error}");
                stage.assert_unchanged(&before);
            }
        }
        for path in ["l/y", "l/y/z", "d/l/y", "a/b/l/y", "a/b/l/c/y/z", "../ROOT-evil/y", "../y"] {
            let (place, parents) = (path.into(), Parents::Create);
            let error = session.perform(Request::CreateDir { path: place, parents }).unwrap_err();
            assert_eq!(error.code(), Code::FsSandboxDenied, "{path}: {error}");
            stage.assert_unchanged(&before);
        }
    });
}

#[test]
fn a_change_through_a_link_tells_the_path_and_the_place() {
    let tree = Tree::inside([file("t", "old"), link("l", "t")]);
    each_session_on(&tree, |stage, session| {
        for change in CHANGES {
            std::fs::write(stage.root().join("t"), "old").unwrap();
            let mut receipt = None;
            let lines = told_by(|| receipt = change(session, "l").ok());
            let receipt: Receipt = receipt.expect("it leads nowhere outside");
            let asked = "path=\"l\"";
            assert!(lines.iter().all(|line| line.contains(asked)) && lines.len() == 2, "{lines:?}");
            let direct = write(session, "t", "direct").unwrap();
            assert_eq!(receipt.key, direct.key);
            assert_ne!(receipt.key, write(session, "other", "x").unwrap().key);
            std::fs::remove_file(stage.root().join("other")).unwrap();
        }
    });
}

#[test]
fn full_access_has_no_outside_and_says_that_nobody_held_one() {
    let tree = Tree::inside([link("l", "../out"), link("n", "../out/f")]);
    let stage = Stage::new(&tree.outside([file("out/f", "old")]));
    let session = Session::builder()
        .workspace(stage.root())
        .temps(TempAreas::none())
        .mode(Mode::DangerFullAccess)
        .build()
        .unwrap();
    for path in ["l/f", "n", "l/new"] {
        for change in CHANGES {
            let place = stage.base().join(if path == "l/new" { "out/new" } else { "out/f" });
            std::fs::write(&place, "old").unwrap();
            let receipt = change(&session, path).unwrap();
            assert_eq!(receipt.enforcement, Enforcement::Unfenced, "{path}");
            assert_ne!(std::fs::read_to_string(&place).unwrap(), "old", "{path}");
        }
    }
    assert!(stage.root().join("n").is_symlink());
}

#[test]
fn a_worktree_is_a_root_like_any_other() {
    // As git makes it: the worktree has a file that points to the repository.
    let pointer = "gitdir: $BASE/repo/.git/worktrees/wt\n";
    let tree = Tree::inside([file(".git", pointer), file("f", "old")]);
    let outside = [
        file("repo/.git/HEAD", "ref: refs/heads/main\n"),
        file("repo/.git/worktrees/wt/gitdir", "$ROOT/.git\n"),
        file("repo/.git/worktrees/wt/commondir", "../..\n"),
    ];
    each_session_on(&tree.outside(outside), |stage, session| {
        let before = stage.snapshot();
        drop(edit(session, "f", "old", "new").unwrap());
        assert_eq!(std::fs::read_to_string(stage.root().join("f")).unwrap(), "new");
        let denied = write(session, "../repo/.git/worktrees/wt/HEAD", "x").unwrap_err();
        assert_eq!(denied.code(), Code::FsSandboxDenied);
        stage.assert_outside_unchanged(&before);
    });
}

#[test]
fn a_path_is_one_place_to_read_and_to_write() {
    let inside = [
        file("d/f", "old"),
        link("relative", "d/f"),
        link("absolute", "$ROOT/d/f"),
        link("chained", "relative"),
        link("chained_absolute", "absolute"),
        link("dir", "d"),
        link("d/up", "../dir/f"),
        link("and_back", "../ROOT/d/f"),
        link("dangling", "d/new"),
        link("dangling_chain", "dangling"),
    ];
    each_session_on(&Tree::inside(inside), |stage, session| {
        let direct = write(session, "d/f", "0").unwrap().key;
        for (round, path) in [
            "d/f",
            "./d/../d/f",
            "relative",
            "absolute",
            "chained",
            "chained_absolute",
            "dir/f",
            "dir/up",
            "d/up",
            "and_back",
            "$ROOT/dir/f",
        ]
        .into_iter()
        .enumerate()
        {
            let path = PathBuf::from(stage.expand(path));
            let opened = session.perform(Request::Read { path: path.clone() });
            let Ok(Outcome::Opened { snapshot, .. }) = opened else { panic!("{path:?}") };
            // Only what was read is replaced.
            let when = Precondition::Matches { stamp: snapshot.stamp, digest: None };
            let (contents, parents) = (round.to_string().into_bytes(), Parents::Require);
            let write = Request::Write { path: path.clone(), contents, when, parents };
            let changed = session.perform(write);
            let Ok(Outcome::Changed { receipt, .. }) = changed else { panic!("{changed:?}") };
            assert_eq!(receipt.key, direct, "{path:?}");
            let opened = session.perform(Request::Read { path: path.clone() });
            let Ok(Outcome::Opened { snapshot, .. }) = opened else { panic!("{path:?}") };
            assert_eq!(Some(snapshot.stamp), receipt.after, "{path:?}");
        }
        let made = write(session, "dangling_chain", "made").unwrap();
        assert_eq!(read(session, "dangling").text, "made");
        assert_eq!(made.key, write(session, "d/new", "again").unwrap().key);
    });
}

#[test]
fn a_workspace_deeper_down_is_no_wider() {
    for kind in offered() {
        let tree = Tree::inside([file("sub/f", "old"), file("x", "old")]);
        let stage = Stage::new(&tree.outside([file("x", "old")]));
        let session = session_in(&stage.root().join("sub"), *kind);
        let before = stage.snapshot();
        for path in ["../x", "../../x", "../new", "deeper/../../x"] {
            for change in CHANGES {
                let error = change(&session, path).unwrap_err();
                assert_eq!(error.code(), Code::FsSandboxDenied, "{path}: {error}");
            }
        }
        stage.assert_unchanged(&before);
        assert_eq!(write(&session, "../sub/f", "new").unwrap().effect, Did::Replaced);
    }
}
