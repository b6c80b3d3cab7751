//! Every row of the table of situations, on every fence the host offers: the right answer, the
//! right effects, nothing else, and the same on each.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::sync::Barrier;

use ringfence_platform::{ErrorKind, Fence, Follow, Kind, RelPath, RootedPath, Roots};

use crate::act::{CONTENTS, NOT_OFFERED, Outcome, beneath, is_spelled_oddly, perform, rehearse};
use crate::cases::{Args, Case, Expect, Ok as Answer, Op, RenameFlag, Table};
use crate::support::{
    Effect, FenceKind, LeftOut, NodeKind, Snapshot, Stage, as_user, offered, open_fence, say,
    this_test,
};

/// What the contract says instead of the table, and why. One list, so that nothing else can
/// deviate.
const BY_CONTRACT: &[(&[&str], Instead, &str)] = &[
    (
        &["R-219"],
        Instead::Creates("a/fake"),
        "`Absent` is about the place a link leads to: the target of a dangling link is created",
    ),
    (&["R-428"], Instead::Creates("target"), "as R-219"),
    (
        &["R-471", "R-618", "R-627"],
        Instead::Refused(ErrorKind::Escape),
        "as R-219: where the link leads outside, the place is outside",
    ),
    (&["R-581"], Instead::Refused(ErrorKind::Loop), "as R-219: a loop leads nowhere"),
    (
        &["R-235"],
        Instead::Refused(ErrorKind::WrongKind),
        "a directory in the place of a file is of the wrong kind, whatever was expected there",
    ),
    (
        &["R-267", "R-268", "R-269", "R-270", "R-271", "R-272", "R-273"],
        Instead::RefusedAndHoldsWithRelativeText,
        "a new link's text is relative",
    ),
];

#[derive(Clone, Copy, Debug)]
enum Instead {
    Refused(ErrorKind),
    Creates(&'static str),
    /// The text is refused as an escape; with a relative one the row holds as it stands.
    RefusedAndHoldsWithRelativeText,
}

/// Why a row is not played through a fence; `None` if it is.
pub(crate) fn left_out_because(case: &Case) -> Option<(String, &'static str)> {
    if !case.os.is_linux() {
        return Some(("rows of another system".to_owned(), "they are about its calls and names"));
    }
    if let Some((_, why)) = NOT_OFFERED.iter().find(|(ops, _)| ops.contains(&case.op)) {
        return Some((case.op.to_string(), why));
    }
    let arg = |arg: &str| format!("{} with `{arg}`", case.op);
    if case.args.no_symlinks {
        return Some((arg("no_symlinks"), "a fence follows the links that stay inside"));
    }
    if case.args.flag == Some(RenameFlag::Whiteout) {
        return Some((arg("WHITEOUT"), "a fence leaves no whiteouts"));
    }
    if case.args.directory {
        return Some((
            arg("directory"),
            "a fence tells the kind and leaves the rest to the caller",
        ));
    }
    if case.op == Op::Open && case.args.nofollow {
        return Some((arg("nofollow"), "a fence opens what a link leads to"));
    }
    let missing = case.needs.iter().find_map(|needs| needs.missing());
    missing.map(|why| (format!("{} on {}", case.op, case.tree), why))
}

/// The rows of the table that are not played here, by name and reason.
pub(crate) fn left_out() -> Vec<LeftOut> {
    let table = Table::resolve();
    let mut all: Vec<LeftOut> = Vec::new();
    for (what, why) in table.cases.iter().filter_map(left_out_because) {
        match all.iter_mut().find(|entry| entry.what == what && entry.reason == why) {
            Some(entry) => entry.count += 1,
            None => all.push(LeftOut::new(what, why, 1)),
        }
    }
    let played = table.cases.iter().filter(|case| left_out_because(case).is_none());
    let with_mode = played.filter(|case| case.args.mode.is_some() && case.op != Op::Raw);
    all.push(LeftOut::new(
        "the `mode` of a creation",
        "a fence makes files as open(2) would; the rows are played without it",
        with_mode.count(),
    ));
    all
}

#[test]
fn every_fence_gives_the_answers_of_the_table() {
    play_all();
}

#[test]
fn every_fence_gives_the_answers_of_the_table_to_an_ordinary_user() {
    as_user(this_test!(), play_all);
}

/// The arguments that a row which is played may have. `mode` is left out by itself, see above.
const UNDERSTOOD: &[&str] =
    &["to", "text", "mode", "flag", "nofollow", "exclusive", "start", "threads", "paths"];

#[test]
fn no_row_that_is_played_says_more_than_is_understood() {
    let table = Table::resolve();
    let played = table.cases.iter().filter(|case| left_out_because(case).is_none());
    for case in played.filter(|case| case.op != Op::Raw) {
        let unknown: Vec<_> =
            case.args.names().into_iter().filter(|name| !UNDERSTOOD.contains(name)).collect();
        assert!(unknown.is_empty(), "{case}: {unknown:?}");
    }
    for (ids, ..) in BY_CONTRACT {
        for id in *ids {
            assert!(left_out_because(table.case(id)).is_none(), "{id} is not played");
        }
    }
}

fn play_all() {
    let table = Table::resolve();
    let mut failures = Vec::new();
    let (mut played, mut invalid, mut stricter) = (0, 0, 0);
    let mut shared = BTreeMap::new();
    // Removed together in the end: ext4 is slow to make files where it has just removed many.
    let mut used = Vec::new();
    for case in &table.cases {
        if left_out_because(case).is_some() || case.op == Op::Raw {
            continue;
        }
        played += 1;
        let before = failures.len();
        let mut verdicts: Vec<(FenceKind, Verdict)> = Vec::new();
        let mut play_on = |ground: &Ground| {
            for (kind, fence) in &ground.fences {
                match (Turn { case, ground, fence: fence.as_ref() }).play() {
                    Ok(verdict) => verdicts.push((*kind, verdict)),
                    Err(failure) => failures.push(format!("{case} on {kind}: {failure}")),
                }
            }
        };
        if changes_nothing(case) {
            let ground = || Ground::new(&table, case, offered());
            play_on(shared.entry((&case.tree, &case.args.start)).or_insert_with(ground));
        } else {
            for kind in offered() {
                let ground = Ground::new(&table, case, std::slice::from_ref(kind));
                play_on(&ground);
                used.push(ground.stage);
            }
        }
        if failures.len() > before {
            // What went wrong may have left something.
            shared.remove(&(&case.tree, &case.args.start));
        }
        let Some((_, first)) = verdicts.first() else { continue };
        for (kind, verdict) in &verdicts {
            if verdict != first {
                failures.push(format!("{case}: {kind} says {verdict:?}, others {first:?}"));
            }
        }
        if first.answer == Err(ErrorKind::InvalidPath) {
            invalid += 1;
            let also =
                |e: &Expect| e.error.iter().any(|fault| fault.admits(ErrorKind::InvalidPath));
            stricter += usize::from(!also(&case.expect));
        }
    }
    say(format_args!(
        "{played} rows of the table played on {} fences; {invalid} answered InvalidPath, of which \
         {stricter} for the spelling alone",
        offered().len()
    ));
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// A row that reads, or whose path is refused by its spelling, leaves the stage for the next one;
/// that it really changes nothing is part of what is checked.
fn changes_nothing(case: &Case) -> bool {
    let reads = [Op::Lookup, Op::Stat, Op::Lstat, Op::Open, Op::OpenDir, Op::List];
    let to = case.args.to.as_deref().unwrap_or("plain");
    reads.contains(&case.op) || RelPath::new(&case.path).is_err() || RelPath::new(to).is_err()
}

/// What a fence said and did to one row.
#[derive(Debug, Eq, PartialEq)]
struct Verdict {
    answer: Result<(), ErrorKind>,
    effects: BTreeSet<Effect>,
}

/// A stage with fences around it, and how it was before.
struct Ground {
    stage: Stage,
    before: Snapshot,
    fences: Vec<(FenceKind, Box<dyn Fence>)>,
}

impl Ground {
    fn new(table: &Table, case: &Case, kinds: &[FenceKind]) -> Self {
        let stage = Stage::new(table.tree(case));
        let roots = match &case.args.start {
            None => stage.roots(),
            Some(start) => Roots::open([stage.root().join(start)]).expect("a start exists"),
        };
        let open = |kind: &FenceKind| (*kind, open_fence(&roots, *kind));
        let fences = kinds.iter().map(open).collect();
        let before = stage.snapshot();
        Self { stage, before, fences }
    }
}

/// One row on one fence.
struct Turn<'a> {
    case: &'a Case,
    ground: &'a Ground,
    fence: &'a dyn Fence,
}

/// What an operation gave back, and the picture after it.
struct Done<'a> {
    path: &'a str,
    outcome: Result<Outcome, ErrorKind>,
    after: Snapshot,
}

impl Turn<'_> {
    /// Plays the row for each path that it names.
    fn play(&self) -> Result<Verdict, String> {
        let Args { paths, .. } = &self.case.args;
        let one = std::slice::from_ref(&self.case.path);
        let paths = if paths.is_empty() { one } else { paths.as_slice() };
        let mut last = Err("no path".to_owned());
        for path in paths {
            last = Ok(self.play_path(path)?);
        }
        last
    }

    fn play_path(&self, path: &str) -> Result<Verdict, String> {
        let args = &self.case.args;
        let instead = BY_CONTRACT.iter().find(|(ids, ..)| ids.contains(&self.case.id.as_str()));
        match instead {
            None => self.act(path, args, |done| self.check(&self.case.expect, done)),
            Some((_, Instead::Refused(kind), _)) => {
                self.act(path, args, |done| self.check_refusal(done, |found| found == *kind))
            }
            Some((_, Instead::Creates(place), _)) => {
                let new = Effect::New(NodeKind::File, (*place).to_owned());
                let effects = Some(BTreeSet::from([new]));
                self.act(path, args, |done| self.check_success(done, &effects))
            }
            Some((_, Instead::RefusedAndHoldsWithRelativeText, _)) => {
                let refusals = [ErrorKind::Escape, ErrorKind::InvalidPath];
                self.act(path, args, |done| {
                    self.check_refusal(done, |kind| refusals.contains(&kind))
                })?;
                let text = args.text.as_deref().map(|text| text.trim_start_matches('/').to_owned());
                let args = Args { text, ..args.clone() };
                self.act(path, &args, |done| self.check(&self.case.expect, done))
            }
        }
    }

    fn act(
        &self,
        path: &str,
        args: &Args,
        check: impl Fn(&Done<'_>) -> Result<(), String>,
    ) -> Result<Verdict, String> {
        let stage = &self.ground.stage;
        let path = &stage.expand(path);
        let threads = args.threads.unwrap_or(1);
        let barrier = Barrier::new(threads);
        let act = || {
            barrier.wait();
            perform(self.fence, self.case.op, path, args)
        };
        let said = rehearse(self.fence, self.case.op, path, args);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(act)).collect();
            let first = act();
            let others = others.into_iter().map(|thread| thread.join().expect("no panic"));
            std::iter::once(first).chain(others).collect()
        });
        let after = stage.snapshot();
        let effects = self.ground.before.effects(&after, stage.root_in_base());
        let mut answer = Ok(());
        for outcome in outcomes {
            answer = outcome.as_ref().map(|_| ()).map_err(|kind| *kind);
            if let Some(said) = said.filter(|said| threads == 1 && *said != answer) {
                return Err(format!("{said:?} was said, and it answered {answer:?}"));
            }
            let done = Done { path, outcome, after: after.clone() };
            check(&done)
                .and_then(|()| self.check_outside(&done.after))
                .map_err(|failure| format!("{failure}; answered {:?}", done.outcome))?;
        }
        Ok(Verdict { answer, effects })
    }

    /// What the row expects, or what is as good.
    fn check(&self, expect: &Expect, done: &Done<'_>) -> Result<(), String> {
        let first = match expect.ok {
            Answer::Known(true) => self.check_right(expect, done),
            Answer::Known(false) => {
                self.check_refusal(done, |kind| expect.error.iter().any(|fault| fault.admits(kind)))
            }
            Answer::Either(_) => Ok(()),
        };
        match (&expect.or, first) {
            (Some(other), Err(failure)) => {
                self.check(other, done).map_err(|other| format!("{failure}, nor {other}"))
            }
            (_, Err(_)) if self.is_stricter(done) => Ok(()),
            (_, first) => first,
        }
    }

    /// A fence takes plain names only; such a refusal is as good if nothing changed.
    fn is_stricter(&self, done: &Done<'_>) -> bool {
        let to = self.case.args.to.as_deref().unwrap_or("plain");
        matches!(done.outcome, Err(ErrorKind::InvalidPath))
            && (is_spelled_oddly(done.path) || is_spelled_oddly(to))
            && self.ground.before == done.after
    }

    fn check_refusal(
        &self,
        done: &Done<'_>,
        fits: impl Fn(ErrorKind) -> bool,
    ) -> Result<(), String> {
        match &done.outcome {
            Err(kind) if fits(*kind) => self.check_unchanged(&done.after),
            Err(_) | Ok(_) => Err("not the right answer".to_owned()),
        }
    }

    fn check_right(&self, expect: &Expect, done: &Done<'_>) -> Result<(), String> {
        self.check_success(done, &expect.effects)?;
        let Ok(outcome) = &done.outcome else { return Err("refused".to_owned()) };
        if let Some(place) = &expect.resolves_to {
            self.check_place(&self.ground.stage.expand(place), outcome)?;
        }
        let kind = match outcome {
            Outcome::Seen(stat) => stat.found.map(|(kind, _)| kind),
            Outcome::Opened(_) => Some(Kind::File),
            Outcome::Listed(_) => Some(Kind::Dir),
            Outcome::Done(_) => None,
        };
        if let (Some(expected), Some(kind)) = (expect.kind, kind)
            && kind_of(expected) != kind
        {
            return Err(format!("{kind:?} is no {expected:?}"));
        }
        if let Outcome::Listed(entries) = outcome {
            self.check_listing(done.path, outcome)?;
            if expect.count.is_some_and(|count| count != entries.len()) {
                return Err(format!("{} entries", entries.len()));
            }
        }
        let made_as_asked = self.case.args.mode.is_none();
        if let (Some(mode), true, Some(effects)) = (&expect.mode, made_as_asked, &expect.effects) {
            self.check_mode(mode, effects)?;
        }
        Ok(())
    }

    /// It was done, with exactly these effects.
    fn check_success(
        &self,
        done: &Done<'_>,
        effects: &Option<BTreeSet<Effect>>,
    ) -> Result<(), String> {
        let outcome = done.outcome.as_ref().map_err(|_| "refused".to_owned())?;
        let Some(effects) = effects else { return self.check_unchanged(&done.after) };
        if effects.is_empty() {
            return self.check_unchanged(&done.after);
        }
        let expected: BTreeSet<_> =
            effects.iter().map(|effect| self.as_published(effect)).collect();
        let found = self.ground.before.effects(&done.after, self.ground.stage.root_in_base());
        if found != expected {
            return Err(format!("effects {found:?}, expected {expected:?}"));
        }
        if let Outcome::Done(receipt) = outcome
            && receipt.enforcement != self.fence.assurance().level
        {
            return Err(format!("the receipt claims {}", receipt.enforcement));
        }
        let writes = [Op::Create, Op::CreateNew, Op::CreateTruncate, Op::Write, Op::Replace];
        if writes.contains(&self.case.op) {
            return self.check_contents(&expected);
        }
        Ok(())
    }

    /// Where the table opens a file and empties it, a fence puts another in its place.
    fn as_published(&self, effect: &Effect) -> Effect {
        if let Effect::Size(path) = effect {
            Effect::Replaced(path.clone())
        } else if let Effect::New(kind, path) = effect {
            Effect::New(*kind, self.ground.stage.expand(path))
        } else {
            effect.clone()
        }
    }

    fn check_contents(&self, effects: &BTreeSet<Effect>) -> Result<(), String> {
        for effect in effects {
            let (Effect::New(NodeKind::File, path) | Effect::Replaced(path)) = effect else {
                return Err(format!("a write does not do {effect:?}"));
            };
            let bytes =
                std::fs::read(self.ground.stage.root().join(path)).map_err(|e| e.to_string())?;
            if bytes != CONTENTS {
                return Err(format!("{path} holds {bytes:?}"));
            }
        }
        Ok(())
    }

    /// What was reached is what lies at `place`: by what the fence says of that, and by what the
    /// system says.
    fn check_place(&self, place: &str, outcome: &Outcome) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{what} is not that of {place:?}"));
        let path = if place == "." {
            let root = self.fence.roots().iter().next().expect("a fence has a root").id();
            RootedPath::new(root, RelPath::root())
        } else {
            beneath(self.fence, place).map_err(|kind| format!("{place:?}: {kind}"))?
        };
        let real =
            self.ground.stage.root().join(place).symlink_metadata().map_err(|e| e.to_string())?;
        let there = self.fence.stat(&path, Follow::No).map_err(|error| error.to_string())?;
        match outcome {
            Outcome::Seen(stat) if stat.key != there.key => wrong("the key"),
            Outcome::Seen(stat) if stat.found != there.found => wrong("the stamp"),
            Outcome::Seen(stat) => {
                let (_, stamp) = stat.found.expect("an absent file was turned into an error");
                let changed =
                    i128::from(real.ctime()) * 1_000_000_000 + i128::from(real.ctime_nsec());
                if (stamp.size(), stamp.changed_ns()) == (real.len(), changed) {
                    Ok(())
                } else {
                    wrong("what the system says of the stamp")
                }
            }
            Outcome::Opened(open) => {
                let file = open.file.metadata().map_err(|error| error.to_string())?;
                let same = (file.dev(), file.ino()) == (real.dev(), real.ino());
                if same { Ok(()) } else { wrong("the open file") }
            }
            Outcome::Listed(_) => {
                let key = Roots::open([self.ground.stage.root().join(place)])
                    .map(|roots| roots.iter().next().expect("it was opened").key());
                if key.is_ok_and(|key| key == there.key) {
                    self.check_listing(place, outcome)
                } else {
                    wrong("the key")
                }
            }
            Outcome::Done(_) => Ok(()),
        }
    }

    /// The names are those that the system lists, in the order of their bytes.
    fn check_listing(&self, path: &str, outcome: &Outcome) -> Result<(), String> {
        let dir =
            std::fs::read_dir(self.ground.stage.root().join(path)).map_err(|e| e.to_string())?;
        let mut names: Vec<_> =
            dir.map(|entry| entry.expect("a quiet directory").file_name()).collect();
        names.sort();
        if names == outcome.names() { Ok(()) } else { Err(format!("{names:?} is what is there")) }
    }

    fn check_mode(&self, mode: &str, effects: &BTreeSet<Effect>) -> Result<(), String> {
        let mode = u32::from_str_radix(mode, 8).expect("a mode is octal");
        for effect in effects {
            if let Effect::New(_, path) = effect {
                let real = self.ground.stage.root().join(path).symlink_metadata();
                let found = real.map_err(|error| error.to_string())?.mode() & 0o7777;
                if found != mode {
                    return Err(format!("{path} has the mode {found:o}"));
                }
            }
        }
        Ok(())
    }

    fn check_unchanged(&self, after: &Snapshot) -> Result<(), String> {
        let changed = self.ground.before.differences(after);
        if changed.is_empty() { Ok(()) } else { Err(format!("something changed: {changed:#?}")) }
    }

    fn check_outside(&self, after: &Snapshot) -> Result<(), String> {
        let Some(root) = self.ground.stage.root_in_base() else {
            return self.check_unchanged(after);
        };
        let changed = self.ground.before.outside(&[root]).differences(&after.outside(&[root]));
        if changed.is_empty() { Ok(()) } else { Err(format!("outside changed: {changed:#?}")) }
    }
}

fn kind_of(kind: NodeKind) -> Kind {
    match kind {
        NodeKind::File => Kind::File,
        NodeKind::Dir => Kind::Dir,
        NodeKind::Symlink => Kind::Symlink,
        NodeKind::Fifo | NodeKind::Socket | NodeKind::BlkDev | NodeKind::ChrDev => Kind::Other,
    }
}
