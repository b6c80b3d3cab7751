//! The events of a session, in their order, as they come in from any thread.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::events::Event;

/// The log of one session.
#[derive(Debug)]
pub(crate) struct EventLog(ArcSwap<Vec<Event>>);

impl EventLog {
    pub(crate) fn new(events: Vec<Event>) -> Self {
        Self(ArcSwap::from_pointee(events))
    }

    /// Everything by now.
    pub(crate) fn events(&self) -> Arc<Vec<Event>> {
        self.0.load_full()
    }

    /// Adds what follows from what is there, with no other event between. `next` may be asked more
    /// than once.
    pub(crate) fn extend(&self, next: impl Fn(&[Event]) -> Vec<Event>) {
        self.0.rcu(|log| {
            let mut log = Vec::clone(log);
            log.extend(next(&log));
            log
        });
    }

    pub(crate) fn push(&self, event: &Event) {
        self.extend(|_| vec![event.clone()]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_event_is_lost_and_each_follows_from_the_one_before() {
        let log = EventLog::new(Vec::new());
        let count = |log: &[Event]| vec![Event { name: "n".into(), data: json!(log.len()) }];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| log.extend(count)));
            }
        });
        let numbers: Vec<_> = log.events().iter().map(|event| event.data.clone()).collect();
        assert_eq!(numbers, (0..200).map(|number| json!(number)).collect::<Vec<_>>());
    }
}
