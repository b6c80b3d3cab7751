//! Somebody takes the parent away while it is being changed, as fast as they can.
//!
//! Zero is the only number of effects outside that passes. Where the directory itself goes outside
//! and nothing confines the acting thread, changes may follow it (the contract says so): there they
//! are counted and told.

mod attacker;
mod attempts;
mod by;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ringfence_platform::{Confinement, Durability, ErrorKind, Fence, Terms};
use rustix::fs::Access;

use crate::act::NOT_OFFERED;
use crate::actor::{self, Actor};
use crate::cases::{self, Op, Table};
use crate::effort::rounds_or;
use crate::support::{Stage, Tree, dir, fence_on, file, link, offered, say, this_test};
use attacker::Attack;
use attempts::{ATTEMPTS, BESIDE, Scene};
use by::{Attacker, By};

/// How many rounds an attack lasts on the strongest fence. A round tries every change once.
const RACES: &str = "RINGFENCE_TEST_RACES";
/// In memory, where calls take least time and there are the most of them.
const ROUNDS: usize = 1_850;
/// On the disk, where each call takes longer and can be met in the middle.
const ROUNDS_ON_DISK: usize = 190;
const _: () = assert!((ROUNDS + ROUNDS_ON_DISK) * ATTEMPTS.len() * 4 >= 200_000, "too few");

/// With less the attacker has shown nothing.
const ENOUGH_SWAPS: usize = 1_000;
/// How long an attacker may take for them on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What every file beneath the roots, and nothing outside, says.
const INSIDE: &str = "inside";

/// A directory in memory, if there is one where this user may make something.
fn memory() -> Option<&'static str> {
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    let place = "/dev/shm";
    let is_tmpfs = rustix::fs::statfs(place)
        .is_ok_and(|statfs| u64::try_from(statfs.f_type) == Ok(TMPFS_MAGIC));
    let writable = || rustix::fs::access(place, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    (is_tmpfs && writable()).then_some(place)
}

fn tree() -> Tree {
    let inside = ["p/x", "p/m", "p/d/y"].map(|path| file(path, INSIDE));
    // The directory that changes places with `p`, and what lies outside under the same names.
    let q = ["x", "m", "d/y"].map(|path| file(&format!("yard/q/{path}"), INSIDE));
    let names = ["x", "m", "d/y", "n/a/b/c/z", "r", "r2", "new", "l", "outside"];
    let outside = names.map(|path| file(&format!("out/{path}"), "outside"));
    let tree = Tree::inside(inside.into_iter().chain([link("link", "../out")]));
    let beside = [dir("out/d/k"), file("R2/e", INSIDE)];
    let tree = tree.outside(q.into_iter().chain(outside).chain(beside));
    Tree { roots: vec!["ROOT".to_owned(), "R2".to_owned()], ..tree }
}

/// What came of the changes that were tried.
#[derive(Debug, Default)]
struct Tally {
    done: BTreeMap<&'static str, usize>,
    refused: BTreeMap<String, usize>,
    from_outside: Vec<String>,
}

impl Tally {
    fn tries(&self) -> usize {
        self.done.values().chain(self.refused.values()).sum()
    }
}

fn play_round(fence: &dyn Fence, scene: &mut Scene, round: usize, tally: &mut Tally) {
    let terms = Terms { durability: Durability::None, ..Terms::default() };
    for name in BESIDE {
        std::fs::write(fence.roots().iter().next().unwrap().path().join(name), INSIDE).unwrap();
    }
    tally.from_outside.extend(scene.look(fence, round));
    for attempt in ATTEMPTS {
        match fence.apply((attempt.change)(scene), &terms) {
            Ok(_) => *tally.done.entry(attempt.name).or_default() += 1,
            Err(error) => {
                let kind = error.kind();
                let expected = !matches!(kind, ErrorKind::ConfinementLost | ErrorKind::Io);
                assert!(expected, "{}: {error:?}", attempt.name);
                *tally.refused.entry(format!("{kind:?}")).or_default() += 1;
            }
        }
    }
}

/// Runs every change against the attack by a thread, on the disk that the tests are on.
fn race_on_disk(kind: Attack, test: &str) {
    race(kind, By::Thread, rounds_or(RACES, ROUNDS_ON_DISK), test);
}

/// Runs every change against the attack by another process, in memory where that is possible.
fn race_in_memory(kind: Attack, test: &str) {
    match (actor::part(), memory()) {
        (Some((part, words)), _) if part == "attacker" => by::play(&words),
        (Some(_), _) => race(kind, By::Process, rounds_or(RACES, ROUNDS), test),
        (None, None) => race(kind, By::Process, rounds_or(RACES, ROUNDS_ON_DISK), test),
        (None, Some(memory)) => {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.env("RINGFENCE_TEST_BASE", memory);
            Actor::start_by(command, test, "in memory", &[]).end();
        }
    }
}

/// Runs every change against the attack, on every fence.
fn race(kind: Attack, by: By, rounds: usize, test: &str) {
    for fence_kind in offered() {
        let stage = Stage::new(&tree());
        let fence = fence_on(&stage, *fence_kind);
        let strongest = *fence_kind == offered()[0];
        let rounds = if strongest { rounds } else { rounds.div_ceil(8) };
        let beyond =
            |stage: &Stage| stage.snapshot().outside(&["ROOT", "R2", "yard"].map(Path::new));

        let before = beyond(&stage);
        let mut attacker = Attacker::start(by, kind, test, stage.base());
        let (mut scene, mut tally) = (Scene::new(fence.as_ref()), Tally::default());
        let began = Instant::now();
        for round in 0.. {
            let all_made = !strongest || tally.done.len() == ATTEMPTS.len();
            let has_shown_enough = round >= rounds && all_made;
            if has_shown_enough && attacker.has_swapped_enough() {
                break;
            }
            assert!(began.elapsed() < PATIENCE || round < rounds, "{kind}: {tally:?}");
            if by == By::Process && round % 100 == 0 {
                // Whoever started this one does not wait for ever.
                actor::tell(format_args!("round {round}"));
            }
            play_round(fence.as_ref(), &mut scene, round, &mut tally);
        }
        let elapsed = began.elapsed();
        let score = attacker.stop();
        let changed = before.differences(&beyond(&stage));

        let label = format!("{kind} by a {by:?} on {fence_kind}").to_lowercase();
        say(format_args!(
            "race {label}: {} changes tried, {} made, {:?}; {} swaps, followed out {}, in flight \
             {}, scratch left there {}, {:.1} s",
            tally.tries(),
            tally.done.values().sum::<usize>(),
            tally.refused,
            score.swaps,
            score.followed,
            score.in_flight,
            score.scratch,
            elapsed.as_secs_f32(),
        ));
        assert_eq!(changed, Vec::<String>::new(), "{label}: something outside changed");
        assert!(score.swaps >= ENOUGH_SWAPS, "{label}: only {} swaps", score.swaps);
        if !kind.moves_the_parent() {
            assert_eq!(tally.from_outside, Vec::<String>::new(), "{label}");
        }
        if fence_kind.confinement == Confinement::Landlock || !kind.moves_the_parent() {
            assert_eq!(score.followed, 0, "{label}: outside changed {}", score.first);
        }
    }
}

#[test]
fn a_parent_renamed_away_for_a_link_by_a_thread_leads_nothing_outside() {
    race_on_disk(Attack::RenameDance, this_test!());
}

#[test]
fn a_parent_renamed_away_for_a_link_by_a_process_leads_nothing_outside() {
    race_in_memory(Attack::RenameDance, this_test!());
}

#[test]
fn a_parent_exchanged_for_a_link_by_a_thread_leads_nothing_outside() {
    race_on_disk(Attack::ExchangeLink, this_test!());
}

#[test]
fn a_parent_exchanged_for_a_link_by_a_process_leads_nothing_outside() {
    race_in_memory(Attack::ExchangeLink, this_test!());
}

#[test]
fn a_parent_exchanged_for_a_directory_outside_by_a_thread_takes_no_confined_change_along() {
    race_on_disk(Attack::ExchangeDir, this_test!());
}

#[test]
fn a_parent_exchanged_for_a_directory_outside_by_a_process_takes_no_confined_change_along() {
    race_in_memory(Attack::ExchangeDir, this_test!());
}

#[test]
fn a_parent_moved_out_by_a_thread_takes_no_confined_change_along() {
    race_on_disk(Attack::MoveOut, this_test!());
}

#[test]
fn a_parent_moved_out_by_a_process_takes_no_confined_change_along() {
    race_in_memory(Attack::MoveOut, this_test!());
}

#[test]
fn every_row_about_races_is_played_or_left_out_with_a_reason() {
    let table = Table::attacks();
    let groups = ["race-exchange", "race-move-out"];
    let rows = table.cases.iter().filter(|case| groups.contains(&case.group.as_str()));
    let played: BTreeSet<Op> = ATTEMPTS.iter().map(|attempt| attempt.op).collect();
    let mut left_out: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut count = 0;
    for case in rows {
        count += 1;
        let attacker = case.args.attacker.as_ref().expect("a race has an attacker");
        assert_eq!(
            matches!(attacker, cases::Attacker::Move { .. }),
            case.group == "race-move-out",
            "{case}"
        );
        if played.contains(&case.op) {
            continue;
        }
        let reason = NOT_OFFERED.iter().find(|(ops, _)| ops.contains(&case.op));
        let (_, reason) = reason.unwrap_or_else(|| panic!("nobody plays {case}"));
        left_out.entry(reason).or_default().push(&case.id);
    }
    assert_eq!(count, 19);
    for (reason, ids) in left_out {
        say(format_args!("left out of the races: {}: {reason}", ids.join(", ")));
    }
}
