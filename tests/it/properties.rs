//! Random trees, random changes: every fence does the same, nothing outside changes, and where no
//! link is involved a model in memory knows what.

mod model;
mod scene;

use std::cell::Cell;
use std::io::Read;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use ringfence_platform::{
    Cancel, Digest, Durability, Fence, Follow, Kind, LinkText, Mutation, Parents, Precondition,
    RelPath, Removal, RootId, RootedPath, Terms,
};

use crate::effort::rounds_or;
use crate::support::{FenceKind, offered, open_fence, say};
use model::model;
use scene::{Plant, Scene, Shape};

/// How many trees are tried, if it is set.
const PROPERTIES: &str = "RINGFENCE_TEST_PROPERTIES";
const TREES: usize = 100;
/// With so many changes, how many of them say something is no chance.
const ENOUGH: usize = 400;

/// A path beneath the first or the second root.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Place {
    root: usize,
    path: String,
}

/// A precondition that can be said before there is a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum When {
    None,
    Absent,
    /// What a look just now says, also with a digest.
    Current,
    /// The version of something else.
    Other,
}

/// A change as it is chosen, before it is known what is there.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Change {
    Write { at: Place, contents: String, when: When, parents: Parents },
    CreateDir { at: Place, parents: Parents },
    Remove { at: Place, what: Removal },
    Rename { from: Place, to: Place, when: When },
    Exchange { first: Place, second: Place },
    Symlink { at: Place, text: &'static str },
}

/// The texts of links: short and long ways to stay, to leave, to come back, and to nowhere.
const TEXTS: &[&str] = &[
    "a",
    "b",
    "c",
    "a/b",
    "b/c/a",
    ".",
    "..",
    "../a",
    "../b/c",
    "../..",
    "a/..",
    "a/../b",
    "./a/.",
    "c/",
    "../out",
    "../out/a",
    "../../out",
    "../../out/b",
    "../out/new",
    "../ROOT/a",
    "zz",
    "zz/a",
    "../R2/a",
    "$ROOT/a",
    "$BASE/out",
    "$BASE/out/a",
    "/",
    "/proc/self/root",
];

/// Few names and short paths, so that most lead to something.
fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![3 => Just("a"), 3 => Just("b"), 1 => Just("c")];
    let length = prop_oneof![3 => Just(1_usize), 4 => Just(2), 2 => Just(3)];
    length
        .prop_flat_map(move |length| proptest::collection::vec(name.clone(), length))
        .prop_map(|names| names.join("/"))
}

fn place() -> impl Strategy<Value = Place> {
    let root = prop_oneof![4 => Just(0_usize), 1 => Just(1)];
    (root, path()).prop_map(|(root, path)| Place { root, path })
}

fn plants() -> impl Strategy<Value = Vec<Plant>> {
    let plant = prop_oneof![
        4 => path().prop_map(Plant::Dir),
        3 => (path(), "[xy]{0,3}").prop_map(|(path, text)| Plant::File(path, text)),
        3 => (path(), select(TEXTS)).prop_map(|(path, text)| Plant::Link(path, text)),
    ];
    proptest::collection::vec((0..=1_usize, plant), 4..20)
        .prop_map(|plants| plants.into_iter().map(|(root, plant)| plant.beneath(root)).collect())
}

fn change() -> impl Strategy<Value = Change> {
    let when = || {
        prop_oneof![
            4 => Just(When::None), 2 => Just(When::Absent), 2 => Just(When::Current), 1 => Just(When::Other),
        ]
    };
    let parents = || select(&[Parents::Require, Parents::Create][..]);
    let what = select(&[Removal::File, Removal::EmptyDir, Removal::Tree][..]);
    prop_oneof![
        4 => (place(), "[xyz]{0,4}", when(), parents()).prop_map(
            |(at, contents, when, parents)| Change::Write { at, contents, when, parents }
        ),
        2 => (place(), parents()).prop_map(|(at, parents)| Change::CreateDir { at, parents }),
        2 => (place(), what).prop_map(|(at, what)| Change::Remove { at, what }),
        3 => (place(), place(), when()).prop_map(
            |(from, to, when)| Change::Rename { from, to, when }
        ),
        1 => (place(), place()).prop_map(|(first, second)| Change::Exchange { first, second }),
        2 => (place(), select(TEXTS)).prop_map(|(at, text)| Change::Symlink { at, text }),
    ]
}

/// What a call gave back, in words that do not depend on where and when.
type Answer = Result<String, String>;

fn failed(error: ringfence_platform::Error) -> String {
    format!("{:?}", error.kind())
}

fn rooted(fence: &dyn Fence, place: &Place) -> RootedPath {
    let ids: Vec<RootId> = fence.roots().iter().map(|root| root.id()).collect();
    RootedPath::new(ids[place.root], RelPath::new(&place.path).unwrap())
}

/// Turns a choice into a precondition; a look that fails is an answer itself.
fn precondition(fence: &dyn Fence, at: &Place, when: When) -> Result<Precondition, String> {
    Ok(match when {
        When::None => Precondition::None,
        When::Absent => Precondition::Absent,
        When::Current => {
            let mut snapshot = fence.open(&rooted(fence, at)).map_err(failed)?;
            let mut bytes = Vec::new();
            snapshot.file.read_to_end(&mut bytes).unwrap();
            Precondition::Matches { stamp: snapshot.stamp, digest: Some(Digest::of(&bytes)) }
        }
        When::Other => {
            let id = rooted(fence, at).root;
            let root = RootedPath::new(id, RelPath::root());
            let (_, stamp) = fence.stat(&root, Follow::Yes).map_err(failed)?.found.unwrap();
            Precondition::Matches { stamp, digest: None }
        }
    })
}

fn perform(fence: &dyn Fence, scene: &Scene, change: &Change) -> Answer {
    let at = |place: &Place| rooted(fence, place);
    let mutation = match change {
        Change::Write { at: place, contents, when, parents } => {
            let when = precondition(fence, place, *when)?;
            let contents = contents.clone().into_bytes();
            Mutation::Write { path: at(place), contents, when, parents: *parents }
        }
        Change::CreateDir { at: place, parents } => {
            Mutation::CreateDir { path: at(place), parents: *parents }
        }
        Change::Remove { at: place, what } => Mutation::Remove { path: at(place), what: *what },
        Change::Rename { from, to, when } => {
            let when = precondition(fence, to, *when)?;
            Mutation::Rename { from: at(from), to: at(to), when }
        }
        Change::Exchange { first, second } => {
            Mutation::Exchange { first: at(first), second: at(second) }
        }
        Change::Symlink { at: place, text } => {
            let text = LinkText::new(scene.expand(text)).map_err(failed)?;
            Mutation::Symlink { path: at(place), text }
        }
    };
    let terms = Terms { durability: Durability::None, ..Terms::default() };
    let receipt = fence.apply(mutation, &terms).map_err(failed)?;
    Ok(format!("{:?} {}", receipt.effect, receipt.parents_created))
}

/// What every way of looking says of `place`.
fn look(fence: &dyn Fence, place: &Place) -> Vec<Answer> {
    let path = rooted(fence, place);
    let kind = |stat: ringfence_platform::Stat| match stat.found {
        Some((Kind::File, stamp)) => format!("file of {}", stamp.size()),
        Some((kind, _)) => format!("{kind:?}"),
        None => "nothing".to_owned(),
    };
    let read = fence.open(&path).map(|mut snapshot| {
        let mut text = String::new();
        snapshot.file.read_to_string(&mut text).unwrap();
        text
    });
    let listed = fence.list(&path, &Cancel::never()).map(|entries| {
        let shown = entries.iter().map(|e| format!("{}:{:?}", e.name.display(), e.kind));
        shown.collect::<Vec<_>>().join(" ")
    });
    let stats = [Follow::Yes, Follow::No].map(|follow| fence.stat(&path, follow).map(kind));
    stats.into_iter().chain([read, listed]).map(|answer| answer.map_err(failed)).collect()
}

/// What one fence made of it all, step by step.
#[derive(Debug, PartialEq)]
struct Step {
    /// Whether the model had a say.
    modelled: bool,
    answer: Answer,
    looks: Vec<Answer>,
    after: Shape,
}

fn play(kind: FenceKind, plants: &[Plant], changes: &[Change]) -> Vec<Step> {
    let scene = Scene::new(plants);
    let fence = open_fence(&scene.roots(), kind);
    let fence = fence.as_ref();
    let outside = scene.outside();
    let mut before = scene.shape();
    let mut steps = Vec::new();
    for change in changes {
        let answer = perform(fence, &scene, change);
        let after = scene.shape();
        let model = model(&before, change);
        let modelled = model.is_some();
        if let Some((expected, tree)) = model {
            assert_eq!(answer, expected, "{kind}: {change:?} on {before:#?}");
            assert_eq!(after, tree, "{kind}: {change:?} on {before:#?}");
        }
        if answer.is_err() && !may_leave_something(change) {
            assert_eq!(after, before, "{kind}: {change:?} failed, {answer:?}");
        }
        let places = match change {
            Change::Write { at, .. }
            | Change::CreateDir { at, .. }
            | Change::Remove { at, .. }
            | Change::Symlink { at, .. } => vec![at],
            Change::Rename { from, to, .. } => vec![from, to],
            Change::Exchange { first, second } => vec![first, second],
        };
        let looks = places.into_iter().flat_map(|place| look(fence, place)).collect();
        before = after.clone();
        steps.push(Step { modelled, answer, looks, after });
    }
    assert_eq!(scene.outside().differences(&outside), Vec::<String>::new(), "{kind}: outside");
    steps
}

/// Directories that were made on the way may remain, and a part of a tree be gone.
fn may_leave_something(change: &Change) -> bool {
    match change {
        Change::Write { parents, .. } | Change::CreateDir { parents, .. } => {
            *parents == Parents::Create
        }
        Change::Remove { what, .. } => *what == Removal::Tree,
        Change::Rename { .. } | Change::Exchange { .. } | Change::Symlink { .. } => false,
    }
}

#[test]
fn every_fence_does_the_same_and_nothing_outside_changes() {
    let cases = u32::try_from(rounds_or(PROPERTIES, TREES)).unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let input = (plants(), proptest::collection::vec(change(), 1..16));
    let tally = Cell::new((0, 0, 0));
    let result = TestRunner::new(config).run(&input, |(plants, changes)| {
        let (first, others) = offered().split_first().expect("every host offers a fence");
        let steps = play(*first, &plants, &changes);
        let (all, made, modelled) = tally.get();
        let some = |is: fn(&&Step) -> bool| steps.iter().filter(is).count();
        let (now_made, now_modelled) = (some(|step| step.answer.is_ok()), some(|s| s.modelled));
        tally.set((all + steps.len(), made + now_made, modelled + now_modelled));
        for kind in others {
            for ((step, other), change) in
                steps.iter().zip(play(*kind, &plants, &changes)).zip(&changes)
            {
                prop_assert_eq!(step, &other, "{} and {} at {:?}", first, kind, change);
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let (all, made, modelled) = tally.get();
    say(format_args!("{cases} trees: {all} changes, {made} made, {modelled} known to the model"));
    // Of fewer than that, some must.
    let enough = |some: usize| some * 8 > all || (all < ENOUGH && some > 0);
    assert!(enough(made) && enough(modelled), "too few of them say anything");
}
