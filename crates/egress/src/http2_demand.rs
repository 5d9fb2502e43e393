//! Demand for HTTP/2 connections: decides which calls open a connection, and which wait for one that is being opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Maximum number of concurrent dials per runtime and origin.
const PARALLEL_DIALS: usize = 4;

/// The dials of one runtime to an origin, and the calls that wait for them.
pub(crate) struct Demand {
    dials: AtomicUsize,
    waiting: AtomicUsize,
    /// The stream limit of the newest connection; the next one is expected to have the same.
    streams: AtomicUsize,
    dial_ended: Arc<Notify>,
}

/// Permission to open a connection. Dropping it wakes the waiting calls, whether the dial succeeded or not.
pub(crate) struct DialTurn(Arc<Demand>);

/// A waiting call; completes when any dial ends.
pub(crate) struct WaitTurn {
    dial_ended: OwnedNotified,
    _waiting: Waiting,
}

struct Waiting(Arc<Demand>);

impl Demand {
    /// `streams` is the expected stream limit of a connection until one is open.
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

    /// Returns a turn to wait, or `None` if the caller should dial: when no dial is running, or when the connections
    /// being opened have no capacity left and another dial is allowed.
    pub(crate) fn wait(self: &Arc<Self>) -> Option<WaitTurn> {
        // Created before the counters are read: `notify_waiters` wakes every future that exists at the time of the
        // call, so a dial that ends in between wakes this one.
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
        // Decrement before notifying, so that the woken calls see the new count.
        self.0.dials.fetch_sub(1, Ordering::SeqCst);
        self.0.dial_ended.notify_waiters();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
