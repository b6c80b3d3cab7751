//! What has come in and is not answered yet: what is under way, and what waits for its turn.
//!
//! The input is read on whatever lies here, since a request behind a thousand others may be the
//! answer that one of them waits for, or cancel it. So what cannot be taken any more is refused.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, GetExtensions as _, JsonRpcMessage, RequestId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::message::{CALL, Fault, Request};

/// How many calls run at once. Each has a thread, and most of them wait for a disk or a process.
pub(super) const MOST_CALLS: usize = 16;
/// How many other requests are under way at once. None of them takes any time.
const MOST_OTHERS: usize = 16;
/// How many bytes of requests wait at most: the whole of the largest one.
const MOST_WAITING: usize = super::input::MOST_BYTES;
/// What a request takes in memory beside its text.
const BESIDE_TEXT: usize = 256;
/// How many bytes of calls are under way at most, but for one that is larger.
const MOST_UNDER_WAY: usize = super::input::MOST_BYTES;
/// What they are counted in.
const UNIT: usize = 1024;
/// The code of a request that is refused for want of room, of those that a server defines.
const BUSY: ErrorCode = ErrorCode(-32000);

/// A place among those that are under way. It is free again when nobody has it any more: the call
/// has ended and its answer is written.
#[derive(Clone, Debug)]
pub(super) struct Slot(#[expect(dead_code, reason = "held")] Arc<[OwnedSemaphorePermit; 2]>);

/// The requests of one kind.
#[derive(Debug)]
struct Lane {
    free: Arc<Semaphore>,
    room: Arc<Semaphore>,
    waiting: VecDeque<Request>,
}

impl Lane {
    fn new(most: usize) -> Self {
        let (free, room) = (Semaphore::new(most), Semaphore::new(MOST_UNDER_WAY / UNIT));
        Self { free: Arc::new(free), room: Arc::new(room), waiting: VecDeque::new() }
    }

    /// Waits until the first may begin; for ever while there is none. It can be given up at any
    /// moment.
    async fn turn(&mut self) -> Option<(Request, Slot)> {
        let Some(first) = self.waiting.front() else { return std::future::pending().await };
        let units = weight(first).min(MOST_UNDER_WAY).div_ceil(UNIT);
        let free = Arc::clone(&self.free).acquire_owned().await.ok()?;
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(units).await.ok()?;
        Some((self.waiting.pop_front()?, Slot(Arc::new([free, room]))))
    }
}

/// What has come in and is not answered yet.
#[derive(Debug)]
pub(super) struct Inbox {
    calls: Lane,
    others: Lane,
    waiting_bytes: usize,
    under_way: HashMap<RequestId, Slot>,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self {
            calls: Lane::new(MOST_CALLS),
            others: Lane::new(MOST_OTHERS),
            waiting_bytes: 0,
            under_way: HashMap::new(),
        }
    }

    /// Takes a request, if there is room for it. One that alone is as large as the room is taken
    /// if nothing else waits.
    pub(super) fn take(&mut self, request: Request) -> Result<(), Fault> {
        let bytes = weight(&request);
        if self.waiting_bytes > 0 && self.waiting_bytes + bytes > MOST_WAITING {
            let what = "too many requests wait already";
            return Err(Fault::new(Some(request.id), BUSY, what));
        }
        self.waiting_bytes += bytes;
        let lane = if request.method == CALL { &mut self.calls } else { &mut self.others };
        lane.waiting.push_back(request);
        Ok(())
    }

    /// Waits for the next request that may begin. It can be given up at any moment.
    pub(super) async fn next(&mut self) -> Result<ClientJsonRpcMessage, Fault> {
        let Self { calls, others, .. } = self;
        let turn = tokio::select! {
            turn = others.turn() => turn,
            turn = calls.turn() => turn,
        };
        let Some((request, slot)) = turn else { return std::future::pending().await };
        self.waiting_bytes -= weight(&request);
        let id = request.id.clone();
        if self.under_way.contains_key(&id) {
            let what = "a request with this id is under way already";
            return Err(Fault::invalid(Some(id), what));
        }
        let mut message = request.parse()?;
        if let JsonRpcMessage::Request(request) = &mut message {
            // It goes with the request until whoever handles that is done.
            request.request.extensions_mut().insert(slot.clone());
        }
        self.under_way.insert(id, slot);
        Ok(message)
    }

    /// Forgets a request that nobody wants any more, and says whether it is under way.
    pub(super) fn cancel(&mut self, id: &RequestId) -> bool {
        for lane in [&mut self.calls, &mut self.others] {
            if let Some(index) = lane.waiting.iter().position(|request| request.id == *id) {
                let request = lane.waiting.remove(index);
                self.waiting_bytes -= request.as_ref().map_or(0, weight);
                return false;
            }
        }
        self.under_way.remove(id).is_some()
    }

    /// The request is being answered: its place is free when that is written.
    pub(super) fn answered(&mut self, id: &RequestId) -> Option<Slot> {
        self.under_way.remove(id)
    }
}

fn weight(request: &Request) -> usize {
    request.len() + BESIDE_TEXT
}
