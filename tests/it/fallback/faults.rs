//! A kernel that answers wrongly, or not always in the same way: the rows about injected faults.

use std::os::fd::IntoRawFd;
use std::path::Path;

use ringfence_platform::{
    Confinement, Durability, Enforcement, Fence, Mutation, Options, Parents, Precondition, RelPath,
    Resolution, RootedPath, Roots, Terms, open,
};
use rustix::fs::CWD;

use crate::actor;
use crate::cases::{Op, Table};
use crate::strace::{self, Traced};
use crate::support::{FenceKind, Stage, fences_on, open_dir, say, this_test};

/// Where each row is played.
const PLAYED: &[(&str, &str)] = &[
    ("A-025", "a_kernel_that_does_not_know_openat2_is_asked_once"),
    ("A-026", "a_kernel_that_forbids_openat2_is_asked_once, one_refusal_is_reported_and_no_more"),
    ("A-027", "a_fence_whose_calls_are_forbidden_later_refuses_and_a_new_one_walks"),
    ("A-028", "a_kernel_that_does_not_refuse_to_leave_is_not_believed"),
    ("A-029", "a_burst_of_renames_is_outlasted"),
    ("A-030", "a_kernel_without_landlock_is_reported_and_refused_to_who_asks_for_more"),
];

/// How many changes the fence makes that was opened first.
const CHANGES: usize = 3;

#[test]
fn every_row_about_faults_is_played() {
    let table = Table::attacks();
    let rows: Vec<_> = table.cases.iter().filter(|case| case.group == "fault").collect();
    let played: Vec<_> = PLAYED.iter().map(|(id, _)| *id).collect();
    assert_eq!(rows.iter().map(|case| case.id.as_str()).collect::<Vec<_>>(), played);
    assert!(rows.iter().all(|case| case.op == Op::Fault && case.tree == "links-out"));
}

/// What a program on that kernel sees.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Seen {
    /// The number of a descriptor that it has of a directory outside.
    outside: i32,
    /// The fences that it is offered.
    fences: String,
    /// What becomes of changes by the fence without a thread that was opened first.
    changes: String,
    /// What it is offered after that, and what becomes of one change more.
    later: String,
    /// The answer to who asks for a confined fence.
    confined: String,
}

fn kinds(fences: &[Box<dyn Fence>]) -> String {
    super::shown(&fences.iter().map(|fence| FenceKind::of(fence.as_ref())).collect::<Vec<_>>())
}

/// The strongest fence that acts on this thread.
fn on_this_thread(fences: &[Box<dyn Fence>]) -> &dyn Fence {
    let fence = fences.iter().find(|f| f.assurance().confinement == Confinement::Nothing);
    fence.expect("there always is one").as_ref()
}

fn change(fence: &dyn Fence, path: &str) -> String {
    let root = fence.roots().iter().next().expect("a fence has a root").id();
    let path = RootedPath::new(root, RelPath::new(path).unwrap());
    let (contents, when, parents) = (b"new".to_vec(), Precondition::None, Parents::Require);
    let terms = Terms { durability: Durability::None, ..Terms::default() };
    match fence.apply(Mutation::Write { path, contents, when, parents }, &terms) {
        Ok(_) => "made".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

/// The program: its own words are the root and a directory outside.
fn look_around(words: &[String]) {
    let outside = open_dir(CWD, Path::new(&words[1])).unwrap().into_raw_fd();
    let roots = Roots::open([&words[0]]).unwrap();
    let first = fences_on(&roots);
    let fence = on_this_thread(&first);
    let mut changes: Vec<_> = (0..CHANGES).map(|_| change(fence, "d/f")).collect();
    let links = ["in/f", "out-file", "out-dir/new", "dangling-out", "chain1/new"];
    let later = fences_on(&roots);
    let fence = on_this_thread(&later);
    let verdicts: Vec<_> = links.iter().map(|path| change(fence, path)).collect();
    let later = format!("{}: {}", kinds(&later), verdicts.join(" "));
    let strict = Options { at_least: Enforcement::Confined, ..Options::default() };
    let confined = match open(&roots, strict) {
        Ok(_) => "opened".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    changes.insert(0, outside.to_string());
    actor::tell([changes.join(" "), kinds(&first), later, confined].join(";"));
}

/// Plays the program on a kernel that answers as `inject` says. Nothing outside may change.
fn on_a_kernel_that(inject: Option<&str>, test: &str) -> (Seen, Traced) {
    let table = Table::attacks();
    let stage = Stage::new(table.tree(table.case("A-025")));
    let before = stage.snapshot();
    let words = [stage.root().to_str().unwrap(), &*stage.expand("$BASE/out")];
    let traced = ["-e", "trace=openat2,landlock_create_ruleset"];
    let inject = inject.map(|fault| format!("inject={fault}"));
    let options: Vec<_> =
        traced.into_iter().chain(inject.iter().flat_map(|fault| ["-e", fault])).collect();
    let traced = strace::run(&options, test, "program", &words);
    stage.assert_outside_unchanged(&before);
    let parts: Vec<_> = traced.said.split(';').collect();
    let [changes, fences, later, confined] = parts[..] else { panic!("it said {parts:?}") };
    let (outside, changes) = changes.split_once(' ').unwrap();
    let seen = Seen {
        outside: outside.parse().unwrap(),
        fences: fences.to_owned(),
        changes: changes.to_owned(),
        later: later.to_owned(),
        confined: confined.to_owned(),
    };
    (seen, traced)
}

/// The calls that the program makes on a kernel that answers rightly.
struct Calls {
    seen: Seen,
    /// How often it asks for `openat2` until its fences are open.
    to_open: usize,
}

/// Runs `test` where there is a kernel with `openat2` and something that can answer in its place.
fn play(test: &'static str, rows: impl FnOnce(Calls)) {
    if let Some((_, words)) = actor::part() {
        return look_around(&words);
    }
    if !crate::support::offered().iter().any(|kind| kind.resolution == Resolution::Openat2) {
        return say(format_args!("left out: {test}: there is no openat2 to answer for"));
    }
    if !strace::is_there(test) {
        return;
    }
    let (seen, traced) = on_a_kernel_that(None, test);
    assert_eq!(seen.changes, ["made"; CHANGES].join(" "));
    // Up to the first that names the directory of a change.
    let openat2 = traced.calls.iter().filter(|line| strace::name_of(line) == Some("openat2"));
    let to_open = openat2.take_while(|line| !line.contains("\"d\"")).count();
    rows(Calls { seen, to_open });
}

fn only_walks(kinds: &str) -> String {
    kinds.split(' ').filter(|kind| kind.starts_with("walk")).collect::<Vec<_>>().join(" ")
}

/// The program on a kernel where every `openat2` answers `errno`.
fn without_openat2(test: &'static str, errno: &str) {
    play(test, |calls| {
        let (seen, traced) = on_a_kernel_that(Some(&format!("openat2:error={errno}")), test);
        let (fences, verdicts) = calls.seen.later.split_once(": ").unwrap();
        let walks = only_walks(fences);
        let later = format!("{walks}: {verdicts}");
        let right = Seen { fences: walks.clone(), later, confined: "TooWeak".into(), ..calls.seen };
        assert_eq!(seen, right, "the same verdicts, by the walk");
        // The program opens each kind three times. No change asks again.
        let by_kind = fences.split(' ').count() - walks.split(' ').count();
        assert_eq!(traced.count("openat2"), 3 * by_kind);
    });
}

#[test]
fn a_kernel_that_does_not_know_openat2_is_asked_once() {
    without_openat2(this_test!(), "ENOSYS");
}

#[test]
fn a_kernel_that_forbids_openat2_is_asked_once() {
    without_openat2(this_test!(), "EPERM");
}

#[test]
fn one_refusal_is_reported_and_no_more() {
    let test = this_test!();
    play(test, |calls| {
        let fault = format!("openat2:error=EPERM:when={}", calls.to_open + 1);
        let (seen, _) = on_a_kernel_that(Some(&fault), test);
        assert_eq!(seen, Seen { changes: "Denied made made".into(), ..calls.seen });
    });
}

/// The table would have the walk take over at once. A fence keeps to what it was opened with,
/// since that is what it claims, and refuses; the next one that is opened walks.
#[test]
fn a_fence_whose_calls_are_forbidden_later_refuses_and_a_new_one_walks() {
    let test = this_test!();
    play(test, |calls| {
        let fault = format!("openat2:error=EPERM:when={}+", calls.to_open + 1);
        let (seen, _) = on_a_kernel_that(Some(&fault), test);
        let (fences, verdicts) = calls.seen.later.split_once(": ").unwrap();
        let right = Seen {
            changes: "Denied Denied Denied".into(),
            later: format!("{}: {verdicts}", only_walks(fences)),
            confined: "TooWeak".into(),
            ..calls.seen
        };
        assert_eq!(seen, right);
    });
}

#[test]
fn a_kernel_that_does_not_refuse_to_leave_is_not_believed() {
    let test = this_test!();
    play(test, |calls| {
        // The first call finds the root; the second asks for the `..` of it and is given, as if
        // the flag were not there, a directory outside.
        let fault = format!("openat2:retval={}:when=2", calls.seen.outside);
        let (seen, _) = on_a_kernel_that(Some(&fault), test);
        let (strongest, others) = calls.seen.fences.split_once(' ').unwrap();
        assert_eq!(seen, Seen { fences: others.into(), ..calls.seen.clone() }, "no {strongest}");
    });
}

#[test]
fn a_burst_of_renames_is_outlasted() {
    let test = this_test!();
    play(test, |calls| {
        let first = calls.to_open + 1;
        let fault = format!("openat2:error=EAGAIN:when={first}..{}", first + 30);
        let (seen, _) = on_a_kernel_that(Some(&fault), test);
        assert_eq!(seen, calls.seen);
    });
}

#[test]
fn a_kernel_without_landlock_is_reported_and_refused_to_who_asks_for_more() {
    let test = this_test!();
    play(test, |calls| {
        for errno in ["ENOSYS", "EOPNOTSUPP"] {
            let fault = format!("landlock_create_ruleset:error={errno}");
            let (seen, _) = on_a_kernel_that(Some(&fault), test);
            let unconfined = |kinds: &str| {
                let left = kinds.split(' ').filter(|kind| !kind.ends_with("+landlock"));
                left.collect::<Vec<_>>().join(" ")
            };
            let (fences, verdicts) = calls.seen.later.split_once(": ").unwrap();
            let right = Seen {
                fences: unconfined(&calls.seen.fences),
                later: format!("{}: {verdicts}", unconfined(fences)),
                confined: "TooWeak".into(),
                ..calls.seen.clone()
            };
            assert_eq!(seen, right, "{errno}");
        }
    });
}
