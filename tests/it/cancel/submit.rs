//! Changes that are handed over: futures that need no runtime.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use ringfence_platform::{
    Cancel, Confinement, Effect, ErrorKind, Fence, Mutation, Parents, Pending, Precondition,
    Receipt, Result, Terms,
};

use super::{PATIENCE, Tries, at, lock, make_dir, replace, terms, tree, write};
use crate::effort::rounds;
use crate::support::{Stage, each_fence_on, fence_on, offered, say};

/// A waker made by hand: counts, and wakes a thread.
#[derive(Debug)]
struct Bell {
    thread: Thread,
    rung: AtomicUsize,
}

impl Bell {
    fn new() -> Arc<Self> {
        Arc::new(Self { thread: std::thread::current(), rung: AtomicUsize::new(0) })
    }

    fn times(&self) -> usize {
        self.rung.load(Ordering::SeqCst)
    }

    fn wait_for_a_ring(&self) {
        let began = std::time::Instant::now();
        while self.times() == 0 {
            let left = PATIENCE.checked_sub(began.elapsed()).expect("nobody wakes this task");
            std::thread::park_timeout(left);
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.fetch_add(1, Ordering::SeqCst);
        self.thread.unpark();
    }
}

fn poll(pending: Pin<&mut Pending>, bell: &Arc<Bell>) -> Poll<Result<Receipt>> {
    pending.poll(&mut Context::from_waker(&Waker::from(Arc::clone(bell))))
}

/// Waits for a change as the simplest of executors would.
fn wait(pending: Pending) -> Result<Receipt> {
    let mut pending = pin!(pending);
    loop {
        let bell = Bell::new();
        match poll(pending.as_mut(), &bell) {
            Poll::Ready(result) => return result,
            Poll::Pending => bell.wait_for_a_ring(),
        }
    }
}

fn plain() -> Terms {
    terms(&Cancel::never())
}

/// Runs `test` on every fence that has a thread of its own.
fn each_confined(what: &str, test: impl Fn(&Stage, &dyn Fence)) {
    let kinds = offered().iter().filter(|kind| kind.confinement == Confinement::Landlock);
    let mut count = 0;
    for kind in kinds {
        count += 1;
        let stage = Stage::new(&tree());
        test(&stage, fence_on(&stage, *kind).as_ref());
    }
    if count == 0 {
        say(format_args!("left out: {what}: no fence of this host has a thread of its own"));
    }
}

#[test]
fn what_is_handed_over_is_done_in_the_order_of_handing_over() {
    each_fence_on(&tree(), |stage, fence| {
        // Each needs the one before it.
        let mut path = "d".to_owned();
        let mut pending = Vec::new();
        for _ in 0..64 {
            path += "/d";
            pending.push(fence.submit(make_dir(fence, &path), &plain()));
        }
        let last = write(fence, &format!("{path}/f"), Precondition::Absent);
        pending.push(fence.submit(last, &plain()));
        for pending in pending {
            assert_eq!(wait(pending).unwrap().effect, Effect::Created);
        }
        assert_eq!(std::fs::read(stage.root().join(path).join("f")).unwrap(), b"new");
    });
}

#[test]
fn a_fence_without_a_thread_has_made_the_change_when_it_returns() {
    each_fence_on(&tree(), |stage, fence| {
        if fence.assurance().confinement != Confinement::Nothing {
            return;
        }
        drop(fence.submit(make_dir(fence, "new"), &plain()));
        assert!(stage.root().join("new").is_dir());
        let mut refused = pin!(fence.submit(make_dir(fence, "d/f"), &plain()));
        let Poll::Ready(result) = poll(refused.as_mut(), &Bell::new()) else {
            panic!("it is there at once");
        };
        assert_eq!(result.unwrap_err().kind(), ErrorKind::AlreadyExists);
    });
}

#[test]
fn a_task_is_woken_when_its_change_is_made_and_by_the_last_waker_it_gave() {
    each_confined("waking a task", |stage, fence| {
        let place = stage.root().join("d");
        let (locked, tries) = (lock(&place), Tries::at(&place));
        let mut pending = pin!(fence.submit(replace(fence, "d/f"), &plain()));
        let (first, last) = (Bell::new(), Bell::new());
        for bell in [&first, &first, &last] {
            assert!(poll(pending.as_mut(), bell).is_pending());
        }
        tries.wait();
        assert_eq!((first.times(), last.times()), (0, 0), "there is nothing to wake for");
        drop(locked);
        last.wait_for_a_ring();
        let Poll::Ready(result) = poll(pending, &last) else { panic!("it was woken for nothing") };
        assert_eq!(result.unwrap().effect, Effect::Replaced);
        assert_eq!((first.times(), last.times()), (0, 1));
    });
}

#[test]
fn a_change_that_has_to_wait_for_a_lock_lets_the_others_pass() {
    each_confined("passing one that waits", |stage, fence| {
        let locked = lock(&stage.root().join("d"));
        let waits = fence.submit(replace(fence, "d/f"), &plain());
        for path in ["a", "b", "a/c"] {
            let made = fence.apply(make_dir(fence, path), &plain());
            assert_eq!(made.unwrap().effect, Effect::Created);
        }
        assert_eq!(std::fs::read(stage.root().join("d/f")).unwrap(), b"old");
        drop(locked);
        assert_eq!(wait(waits).unwrap().effect, Effect::Replaced);
    });
}

#[test]
fn dropping_a_change_that_has_not_begun_cancels_it_and_no_other() {
    each_confined("dropping what has not begun", |stage, fence| {
        let place = stage.root().join("d");
        let (locked, tries) = (lock(&place), Tries::at(&place));
        let first = fence.submit(replace(fence, "d/f"), &plain());
        let dropped = fence.submit(write(fence, "d/dropped", Precondition::None), &plain());
        let kept = fence.submit(write(fence, "d/kept", Precondition::None), &plain());
        tries.wait();
        drop(dropped);
        // It may be at it right now. Once another is made, that try is over.
        drop(fence.apply(make_dir(fence, "after"), &plain()).unwrap());
        drop(locked);
        assert_eq!(wait(first).unwrap().effect, Effect::Replaced);
        assert_eq!(wait(kept).unwrap().effect, Effect::Created);
        assert!(!place.join("dropped").exists());
    });
}

#[test]
fn a_change_that_is_dropped_is_made_whole_or_not_at_all() {
    each_confined("dropping at any time", |stage, fence| {
        let place = stage.root().join("d");
        for round in 0..rounds(100) {
            let contents = vec![b'x'; 100_000 + round];
            let (path, when) = (at(fence, "d/f"), Precondition::None);
            let write = Mutation::Write { path, contents, when, parents: Parents::Require };
            let before = std::fs::read(place.join("f")).unwrap();
            let pending = fence.submit(write, &plain());
            for _ in 0..round * 50 {
                std::hint::spin_loop();
            }
            drop(pending);
            // What is handed over later is done later.
            drop(fence.apply(make_dir(fence, &format!("d{round}")), &plain()).unwrap());
            let now = std::fs::read(place.join("f")).unwrap();
            assert!(now == before || now == vec![b'x'; 100_000 + round], "{} bytes", now.len());
            assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1, "nothing beside it");
        }
    });
}

#[test]
fn a_change_in_the_queue_can_be_cancelled_by_its_token() {
    each_confined("cancelling what is in the queue", |stage, fence| {
        let place = stage.root().join("d");
        let (locked, tries) = (lock(&place), Tries::at(&place));
        let first = fence.submit(replace(fence, "d/f"), &plain());
        let cancel = Cancel::new();
        let queued = fence.submit(write(fence, "d/cancelled", Precondition::None), &terms(&cancel));
        tries.wait();
        cancel.cancel();
        assert_eq!(wait(queued).unwrap_err().kind(), ErrorKind::Cancelled);
        drop(locked);
        assert_eq!(wait(first).unwrap().effect, Effect::Replaced);
        assert!(!place.join("cancelled").exists());
    });
}

/// A task that is woken on the fence's own thread goes on there, as simple executors have it.
#[test]
fn a_waker_may_ask_for_a_change_itself() {
    struct Asks(Arc<dyn Fence>, AtomicUsize);
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            let fence = self.0.as_ref();
            drop(fence.apply(make_dir(fence, "by-the-waker"), &plain()).unwrap());
            self.1.store(1, Ordering::SeqCst);
        }
    }
    each_confined("a change by a waker", |stage, _| {
        let kind = offered().iter().find(|kind| kind.confinement == Confinement::Landlock);
        let fence: Arc<dyn Fence> = fence_on(stage, *kind.unwrap()).into();
        let locked = lock(&stage.root().join("d"));
        let mut pending = pin!(fence.submit(replace(fence.as_ref(), "d/f"), &plain()));
        let asks = Arc::new(Asks(Arc::clone(&fence), AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&asks));
        assert!(pending.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(locked);
        let began = std::time::Instant::now();
        while asks.1.load(Ordering::SeqCst) == 0 {
            assert!(began.elapsed() < PATIENCE, "the waker hangs");
            std::thread::yield_now();
        }
        assert!(stage.root().join("by-the-waker").is_dir());
    });
}

#[test]
fn what_was_handed_over_is_made_though_the_fence_is_dropped() {
    for kind in offered() {
        let stage = Stage::new(&tree());
        let fence = fence_on(&stage, *kind);
        let pending: Vec<_> = ["a", "a/b", "a/b/c"]
            .into_iter()
            .map(|path| fence.submit(make_dir(fence.as_ref(), path), &plain()))
            .collect();
        drop(fence);
        assert!(stage.root().join("a/b/c").is_dir(), "{kind}");
        for pending in pending {
            assert_eq!(wait(pending).unwrap().effect, Effect::Created, "{kind}");
        }
    }
}

#[test]
fn a_change_can_be_waited_for_on_another_thread() {
    each_fence_on(&tree(), |_, fence| {
        let pending = fence.submit(make_dir(fence, "new"), &plain());
        let result = std::thread::spawn(move || wait(pending)).join().unwrap();
        assert_eq!(result.unwrap().effect, Effect::Created);
    });
}
