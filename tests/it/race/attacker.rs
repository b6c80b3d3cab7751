//! Who works against the fence: one loop, run by a thread or by another process.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::str::FromStr;

use rustix::fs::{AtFlags, CWD, RenameFlags};
use rustix::io::Errno;

use super::watch::{Picture, is_scratch, last_change};
use crate::support::open_dir;

/// How the parent of what is changed is taken away, again and again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Attack {
    /// It is renamed, and a link to outside renamed to its name.
    RenameDance,
    /// It changes places with a link to outside, in one step.
    ExchangeLink,
    /// It changes places with a directory outside, in one step.
    ExchangeDir,
    /// It is moved out and back.
    MoveOut,
}

impl Attack {
    /// Whether the directory itself goes outside. Then nothing but Landlock can hold a change that
    /// was resolved before.
    pub(super) fn moves_the_parent(self) -> bool {
        matches!(self, Self::ExchangeDir | Self::MoveOut)
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RenameDance => "rename-dance",
            Self::ExchangeLink => "exchange-link",
            Self::ExchangeDir => "exchange-directory",
            Self::MoveOut => "move-out",
        })
    }
}

impl FromStr for Attack {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::RenameDance, Self::ExchangeLink, Self::ExchangeDir, Self::MoveOut]
            .into_iter()
            .find(|attack| attack.to_string() == text)
            .ok_or_else(|| format!("no attack is {text:?}"))
    }
}

/// What came of an attack.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Score {
    pub(super) swaps: usize,
    /// Times that something changed in a directory while it was outside.
    pub(super) followed: usize,
    /// Times that it may have been one call that was under way further down.
    pub(super) in_flight: usize,
    /// What changed the first time.
    pub(super) first: String,
    /// Scratch files that were left in a directory when it was moved away from under a change.
    pub(super) scratch: usize,
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { swaps, followed, in_flight, scratch, first } = self;
        write!(f, "{swaps} {followed} {in_flight} {scratch} {first}")
    }
}

impl FromStr for Score {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<_> = text.splitn(5, ' ').collect();
        let [swaps, followed, in_flight, scratch, first] = parts[..] else {
            return Err(format!("{text:?} is no score"));
        };
        let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is no number"));
        Ok(Self {
            swaps: number(swaps)?,
            followed: number(followed)?,
            in_flight: number(in_flight)?,
            scratch: number(scratch)?,
            first: first.to_owned(),
        })
    }
}

/// Attacks what is built beneath `base` until `go_on` has enough, and leaves `p` where it was.
pub(super) fn attack(attack: Attack, base: &Path, mut go_on: impl FnMut(&Score) -> bool) -> Score {
    let stage = Stage {
        root: open_dir(CWD, base.join("ROOT")).unwrap(),
        yard: open_dir(CWD, base.join("yard")).unwrap(),
    };
    let mut score = Score::default();
    let mut pause = Pause(0x9e37_79b9_7f4a_7c15);
    while go_on(&score) {
        match attack {
            Attack::RenameDance => stage.dance(&mut pause),
            Attack::ExchangeLink => stage.exchange_with_link(&mut pause),
            Attack::ExchangeDir => stage.exchange_with_directory(&mut pause, &mut score),
            Attack::MoveOut => stage.move_out(&mut pause, &mut score),
        }
        score.swaps += 2;
    }
    score
}

/// Where the attacker has its hands. What it keeps outside is in the yard.
struct Stage {
    root: OwnedFd,
    yard: OwnedFd,
}

impl Stage {
    fn dance(&self, pause: &mut Pause) {
        self.put(&self.root, "p", &self.root, "parked");
        self.put(&self.root, "link", &self.root, "p");
        pause.pass();
        self.put(&self.root, "p", &self.root, "link");
        self.put(&self.root, "parked", &self.root, "p");
        pause.pass();
    }

    fn exchange_with_link(&self, pause: &mut Pause) {
        for _ in 0..2 {
            exchange(&self.root, "p", &self.root, "link");
            pause.pass();
        }
    }

    fn exchange_with_directory(&self, pause: &mut Pause, score: &mut Score) {
        for _ in 0..2 {
            let going = open_dir(&self.root, "p").unwrap();
            exchange(&self.root, "p", &self.yard, "q");
            watch(&going, pause, score);
            pause.pass();
        }
    }

    fn move_out(&self, pause: &mut Pause, score: &mut Score) {
        let going = open_dir(&self.root, "p").unwrap();
        self.put(&self.root, "p", &self.yard, "p");
        watch(&going, pause, score);
        self.put(&self.yard, "p", &self.root, "p");
        pause.pass();
    }

    /// Renames. A directory that the fence has made meanwhile in the place of `p`, as it should
    /// when it makes directories on the way, is put aside.
    fn put(&self, from: &OwnedFd, old: &str, to: &OwnedFd, new: &str) {
        loop {
            match rustix::fs::renameat(from, old, to, new) {
                Ok(()) => return,
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ISDIR) => {}
                Err(error) => panic!("cannot rename {old} to {new}: {error}"),
            }
            let aside = "upstart";
            match rustix::fs::renameat(to, new, &self.yard, aside) {
                // It may have gone again, and one that a change is still in may stay.
                Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => {}
                Err(error) => panic!("cannot put {new} aside: {error}"),
            }
            remove_all(&self.yard, aside);
        }
    }
}

fn exchange(from: &OwnedFd, old: &str, to: &OwnedFd, new: &str) {
    rustix::fs::renameat_with(from, old, to, new, RenameFlags::EXCHANGE).unwrap();
}

/// Sees whether something changes in a directory that is outside.
fn watch(outside: &OwnedFd, pause: &mut Pause, score: &mut Score) {
    // First what takes least time: most changes that follow a directory come at once.
    let since = last_change(outside);
    let before = Picture::take(outside);
    for _ in 0..4 {
        pause.pass();
    }
    let after = Picture::take(outside);
    match before.difference(since, &after) {
        None => {}
        Some(difference) if difference.in_flight => score.in_flight += 1,
        Some(difference) => {
            if score.followed == 0 {
                score.first = difference.paths;
            }
            score.followed += 1;
        }
    }
    // So that they do not pile up: the confined thread may not remove what lies outside.
    for name in after.names().filter(|name| is_scratch(name)) {
        if rustix::fs::unlinkat(outside, name, AtFlags::empty()).is_ok() {
            score.scratch += 1;
        }
    }
}

/// Removes as much as others do not hold by filling it.
fn remove_all(dir: &OwnedFd, name: &str) {
    use std::os::fd::AsRawFd;
    let path = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name);
    drop(std::fs::remove_dir_all(path));
}

/// Lets a little time pass, now more and now less, so that each step of a change is met.
struct Pause(u64);

impl Pause {
    fn pass(&mut self) {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        for _ in 0..self.0 % 1_000 {
            std::hint::spin_loop();
        }
    }
}

#[test]
fn a_score_says_all_of_itself() {
    let first = "the first of them: a, b".to_owned();
    let score = Score { swaps: 1, followed: 2, in_flight: 3, scratch: 4, first };
    assert_eq!(score.to_string().parse(), Ok(score));
    assert_eq!(Score::default().to_string().parse(), Ok(Score::default()));
}
