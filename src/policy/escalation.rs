//! One call in a wider mode, if a person allows it. Anything but their consent refuses.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use ringfence_platform::Cancel;

use super::bounds::Bounds;
use super::decision::Policy;
use crate::error::{Error, Result, Unescalated};
use crate::mode::Mode;
use crate::request::Op;
use crate::text::Diff;

/// How long a thread that waits for an answer sleeps before it looks whether it is to give up.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// What a caller asks for beyond its policy: that one call run in a wider mode.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Escalation {
    /// The mode.
    pub to: Mode,
    /// Why, in a sentence for the person who decides. It is the model's text.
    pub justification: String,
}

/// What a person is asked.
///
/// Paths and justification are a model's data: show them as quoted text, with control characters
/// made visible, as `Debug` of a string does.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// The session that the call belongs to.
    pub session: String,
    /// The call, as its caller names it.
    pub call: Option<String>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// The mode that the call would have otherwise.
    pub from: Mode,
    /// The mode that is asked for.
    pub to: Mode,
    /// What would be done.
    pub subject: Subject,
    /// Why, in the words of who asks: the first 500 chars, with a `…` after them if there are more.
    pub justification: String,
    /// What would differ, if the caller has asked for it and the old file is text.
    pub diff: Option<Diff>,
}

/// What an approval would be for.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Subject {
    /// One change of one file.
    Operation {
        /// What kind of change.
        op: Op,
        /// Where, as the caller spelled it: absolute and normalised by text.
        path: PathBuf,
        /// Where that is, once symlinks are followed. The change is made there or not at all.
        place: PathBuf,
    },
    /// One command, whatever it does.
    Command {
        /// The whole command line.
        command: String,
        /// Where it begins, absolute.
        workdir: PathBuf,
    },
}

/// What a person answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum Approval {
    /// This call may run so, and no other.
    AllowedOnce,
    /// It may not.
    Rejected,
    /// The call is no longer wanted.
    Cancelled,
    /// Nobody could be asked.
    Unavailable,
}

impl Approval {
    /// The stable token.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowedOnce => "allowed-once",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }
}

/// An answer that is there, or that somebody is thinking about.
pub struct Answer<'a>(Pin<Box<dyn Future<Output = Approval> + Send + 'a>>);

impl<'a> Answer<'a> {
    /// An answer that is to come. The thread of the call waits for it; the future is polled there,
    /// needs no runtime of its own, and is dropped if the call is cancelled.
    pub fn later(future: impl Future<Output = Approval> + Send + 'a) -> Self {
        Self(Box::pin(future))
    }
}

impl From<Approval> for Answer<'_> {
    fn from(approval: Approval) -> Self {
        Self::later(std::future::ready(approval))
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer(..)")
    }
}

/// Asks a person whether one call may run in a wider mode.
///
/// An approver that panics is taken for one that is not there. It is asked once for a call, after
/// everything that would make the call fail anyway has been looked at. While it thinks, the changes
/// that tools want in the same session wait, so it must not make one there itself.
pub trait Approver: fmt::Debug + Send + Sync {
    /// Asks. An approver that knows at once, or that blocks, returns `approval.into()`; one that is
    /// asynchronous returns [`Answer::later`].
    fn ask<'a>(&'a self, question: &'a Question) -> Answer<'a>;

    /// Whether a question could reach a person at all. What is told to a model depends on it.
    fn reaches_a_person(&self) -> bool {
        true
    }
}

/// The bounds that are asked for, before anyone has allowed them: good for looking, and for no
/// change.
#[derive(Debug)]
pub(crate) struct Wider(Bounds);

impl Wider {
    /// What `to` would reach.
    ///
    /// # Errors
    ///
    /// [`Unescalated::NotWider`] if that is no wider than `policy`; as [`Policy`]s are resolved.
    pub(crate) fn than(policy: &Policy, to: Mode) -> Result<Self> {
        if to <= policy.mode() {
            return Err(Error::Escalation(Unescalated::NotWider { from: policy.mode(), to }));
        }
        policy.bounds().under(to).map(Self)
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.0
    }

    /// Asks, and returns the policy of the one call: which changes what is at the place that was
    /// shown and nothing else, or which runs the command that was. `decided` is told the answer,
    /// whatever it is.
    ///
    /// # Errors
    ///
    /// [`Error::Escalation`] if the answer is any other than consent; as the bounds are resolved,
    /// which were looked at before the person thought about it.
    pub(crate) fn ask(
        self,
        approver: &dyn Approver,
        question: &Question,
        cancel: &Cancel,
        decided: impl FnOnce(Approval),
    ) -> Result<Policy> {
        let place = match &question.subject {
            Subject::Operation { place, .. } => Some(place.clone()),
            Subject::Command { .. } => None,
        };
        let answer = answer(approver, question, cancel);
        decided(answer);
        Err(Error::Escalation(match answer {
            Approval::AllowedOnce => {
                let bounds = self.0.under(self.0.mode())?;
                return Ok(Policy::approved(bounds, place));
            }
            Approval::Rejected => Unescalated::Rejected,
            Approval::Cancelled => Unescalated::Cancelled,
            Approval::Unavailable => Unescalated::Unavailable,
        }))
    }
}

/// Whether a question could reach a person. An approver that panics reaches nobody.
pub(crate) fn can_reach(approver: &dyn Approver) -> bool {
    catch_unwind(AssertUnwindSafe(|| approver.reaches_a_person())).unwrap_or(false)
}

/// What the approver says, or what it means that it says nothing.
fn answer(approver: &dyn Approver, question: &Question, cancel: &Cancel) -> Approval {
    let asked = catch_unwind(AssertUnwindSafe(|| {
        let Answer(future) = approver.ask(question);
        wait(future, cancel)
    }));
    let approval = asked.unwrap_or(Some(Approval::Unavailable));
    match approval {
        Some(_) if cancel.is_cancelled() => Approval::Cancelled,
        Some(approval) => approval,
        None => Approval::Cancelled,
    }
}

/// Waits on this thread; nothing if the call is cancelled meanwhile.
fn wait(future: impl Future<Output = Approval>, cancel: &Cancel) -> Option<Approval> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if cancel.is_cancelled() {
            return None;
        }
        match future.as_mut().poll(&mut context) {
            Poll::Ready(approval) => return Some(approval),
            Poll::Pending => std::thread::park_timeout(BETWEEN_LOOKS),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn question() -> Question {
        Question {
            session: "s".into(),
            call: None,
            tool: None,
            from: Mode::ReadOnly,
            to: Mode::WorkspaceWrite,
            subject: Subject::Operation {
                op: Op::Write,
                path: "/ws/a".into(),
                place: "/ws/a".into(),
            },
            justification: "it is wanted".into(),
            diff: None,
        }
    }

    #[derive(Debug)]
    struct Says(Approval);

    impl Approver for Says {
        fn ask<'a>(&'a self, _: &'a Question) -> Answer<'a> {
            self.0.into()
        }
    }

    #[derive(Debug)]
    struct Panics;

    impl Approver for Panics {
        fn ask<'a>(&'a self, _: &'a Question) -> Answer<'a> {
            Answer::later(async { panic!("a fault of the approver") })
        }
    }

    /// Answers on another thread, when it is polled for the first time.
    #[derive(Debug, Default)]
    struct Thinks(AtomicUsize);

    impl Approver for Thinks {
        fn ask<'a>(&'a self, _: &'a Question) -> Answer<'a> {
            Answer::later(std::future::poll_fn(|context| {
                if self.0.fetch_add(1, Ordering::SeqCst) > 0 {
                    return Poll::Ready(Approval::AllowedOnce);
                }
                let waker = context.waker().clone();
                std::thread::spawn(move || waker.wake());
                Poll::Pending
            }))
        }
    }

    #[derive(Debug)]
    struct NeverAnswers;

    impl Approver for NeverAnswers {
        fn ask<'a>(&'a self, _: &'a Question) -> Answer<'a> {
            Answer::later(std::future::pending())
        }
    }

    #[test]
    fn an_answer_is_taken_as_it_is_and_a_panic_for_none() {
        let never = Cancel::never();
        for approval in
            [Approval::AllowedOnce, Approval::Rejected, Approval::Cancelled, Approval::Unavailable]
        {
            assert_eq!(answer(&Says(approval), &question(), &never), approval);
        }
        assert_eq!(answer(&Panics, &question(), &never), Approval::Unavailable);
        assert_eq!(answer(&Thinks::default(), &question(), &never), Approval::AllowedOnce);
    }

    #[test]
    fn a_cancelled_call_is_allowed_nothing() {
        let cancel = Cancel::new();
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| answer(&NeverAnswers, &question(), &cancel));
            cancel.cancel();
            assert_eq!(asked.join().unwrap(), Approval::Cancelled);
        });
        assert_eq!(answer(&Says(Approval::AllowedOnce), &question(), &cancel), Approval::Cancelled);
    }
}
