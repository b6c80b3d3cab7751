//! A person who answers as a test says, and remembers what they were asked.

use std::fmt;
use std::sync::{Arc, Mutex};

use ringfence::{Answer, Approval, Approver, Question};

/// Answers always the same, after doing something.
pub(crate) struct Person {
    answer: Approval,
    first: Box<dyn Fn() + Send + Sync>,
    asked: Mutex<Vec<Question>>,
}

impl Person {
    pub(crate) fn who_says(answer: Approval) -> Arc<Self> {
        Self::who_first(|| {}, answer)
    }

    pub(crate) fn who_first(
        first: impl Fn() + Send + Sync + 'static,
        answer: Approval,
    ) -> Arc<Self> {
        Arc::new(Self { answer, first: Box::new(first), asked: Mutex::default() })
    }

    /// Everything they were asked.
    pub(crate) fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Person({:?})", self.answer)
    }
}

impl Approver for Person {
    fn ask<'a>(&'a self, question: &'a Question) -> Answer<'a> {
        self.asked.lock().unwrap().push(question.clone());
        Answer::later(async move {
            (self.first)();
            self.answer
        })
    }
}
