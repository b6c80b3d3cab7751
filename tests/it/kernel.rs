//! What Linux answers to `openat2`, flag by flag: the ground that the strongest fence stands on.
//! A kernel that answers otherwise is not one that the fence may trust.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use ringfence_platform::{ErrorKind, Options, Roots};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, Result};

use crate::act::{is_spelled_oddly, perform};
use crate::cases::{Args, Attacker, Case, Ok as Answer, Op, Table, errno_of};
use crate::support::{
    LeftOut, Needs, Stage, offered, open_dir, open_fence_with, say, this_test, while_exchanging,
    with_own_mounts,
};

/// Set to play the racing rows as often as the table says, which takes minutes.
const FULL: &str = "RINGFENCE_TEST_FULL";

/// How often a racing row is played at least.
const ROUNDS: usize = 20_000;

/// Why a row cannot be played on the bare call.
fn left_out_because(case: &Case) -> Option<&'static str> {
    if case.args.size.is_some() {
        Some("no safe call gives the struct another size or a tail")
    } else if flags(case).is_none() {
        Some("no safe call takes open flags of more than 32 bits")
    } else {
        None
    }
}

/// The rows that are not played, by group and reason.
pub(crate) fn left_out() -> Vec<LeftOut> {
    let table = Table::kernel();
    let mut all: Vec<LeftOut> = Vec::new();
    for case in &table.cases {
        let Some(why) = left_out_because(case) else { continue };
        let what = format!("openat2, {}", case.group);
        match all.iter_mut().find(|entry| entry.what == what && entry.reason == why) {
            Some(entry) => entry.count += 1,
            None => all.push(LeftOut::new(what, why, 1)),
        }
    }
    if !has_openat2() {
        let rest = table.cases.len() - all.iter().map(|entry| entry.count).sum::<usize>();
        all.push(LeftOut::new("openat2", NO_OPENAT2, rest));
    }
    all
}

const NO_OPENAT2: &str = "this host has no openat2";

fn has_openat2() -> bool {
    openat2(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::empty()).is_ok()
}

/// The row's open flags, if they fit into what a safe call takes.
fn flags(case: &Case) -> Option<OFlags> {
    let flags = case.args.flags.iter().map(|name| {
        Some(match name.as_str() {
            "O_RDONLY" => OFlags::RDONLY,
            "O_WRONLY" => OFlags::WRONLY,
            "O_RDWR" => OFlags::RDWR,
            "O_PATH" => OFlags::PATH,
            "O_CREAT" => OFlags::CREATE,
            "O_NOFOLLOW" => OFlags::NOFOLLOW,
            "O_TMPFILE" => OFlags::TMPFILE,
            number => {
                let number = number.strip_prefix("0x").expect("a flag is known or a number");
                let bits = u64::from_str_radix(number, 16).expect("a flag is hexadecimal");
                OFlags::from_bits_retain(u32::try_from(bits).ok()?)
            }
        })
    });
    flags.collect()
}

fn resolve(case: &Case) -> ResolveFlags {
    let flags = case.args.resolve.iter().map(|name| match name.as_str() {
        "RESOLVE_BENEATH" => ResolveFlags::BENEATH,
        "RESOLVE_IN_ROOT" => ResolveFlags::IN_ROOT,
        "RESOLVE_NO_XDEV" => ResolveFlags::NO_XDEV,
        "RESOLVE_NO_MAGICLINKS" => ResolveFlags::NO_MAGICLINKS,
        "RESOLVE_NO_SYMLINKS" => ResolveFlags::NO_SYMLINKS,
        "RESOLVE_CACHED" => ResolveFlags::CACHED,
        number => {
            let number = number.strip_prefix("0x").expect("a flag is known or a number");
            let bits = u64::from_str_radix(number, 16).expect("a flag is hexadecimal");
            ResolveFlags::from_bits_retain(bits)
        }
    });
    flags.collect()
}

fn mode(case: &Case) -> Mode {
    let bits = case.args.mode.as_deref().unwrap_or("0");
    Mode::from_bits_retain(u32::from_str_radix(bits, 8).expect("a mode is octal"))
}

/// The directory that the row starts from.
fn start(case: &Case, stage: &Stage) -> OwnedFd {
    let start = case.args.start.as_deref().expect("a row says where it starts");
    open_dir(CWD, stage.root().join(start)).unwrap()
}

fn bare(case: &Case, start: &OwnedFd, path: &str) -> Result<OwnedFd> {
    let flags = flags(case).expect("rows that do not fit are left out");
    openat2(start, path, flags, mode(case), resolve(case))
}

fn play_bare(table: &Table, case: &Case, mut stage: Stage) {
    let proc = open_dir(CWD, "/proc").unwrap();
    stage.define("fd", std::os::fd::AsRawFd::as_raw_fd(&proc));
    let before = stage.snapshot();
    let expect = &case.expect;
    // Any rename on the machine, as other tests make, can disturb a lookup with a `..` in it.
    let disturbed = |result: &Result<_>| {
        matches!(result, Err(Errno::AGAIN)) && !errno_of(&expect.error, Errno::AGAIN)
    };
    let (start, path) = (start(case, &stage), stage.expand(&case.path));
    let attempts = std::iter::repeat_with(|| bare(case, &start, &path)).take(10_000);
    let result = { attempts }.find(|r| !disturbed(r)).expect("somebody renames without end");
    match (expect.ok, result) {
        (Answer::Known(true), Ok(fd)) => {
            let place = expect.resolves_to.as_ref().expect("such a row says where");
            let place = stage.root().join(stage.expand(place));
            let found = File::from(fd).metadata().unwrap();
            let real = place.symlink_metadata().unwrap();
            assert_eq!((found.dev(), found.ino()), (real.dev(), real.ino()), "{case}");
        }
        (Answer::Known(false), Err(errno)) => {
            assert!(errno_of(&expect.error, errno), "{case} answers {errno:?}");
        }
        (_, result) => panic!("{case} answers {result:?} on {}", table.tree(case).note),
    }
    let effects = before.effects(&stage.snapshot(), stage.root_in_base());
    assert_eq!(effects, expect.effects.clone().unwrap_or_default(), "{case}");
}

fn is_race(case: &Case) -> bool {
    case.args.attacker.is_some()
}

fn needs_mount(case: &Case) -> bool {
    case.needs.contains(&Needs::Mount)
}

#[test]
fn the_kernel_resolves_as_the_table_says() {
    if !has_openat2() {
        return say(format_args!("left out: {}: {NO_OPENAT2}", this_test!()));
    }
    let table = Table::kernel();
    let mut played = 0;
    for case in table.cases.iter().filter(|case| left_out_because(case).is_none()) {
        if !is_race(case) && !needs_mount(case) {
            play_bare(&table, case, Stage::new(table.tree(case)));
            played += 1;
        }
    }
    assert_eq!(played, 86, "with the 9 on mounts, the 2 that race and the 6 left out it is 103");
}

#[test]
fn the_kernel_stops_at_a_mount_as_the_table_says() {
    if !has_openat2() {
        return say(format_args!("left out: {}: {NO_OPENAT2}", this_test!()));
    }
    with_own_mounts(this_test!(), || {
        let table = Table::kernel();
        let cases: Vec<_> = table.cases.iter().filter(|case| needs_mount(case)).collect();
        assert_eq!(cases.len(), 9);
        for case in cases {
            play_bare(&table, case, Stage::with_mounts(table.tree(case)));
        }
    });
}

/// Looks `case` up through every fence around the directory it starts from. What is wrong is
/// returned, one line a fence.
fn play_fences(
    case: &Case,
    stage: &Stage,
    options: Options,
    fits: impl Fn(ErrorKind) -> bool,
) -> Vec<String> {
    let start = stage.root().join(case.args.start.as_deref().expect("a row says where it starts"));
    let roots = Roots::open([start]).unwrap();
    let before = stage.snapshot();
    let mut wrong = Vec::new();
    for kind in offered() {
        let fence = open_fence_with(&roots, options, *kind);
        let outcome =
            perform(fence.as_ref(), Op::Stat, &stage.expand(&case.path), &Args::default());
        let right = match (&outcome, case.expect.ok) {
            (Ok(_), Answer::Known(true)) => {
                let place = case.expect.resolves_to.as_deref().expect("such a row says where");
                let there = perform(fence.as_ref(), Op::Lstat, place, &Args::default());
                format!("{outcome:?}") == format!("{there:?}")
            }
            (Err(kind), _) => fits(*kind),
            (Ok(_), _) => false,
        };
        stage.assert_unchanged(&before);
        if !right {
            wrong.push(format!("{case} on {kind}: {outcome:?}"));
        }
    }
    wrong
}

#[test]
fn every_fence_resolves_beneath_its_root_as_the_kernel_does() {
    let table = Table::kernel();
    let cases: Vec<_> = table.cases.iter().filter(|case| case.group == "beneath").collect();
    assert_eq!(cases.len(), 23);
    let stage = Stage::new(table.tree(cases[0]));
    let wrong = cases.iter().flat_map(|case| {
        play_fences(case, &stage, Options::default(), |kind| {
            let invalid = is_spelled_oddly(&case.path) && kind == ErrorKind::InvalidPath;
            invalid || case.expect.error.iter().any(|fault| fault.admits(kind))
        })
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fence_that_crosses_no_mount_stops_where_the_kernel_does() {
    with_own_mounts(this_test!(), || {
        let options = Options { no_xdev: true, ..Options::default() };
        let table = Table::kernel();
        let cases = table.cases.iter().filter(|case| case.group == "no-xdev");
        let mut wrong = Vec::new();
        for case in cases.filter(|case| !case.path.starts_with('/')) {
            let mut stage = Stage::with_mounts(table.tree(case));
            stage.define("fd", 0);
            let fits = |kind| {
                // Whatever mount it leads to, a magic link is not followed.
                let magic = case.args.start.as_deref() == Some("/proc");
                (kind == ErrorKind::InvalidPath && is_spelled_oddly(&case.path))
                    || (kind == ErrorKind::Loop && magic)
                    || case.expect.error.iter().any(|fault| fault.admits(kind))
            };
            wrong.extend(play_fences(case, &stage, options, fits));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn a_lookup_never_leaves_the_root_while_its_directory_is_exchanged() {
    if !has_openat2() {
        return say(format_args!("left out: {}: {NO_OPENAT2}", this_test!()));
    }
    let table = Table::kernel();
    let cases: Vec<_> = table.cases.iter().filter(|case| is_race(case)).collect();
    assert_eq!(cases.len(), 2);
    for case in cases {
        let full = case.args.repeat.expect("a racing row says how often");
        let rounds = if std::env::var_os(FULL).is_some() { full } else { ROUNDS };
        race(case, &Stage::new(table.tree(case)), rounds);
    }
}

fn race(case: &Case, stage: &Stage, rounds: usize) {
    let attacker = case.args.attacker.as_ref().expect("a racing row has an attacker");
    let Attacker::Exchange { a, b } = attacker else { panic!("{case}: {attacker}") };
    let (a, b) = (stage.root().join(a), PathBuf::from(stage.expand(b)));
    let start = start(case, stage);
    let root = stage.root().metadata().unwrap();
    let path = stage.expand(&case.path);
    let (mut found_root, mut refused) = (0, 0);
    let strikes = while_exchanging(&a, &b, rounds, || {
        match bare(case, &start, &path) {
            Ok(fd) => {
                let found = File::from(fd).metadata().unwrap();
                let is_root = (found.dev(), found.ino()) == (root.dev(), root.ino());
                assert!(is_root, "{case}: {:?}", case.expect.never);
                found_root += 1;
            }
            Err(errno) => {
                assert_ne!(errno, Errno::NOENT, "{case}: {:?}", case.expect.never);
                refused += 1;
            }
        }
        true
    });
    say(format_args!(
        "{}: {strikes} exchanges; {found_root} lookups led to the root, {refused} were refused",
        case.id
    ));
}
