//! Places in a workspace that are to stay as they are, to the tools for files.

use ringfence::{
    Code, Error, Layer, Mode, Parents, Precondition, Receipt, Removal, Request, Session,
};

use super::{CHANGES, edit, write};
use crate::support::{
    FenceKind, Stage, Tree, builder_in, dir, file, link, offered, session_in, told_by,
};

fn protecting(stage: &Stage, kind: FenceKind, paths: &[&str]) -> Session {
    let builder = builder_in(stage.root(), Mode::WorkspaceWrite, kind);
    builder.protected_subpaths(paths).build().unwrap()
}

/// Runs `test` with a session on each fence, each on a stage of its own, in which these places are
/// protected.
fn each_protecting(tree: &Tree, paths: &[&str], test: impl Fn(&Stage, &Session)) {
    for kind in offered() {
        let stage = Stage::new(tree);
        test(&stage, &protecting(&stage, *kind, paths));
    }
}

/// A repository, with another one in it.
fn repository() -> Tree {
    Tree::inside([
        file("f", "old"),
        file(".git/HEAD", "old"),
        file(".git/config", "old"),
        file(".git/hooks/pre-commit", "old"),
        file(".git/objects/ab/cd", "object"),
        file("sub/.git/HEAD", "old"),
        file("sub/.git/hooks/pre-commit", "old"),
    ])
}

const HOOKS: [&str; 3] = [".git/hooks", ".git/config", "sub/.git/hooks"];

#[track_caller]
fn assert_protected<T>(result: Result<T, Error>) {
    let Err(error) = result else { panic!("it is allowed") };
    assert_eq!(error.code(), Code::FsSandboxDenied, "{error}");
    let Error::Denied(denial) = error else { panic!("{error}") };
    assert_eq!(denial.by, Layer::Protected, "{denial}");
}

fn rename(session: &Session, from: &str, to: &str) -> Result<(), Error> {
    let (from, to, when) = (from.into(), to.into(), Precondition::None);
    session.perform(Request::Rename { from, to, when }).map(drop)
}

fn remove(session: &Session, path: &str) -> Result<(), Error> {
    session.perform(Request::Remove { path: path.into(), what: Removal::Tree }).map(drop)
}

#[test]
fn a_protected_name_that_is_a_link_is_so_at_both_ends_and_the_rest_works() {
    let inside = [file("a", "old"), link(".agent", "$BASE/store"), link(".rules", "rules")];
    let tree = Tree::inside(inside.into_iter().chain([file("rules/r", "old")]));
    let tree = tree.outside([file("store/x", "old")]);
    each_protecting(&tree, &[".agent", ".rules"], |stage, session| {
        drop(edit(session, "a", "old", "new").unwrap());
        let before = stage.snapshot();
        for change in CHANGES {
            let error = change(session, ".agent/x").unwrap_err();
            assert_eq!(error.code(), Code::FsSandboxDenied, "{error}");
            assert_protected(change(session, ".rules/r"));
            assert_protected(change(session, "rules/r"));
        }
        for path in [".agent", ".rules", "rules"] {
            assert_protected(remove(session, path));
            assert_protected(rename(session, path, "elsewhere"));
        }
        stage.assert_unchanged(&before);
    });
}

#[test]
fn a_protected_file_is_refused_to_every_change() {
    let tree = Tree::inside([file(".cfg", "old"), file("f", "old")]);
    each_protecting(&tree, &[".cfg"], |stage, session| {
        let before = stage.snapshot();
        for change in CHANGES {
            assert_protected(change(session, ".cfg"));
        }
        stage.assert_unchanged(&before);
        drop(write(session, "f", "new").unwrap());
    });
}

#[test]
fn hooks_are_protected_at_any_depth_and_the_rest_of_a_repository_is_not() {
    each_protecting(&repository(), &HOOKS, |_, session| {
        for repository in ["", "sub/"] {
            let in_it = |path: &str| format!("{repository}.git/{path}");
            for path in ["hooks/pre-commit", "hooks/new", "hooks/d/new"] {
                assert_protected(write(session, in_it(path), "new"));
            }
            for path in ["HEAD", "index", "objects/12/34", "refs/heads/main"] {
                drop(write(session, in_it(path), "new").unwrap());
            }
        }
        assert_protected(write(session, ".git/config", "new"));
        // What is not named is not protected.
        drop(write(session, "sub/.git/config", "new").unwrap());
    });
}

#[test]
fn a_protected_place_cannot_be_emptied_and_one_beside_it_can() {
    each_protecting(&repository(), &[".git/objects"], |stage, session| {
        let before = stage.snapshot();
        for path in [".git/objects/ab/cd", ".git/objects/ab", ".git/objects", ".git"] {
            assert_protected(remove(session, path));
        }
        stage.assert_unchanged(&before);
        remove(session, ".git/hooks").unwrap();
    });
    each_protecting(&repository(), &HOOKS, |_, session| {
        remove(session, ".git/objects").unwrap();
    });
}

#[test]
fn nothing_that_was_written_elsewhere_is_renamed_onto_a_protected_name() {
    each_protecting(&repository(), &HOOKS, |stage, session| {
        drop(write(session, ".git/x", "new").unwrap());
        let before = stage.snapshot();
        for to in [".git/hooks/pre-commit", ".git/hooks/new", ".git/hooks", ".git/config"] {
            assert_protected(rename(session, ".git/x", to));
        }
        let symlink = |path: &str| {
            let (path, text) = (path.into(), "../x".into());
            session.perform(Request::Symlink { path, text })
        };
        assert_protected(symlink(".git/hooks/new"));
        stage.assert_unchanged(&before);
    });
}

#[test]
fn what_leads_to_a_protected_place_is_not_moved_away_and_back() {
    let without_hooks = Tree::inside([file(".git/HEAD", "old"), file("g3/hooks/x", "old")]);
    for tree in [repository(), without_hooks] {
        each_protecting(&tree, &[".git/hooks"], |stage, session| {
            let before = stage.snapshot();
            assert_protected(rename(session, ".git", "g2"));
            assert_protected(rename(session, "g3", ".git"));
            stage.assert_unchanged(&before);
        });
    }
}

#[test]
fn a_protected_place_that_is_missing_is_told_and_nothing_is_made_for_it() {
    const MISSING: [&str; 3] = [".cfg", ".env", "conf/app"];
    for kind in offered() {
        let stage = Stage::new(&Tree::inside([file("f", "old"), dir("d")]));
        let before = stage.snapshot();
        let mut session = None;
        let lines = told_by(|| session = Some(protecting(&stage, *kind, &MISSING)));
        let session = session.unwrap();
        for path in MISSING {
            let named = format!("{:?}", stage.root().join(path));
            let told = |line: &&String| line.contains("WARN") && line.contains(&named);
            assert_eq!(lines.iter().filter(told).count(), 1, "{path}: {lines:?}");
            assert_protected(write(&session, path, "new"));
            assert_protected(rename(&session, "f", path));
            let parents = Parents::Create;
            assert_protected(session.perform(Request::CreateDir { path: path.into(), parents }));
        }
        stage.assert_unchanged(&before);
        std::fs::write(stage.root().join(".cfg"), "made by somebody else").unwrap();
        assert_protected(write(&session, ".cfg", "new"));
    }
}

#[test]
fn without_settings_nothing_is_protected() {
    for kind in offered() {
        let stage = Stage::new(&repository());
        let session = session_in(stage.root(), *kind);
        let written: Result<Receipt, Error> = write(&session, ".git/hooks/pre-commit", "new");
        drop(written.unwrap());
        rename(&session, ".git", "g2").unwrap();
    }
}
