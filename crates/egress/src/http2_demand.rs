//! Calls that need an HTTP/2 connection: which of them open one, and which wait for one that is being opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Connections that one runtime opens to an origin at once.
const PARALLEL_DIALS: usize = 4;

/// The dials of one runtime to an origin, and the calls that wait for them.
pub(crate) struct Demand {
    dials: AtomicUsize,
    waiting: AtomicUsize,
    /// Streams that the newest connection allows; the next one is expected to allow as many.
    streams: AtomicUsize,
    dial_ended: Arc<Notify>,
}

/// The right to open a connection. Dropping it lets the waiting calls look again, whether the dial succeeded or not.
pub(crate) struct DialTurn(Arc<Demand>);

/// A place among the calls that wait for a dial to end.
pub(crate) struct WaitTurn {
    dial_ended: OwnedNotified,
    _waiting: Waiting,
}

struct Waiting(Arc<Demand>);

impl Demand {
    /// `streams`: as many streams are expected of a connection until one is open.
    pub(crate) fn new(streams: usize) -> Self {
        Self {
            dials: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            streams: AtomicUsize::new(streams),
            dial_ended: Arc::default(),
        }
    }

    pub(crate) fn dials(&self) -> usize {
        self.dials.load(Ordering::SeqCst)
    }

    pub(crate) fn expect_streams(&self, streams: usize) {
        self.streams.store(streams, Ordering::Relaxed);
    }

    /// A place to wait, unless the connections being opened have no room for another call and one more may be opened.
    pub(crate) fn wait(self: &Arc<Self>) -> Option<WaitTurn> {
        // Before the counters are read: a dial that ends in between must wake this call.
        let dial_ended = Arc::clone(&self.dial_ended).notified_owned();
        let dials = self.dials();
        let calls = dials + self.waiting.load(Ordering::SeqCst);
        let has_room = calls < dials * self.streams.load(Ordering::Relaxed);
        if dials == 0 || !has_room && dials < PARALLEL_DIALS {
            return None;
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Some(WaitTurn { dial_ended, _waiting: Waiting(Arc::clone(self)) })
    }

    pub(crate) fn dial(self: &Arc<Self>) -> DialTurn {
        self.dials.fetch_add(1, Ordering::SeqCst);
        DialTurn(Arc::clone(self))
    }
}

impl WaitTurn {
    pub(crate) async fn dial_ended(self) {
        self.dial_ended.await;
    }
}

impl Drop for DialTurn {
    fn drop(&mut self) {
        self.0.dials.fetch_sub(1, Ordering::SeqCst);
        self.0.dial_ended.notify_waiters();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
