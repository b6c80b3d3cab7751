//! What has led out of other fences: each attack that concerns files on Linux, on every fence.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use ringfence_platform::{
    ErrorKind, Fence, LinkText, Mutation, Precondition, RelPath, Removal, RootedPath,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::act::{NOT_OFFERED, Outcome, beneath, change, perform};
use crate::cases::{Args, Case, Op, Os, Table};
use crate::confinement;
use crate::support::{
    LeftOut, Stage, Tree, dir, each_fence_on, file, in_own_process, link, offered, open_fence, say,
    this_test, while_exchanging,
};

/// The rows that are played below, each in the test that names it.
const PLAYED: &[&str] = &[
    "A-020", "A-021", "A-022", "A-023", "A-050", "A-051", "A-052", "A-054", "A-076", "A-077",
    "A-082", "A-083", "A-085",
];

/// Groups that are played by other files of these tests, or wait for what they are about.
const NOT_HERE: &[(&str, &str)] = &[
    ("race-exchange", "raced, each for long, by the race tests"),
    ("race-move-out", "raced, each for long, by the race tests"),
    ("fault", "played again with a filter that answers for the kernel"),
    ("protected", "protected places are no part of a fence so far"),
];

/// Why a row is not played in this file; `None` if it is, or is a row about Landlock alone.
fn left_out_because(case: &Case) -> Option<(String, &'static str)> {
    if !case.os.is_linux() {
        return Some((
            "attacks on other systems".to_owned(),
            "they are about their calls and names",
        ));
    }
    if case.op == Op::Landlock || PLAYED.contains(&case.id.as_str()) {
        return None;
    }
    let group = format!("attacks, {}", case.group);
    if let Some((_, why)) = NOT_HERE.iter().find(|(name, _)| *name == case.group) {
        return Some((group, why));
    }
    if case.args.inject.is_some() {
        return Some((group, "played again with a filter that answers for the kernel"));
    }
    let not_offered = NOT_OFFERED.iter().find(|(ops, _)| ops.contains(&case.op));
    let (_, why) = not_offered.unwrap_or_else(|| panic!("{case} is neither played nor left out"));
    Some((group, why))
}

/// The rows of the table that are not played here, by group and reason.
pub(crate) fn left_out() -> Vec<LeftOut> {
    let table = Table::attacks();
    let mut all: Vec<LeftOut> = Vec::new();
    for (what, why) in table.cases.iter().filter_map(left_out_because) {
        match all.iter_mut().find(|entry| entry.what == what && entry.reason == why) {
            Some(entry) => entry.count += 1,
            None => all.push(LeftOut::new(what, why, 1)),
        }
    }
    all
}

#[test]
fn every_attack_is_played_or_accounted_for() {
    let table = Table::attacks();
    let left_out: usize = left_out().iter().map(|entry| entry.count).sum();
    let landlock = confinement::rows(&table).count();
    assert_eq!(PLAYED.len() + landlock + left_out, table.cases.len());
    for id in PLAYED {
        assert!(table.case(id).os != Os::Windows, "{id}");
    }
}

/// Plays a row that is one operation and has to be refused without any effect.
fn is_refused(id: &str) {
    let table = Table::attacks();
    let case = table.case(id);
    each_fence_on(table.tree(case), |stage, fence| {
        let before = stage.snapshot();
        let one = std::slice::from_ref(&case.path);
        let paths = if case.args.paths.is_empty() { one } else { &case.args.paths[..] };
        for path in paths {
            // Any rename on the machine, as other tests make, can keep a long lookup busy.
            let attempts = || perform(fence, case.op, &stage.expand(path), &case.args);
            let busy = |outcome: &Result<_, _>| matches!(outcome, Err(ErrorKind::Busy));
            let outcome = std::iter::repeat_with(attempts).take(200).find(|o| !busy(o));
            let kind = outcome.expect("somebody renames without end");
            let kind = kind.expect_err(&format!("{case} was done"));
            let right = case.expect.error.iter().any(|fault| fault.admits(kind));
            assert!(right, "{case}: {kind:?}");
            stage.assert_unchanged(&before);
        }
    });
}

#[test]
fn no_directory_is_made_through_a_link_to_outside() {
    is_refused("A-052");
}

#[test]
fn a_chain_of_links_of_which_only_the_last_leaves_is_an_escape() {
    is_refused("A-054");
}

#[test]
fn links_too_long_to_be_put_together_lead_nowhere() {
    is_refused("A-050");
}

#[test]
fn a_sibling_whose_name_begins_like_the_root_is_outside() {
    is_refused("A-077");
}

#[test]
fn links_made_one_by_one_do_not_lead_outside_together() {
    let table = Table::attacks();
    let case = table.case("A-051");
    assert_eq!(case.args.steps.len(), 3);
    each_fence_on(table.tree(case), |stage, fence| {
        let before = stage.snapshot();
        let text = |text: &str| Args { text: Some(text.to_owned()), ..Args::default() };
        let steps = [
            perform(fence, Op::Symlink, "a", &text("b")),
            perform(fence, Op::Symlink, "b", &text("../out")),
            perform(fence, case.op, &case.path, &case.args),
        ];
        let refused: Vec<_> = steps.into_iter().filter_map(Result::err).collect();
        let right = |kind: &ErrorKind| case.expect.error.iter().any(|fault| fault.admits(*kind));
        assert!(refused.iter().any(right), "{refused:?}");
        stage.assert_outside_unchanged(&before);
        assert!(!stage.base().join("out/new").exists());
    });
}

/// Where a link may be made depends on where it is; so it is judged again each time it is used.
#[test]
fn a_link_that_is_moved_until_it_leads_outside_is_an_escape() {
    let tree = Tree::inside([dir("d"), file("secret", "inside")]).outside([file("secret", "out")]);
    each_fence_on(&tree, |stage, fence| {
        let args = Args { text: Some("../secret".into()), ..Args::default() };
        perform(fence, Op::Symlink, "d/link", &args).unwrap();
        perform(fence, Op::Open, "d/link", &Args::default()).unwrap();
        let args = Args { to: Some("link".into()), ..Args::default() };
        perform(fence, Op::Rename, "d/link", &args).unwrap();
        let before = stage.snapshot();
        for op in [Op::Open, Op::Stat, Op::Write, Op::CreateNew, Op::MkdirAll] {
            let outcome = perform(fence, op, "link", &Args::default());
            assert_eq!(outcome.err(), Some(ErrorKind::Escape), "{op}");
        }
        stage.assert_unchanged(&before);
    });
}

#[test]
fn a_new_link_stays_beneath_its_root() {
    let tree =
        Tree::inside([dir("d/e"), link("up", "d/.."), link("out", "../out")]).outside([dir("out")]);
    each_fence_on(&tree, |stage, fence| {
        let before = stage.snapshot();
        let link = |path: &str, text: &str| {
            let args = Args { text: Some(text.to_owned()), ..Args::default() };
            perform(fence, Op::Symlink, path, &args).err()
        };
        let outside = [
            ("new", ".."),
            ("new", "../out"),
            ("new", "../ROOT/d"),
            ("new", "d/../../out"),
            ("new", "missing/../../out"),
            ("new", "up/../out"),
            ("new", "out"),
            ("new", "out/anything"),
            ("new", "/"),
            ("d/new", "../.."),
            ("d/e/new", "../../../ROOT"),
            ("up/d/new", "../../out"),
            // Where a name leads that is not there yet nobody can say, nor what is above that.
            ("new", "missing/.."),
            ("new", "missing/../d"),
            ("new", "d/missing/../e"),
            ("new", "d/e/missing/../../e"),
            ("d/new", "../missing/../d"),
            ("d/new", "missing/./../e"),
        ];
        for (path, text) in outside {
            assert_eq!(link(path, text), Some(ErrorKind::Escape), "{path} -> {text}");
        }
        stage.assert_unchanged(&before);
        for (path, text) in
            [("new1", "d"), ("d/new2", ".."), ("d/new3", "../missing/x"), ("new4", "up")]
        {
            assert_eq!(link(path, text), None, "{path} -> {text}");
        }
        stage.assert_outside_unchanged(&before);
    });
}

#[test]
fn what_was_opened_stays_that_file_whatever_its_path_leads_to_later() {
    let table = Table::attacks();
    let case = table.case("A-020");
    each_fence_on(table.tree(case), |stage, fence| {
        let opened = perform(fence, Op::Open, &case.path, &Args::default()).unwrap();
        let Outcome::Opened(mut opened) = opened else { panic!("{case} gives no open file") };
        let inside = stage.root().join(&case.path);
        std::fs::remove_file(&inside).unwrap();
        std::os::unix::fs::symlink("../../out/secret", &inside).unwrap();
        let mut text = String::new();
        opened.file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "data", "{:?}", case.expect.must);
        let again = perform(fence, Op::Open, &case.path, &Args::default());
        assert_eq!(again.err(), Some(ErrorKind::Escape));
    });
}

#[test]
fn a_tree_of_400_levels_is_removed() {
    let table = Table::attacks();
    let case = table.case("A-021");
    each_fence_on(table.tree(case), |stage, fence| {
        let before = stage.snapshot();
        perform(fence, case.op, &case.path, &case.args).unwrap();
        let effects = before.effects(&stage.snapshot(), stage.root_in_base());
        assert_eq!(Some(effects), case.expect.effects);
    });
}

#[test]
fn a_tree_of_2000_levels_is_removed_with_few_descriptors() {
    in_own_process(this_test!(), || {
        let table = Table::attacks();
        let case = table.case("A-022");
        let few = case.args.descriptors.expect("the row says how many");
        let limit = getrlimit(Resource::Nofile);
        for kind in offered() {
            let stage = Stage::new(table.tree(case));
            let before = stage.snapshot();
            let fence = open_fence(&stage.roots(), *kind);
            setrlimit(Resource::Nofile, Rlimit { current: Some(few), ..limit }).unwrap();
            perform(fence.as_ref(), case.op, &case.path, &case.args)
                .unwrap_or_else(|error| panic!("{case} on {kind}: {error:?}"));
            setrlimit(Resource::Nofile, limit).unwrap();
            let effects = before.effects(&stage.snapshot(), stage.root_in_base());
            assert_eq!(Some(effects), case.expect.effects, "{kind}");
        }
    });
}

#[test]
fn nothing_is_removed_where_the_path_is_refused() {
    let tree = Tree::inside([
        file("deep/{d/*40}f", "data"),
        link("out", "../out"),
        link("loop", "loop"),
        link("in", "deep"),
    ])
    .outside([file("out/deep/secret", "out")]);
    each_fence_on(&tree, |stage, fence| {
        let before = stage.snapshot();
        let root = fence.roots().iter().next().unwrap().id();
        let remove =
            |path: RootedPath| change(fence, Mutation::Remove { path, what: Removal::Tree }).err();
        assert_eq!(remove(RootedPath::new(root, RelPath::root())), Some(ErrorKind::WrongKind));
        let refused = [
            ("out/deep", ErrorKind::Escape),
            ("out/deep/secret", ErrorKind::Escape),
            ("loop/deep", ErrorKind::Loop),
            ("missing/deep", ErrorKind::NotFound),
            ("missing", ErrorKind::NotFound),
            ("in/{d/*40}f/x", ErrorKind::WrongKind),
        ];
        for (path, kind) in refused {
            let path = beneath(fence, &stage.expand(path)).unwrap();
            assert_eq!(remove(path.clone()), Some(kind), "{path:?}");
        }
        stage.assert_unchanged(&before);
        for path in ["out", "loop", "in"] {
            assert_eq!(remove(beneath(fence, path).unwrap()), None, "{path}");
        }
        // The links are gone and what they lead to is not.
        assert!(stage.root().join(stage.expand("deep/{d/*40}f")).exists());
        stage.assert_outside_unchanged(&before);
    });
}

#[test]
fn no_descriptor_of_a_fence_reaches_a_child_or_outlives_the_fence() {
    in_own_process(this_test!(), || {
        let stage = Stage::new(&Tree::inside([dir("d")]));
        let before = descriptors();
        let kinds = offered();
        assert_eq!(descriptors(), before, "a survey leaves descriptors");
        for kind in kinds {
            let fence = open_fence(&stage.roots(), *kind);
            perform(fence.as_ref(), Op::Write, "d/f", &Args::default()).unwrap();
            let opened = perform(fence.as_ref(), Op::Open, "d/f", &Args::default()).unwrap();
            let ours: Vec<_> = descriptors().difference(&before).cloned().collect();
            assert!(!ours.is_empty(), "{kind} holds its roots open");
            for fd in ours {
                assert!(closes_on_exec(&fd), "{kind}: descriptor {fd} reaches a child");
            }
            drop(opened);
            drop(fence);
            assert_eq!(descriptors(), before, "{kind} leaves descriptors");
        }
    });
}

fn descriptors() -> BTreeSet<String> {
    let listing = std::fs::read_dir("/proc/self/fd").unwrap();
    let names: Vec<_> = listing.map(|entry| entry.unwrap().file_name()).collect();
    // That of the listing is closed by now.
    let open = |name: &String| std::fs::exists(format!("/proc/self/fdinfo/{name}")).unwrap();
    names.into_iter().map(|name| name.into_string().unwrap()).filter(open).collect()
}

fn closes_on_exec(fd: &str) -> bool {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
    flags & rustix::fs::OFlags::CLOEXEC.bits() != 0
}

#[test]
fn a_pointer_file_in_the_root_moves_no_root() {
    let table = Table::attacks();
    let case = table.case("A-082");
    each_fence_on(table.tree(case), |stage, fence| {
        let before = stage.snapshot();
        let places = |fence: &dyn Fence| -> Vec<_> {
            fence.roots().iter().map(|root| (root.path().to_owned(), root.key())).collect()
        };
        let roots = places(fence);
        perform(fence, case.op, &case.path, &case.args).unwrap();
        for path in [".git/config", ".git/hooks/pre-commit"] {
            let outcome = perform(fence, Op::Write, path, &Args::default());
            assert_eq!(outcome.err(), Some(ErrorKind::WrongKind), "{path}");
        }
        assert_eq!(places(fence), roots, "{:?}", case.expect.must);
        stage.assert_outside_unchanged(&before);
    });
}

#[test]
fn a_slash_after_a_link_leads_outside_with_no_operation() {
    let table = Table::attacks();
    let case = table.case("A-083");
    let offered = |op: &&Op| !NOT_OFFERED.iter().any(|(ops, _)| ops.contains(op));
    for op in case.args.ops.iter().filter(offered) {
        for path in &case.args.paths {
            each_fence_on(table.tree(case), |stage, fence| {
                let before = stage.snapshot();
                let args = Args {
                    to: Some("new".to_owned()),
                    text: Some("f".to_owned()),
                    ..Args::default()
                };
                let outcome = perform(fence, *op, path, &args);
                stage.assert_outside_unchanged(&before);
                if let Ok(outcome) = outcome {
                    assert!(outcome.names().is_empty(), "{op} {path} lists {outcome:?}");
                    let Outcome::Seen(stat) = outcome else { return };
                    panic!("{op} {path} sees {stat:?}");
                }
            });
        }
    }
}

/// How many writes of each fence land while the ground moves; the long races are elsewhere.
const WRITES: usize = 100;

#[test]
fn a_file_outside_keeps_its_mode_and_bytes_while_a_parent_is_exchanged() {
    let table = Table::attacks();
    let (mode, place) = (table.case("A-076"), table.case("A-085"));
    assert_eq!((&mode.path, mode.op), (&place.path, place.op));
    each_fence_on(table.tree(mode), |stage, fence| {
        let before = stage.snapshot();
        let (p, link) = (stage.root().join("p"), stage.root().join("link"));
        let mut refused = 0;
        let strikes = while_exchanging(&p, &link, WRITES, || {
            let landed = perform(fence, mode.op, &mode.path, &mode.args).is_ok();
            refused += usize::from(!landed);
            landed
        });
        stage.assert_outside_unchanged(&before);
        let inside = if p.symlink_metadata().unwrap().is_dir() { p } else { link };
        assert_eq!(inside.join("x").metadata().unwrap().mode() & 0o7777, 0o644);
        assert_eq!(std::fs::read_dir(inside).unwrap().count(), 2, "scratch is left");
        say(format_args!(
            "{}, {}: {strikes} exchanges, {WRITES} writes landed, {refused} were refused",
            mode.id, place.id
        ));
    });
}

/// Forty links, as the kernel follows them, wherever on the way they are.
#[test]
fn the_forty_first_link_is_a_loop_on_every_fence() {
    let chain = |name: &str, links: usize, end: &str| {
        let last = link(&format!("{name}{}", links - 1), end);
        let step = |i: usize| link(&format!("{name}{i}"), &format!("{name}{}", i + 1));
        (0..links - 1).map(step).chain([last]).collect::<Vec<_>>()
    };
    let entries = [
        vec![file("d/f", "data"), link("d/in", "f")],
        chain("forty", 40, "d/f"),
        chain("more", 41, "d/f"),
        chain("dir", 40, "d"),
        chain("half", 25, "d"),
        vec![link("d/half0", "half1")],
        (1..24).map(|i| link(&format!("d/half{i}"), &format!("half{}", i + 1))).collect(),
        vec![link("d/half24", "f")],
    ];
    let tree = Tree::inside(entries.concat());
    let verdict = |path: &str, op, expected: Option<ErrorKind>| {
        each_fence_on(&tree, |_, fence| {
            let outcome = perform(fence, op, path, &Args::default());
            assert_eq!(outcome.err(), expected, "{op} {path}");
        });
    };
    for op in [Op::Open, Op::Stat, Op::Write] {
        verdict("forty0", op, None);
        verdict("more0", op, Some(ErrorKind::Loop));
        verdict("more1", op, None);
        verdict("dir0/f", op, None);
        verdict("dir0/in", op, Some(ErrorKind::Loop));
        verdict("half0/half0", op, Some(ErrorKind::Loop));
    }
    verdict("dir0", Op::List, None);
}

#[test]
fn a_magic_link_is_never_followed() {
    let roots = ringfence_platform::Roots::open(["/proc"]).unwrap();
    crate::support::each_fence(&roots, |fence| {
        for path in
            ["self/root", "self/cwd", "self/exe", "self/fd/0", "self/root/etc", "self/cwd/x"]
        {
            for op in [Op::Stat, Op::Open, Op::List] {
                let outcome = perform(fence, op, path, &Args::default());
                assert_eq!(outcome.err(), Some(ErrorKind::Loop), "{op} {path}");
            }
        }
    });
}

#[test]
fn a_link_text_that_is_absolute_is_no_link_text() {
    for text in ["/", "/etc/passwd", "//etc"] {
        assert_eq!(LinkText::new(text).unwrap_err().kind(), ErrorKind::Escape, "{text}");
    }
}

#[test]
fn a_write_that_must_be_new_lands_where_a_dangling_link_points_and_nowhere_outside() {
    let tree = Tree::inside([dir("d"), link("in", "d/new"), link("out", "../out/new")])
        .outside([dir("out")]);
    each_fence_on(&tree, |stage, fence| {
        let before = stage.snapshot();
        let write = |path: &str| {
            let path = beneath(fence, path).unwrap();
            let contents = b"new".to_vec();
            let parents = ringfence_platform::Parents::Create;
            let when = Precondition::Absent;
            change(fence, Mutation::Write { path, contents, when, parents }).err()
        };
        assert_eq!(write("out"), Some(ErrorKind::Escape));
        assert_eq!(write("out/below"), Some(ErrorKind::Escape));
        stage.assert_unchanged(&before);
        assert_eq!(write("in"), None);
        assert_eq!(std::fs::read(stage.root().join("d/new")).unwrap(), b"new");
        assert!(stage.root().join("in").is_symlink());
        assert_eq!(write("in"), Some(ErrorKind::AlreadyExists));
        stage.assert_outside_unchanged(&before);
    });
}
