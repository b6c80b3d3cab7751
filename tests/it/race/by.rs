//! The attacker as a thread, or as a process of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use super::ENOUGH_SWAPS;
use super::attacker::{Attack, Score, attack};
use crate::actor::{self, Actor};

/// Who attacks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum By {
    Thread,
    Process,
}

#[derive(Debug)]
pub(super) enum Attacker {
    Thread(AttackingThread),
    Process { actor: Actor, has_enough: bool },
}

/// Stopped when dropped.
#[derive(Debug)]
pub(super) struct AttackingThread {
    progress: Arc<Progress>,
    score: Option<JoinHandle<Score>>,
}

#[derive(Debug, Default)]
struct Progress {
    stop: AtomicBool,
    swaps: AtomicUsize,
}

impl Attacker {
    pub(super) fn start(by: By, kind: Attack, test: &str, base: &Path) -> Self {
        match by {
            By::Thread => {
                let progress = Arc::<Progress>::default();
                let (base, told) = (base.to_owned(), Arc::clone(&progress));
                let go_on = move |score: &Score| {
                    told.swaps.store(score.swaps, Ordering::Relaxed);
                    !told.stop.load(Ordering::Relaxed)
                };
                let score = Some(std::thread::spawn(move || attack(kind, &base, go_on)));
                Self::Thread(AttackingThread { progress, score })
            }
            By::Process => {
                let base = base.to_str().expect("a base has a plain path");
                let actor = Actor::start(test, "attacker", &[&kind.to_string(), base]);
                Self::Process { actor, has_enough: false }
            }
        }
    }

    pub(super) fn has_swapped_enough(&mut self) -> bool {
        match self {
            Self::Thread(thread) => thread.progress.swaps.load(Ordering::Relaxed) >= ENOUGH_SWAPS,
            Self::Process { actor, has_enough } => {
                *has_enough |= actor.line_so_far().is_some();
                *has_enough
            }
        }
    }

    pub(super) fn stop(self) -> Score {
        match self {
            Self::Thread(mut thread) => thread.join().expect("it is joined once").unwrap(),
            Self::Process { actor, .. } => {
                actor.end().expect("the attacker tells its score").parse().unwrap()
            }
        }
    }
}

impl AttackingThread {
    fn join(&mut self) -> Option<std::thread::Result<Score>> {
        self.progress.stop.store(true, Ordering::Relaxed);
        self.score.take().map(JoinHandle::join)
    }
}

impl Drop for AttackingThread {
    fn drop(&mut self) {
        drop(self.join());
    }
}

/// The attacker as a process of its own: says when it has swapped enough, and its score.
pub(super) fn play(words: &[String]) {
    let [kind, base] = words else { panic!("an attacker needs two words, not {words:?}") };
    static STOP: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(|| {
        actor::wait_for_the_end();
        STOP.store(true, Ordering::Relaxed);
    });
    let mut told = false;
    let score = attack(kind.parse().unwrap(), Path::new(base), |score| {
        if score.swaps >= ENOUGH_SWAPS && !told {
            actor::tell("enough");
            told = true;
        }
        !STOP.load(Ordering::Relaxed)
    });
    actor::tell(score);
}
