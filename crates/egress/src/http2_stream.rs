//! Response bodies on HTTP/2 streams, and the reset of streams that are not read.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Body as _, SizeHint};
use hyper::body::{Frame, Incoming};
use parking_lot::Mutex;

use crate::error::EgressError;

/// A stream whose data is not read for this long is reset, because it holds 256 KiB of its connection's window.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The body of one stream. The sweep can remove it when its reader stalls.
pub(crate) struct StreamSlot {
    /// `None` after a reset.
    incoming: Mutex<Option<Incoming>>,
    /// Time of the last read in microseconds of the monotonic clock; `WAITING` while the reader waits for data.
    last_read: AtomicU64,
}

const WAITING: u64 = u64::MAX;

impl StreamSlot {
    pub(crate) fn poll_frame(
        &self,
        context: &mut Context<'_>,
        now: Duration,
    ) -> Poll<Option<Result<Frame<bytes::Bytes>, EgressError>>> {
        let mut incoming = self.incoming.lock();
        let Some(body) = incoming.as_mut() else {
            return Poll::Ready(Some(Err(EgressError::not_read())));
        };
        let polled = Pin::new(body).poll_frame(context);
        self.last_read.store(if polled.is_pending() { WAITING } else { micros(now) }, Ordering::Relaxed);
        polled.map_err(|error| EgressError::exchange(&error))
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.incoming.lock().as_ref().is_some_and(Incoming::is_end_stream)
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.incoming.lock().as_ref().map(Incoming::size_hint).unwrap_or_default()
    }

    fn reset_if_unread(&self, now: Duration) -> bool {
        let unread = |last: u64| last != WAITING && micros(now).saturating_sub(last) >= micros(READ_TIMEOUT);
        // Relaxed and without the lock: a cheap first check, repeated under the lock below.
        if !unread(self.last_read.load(Ordering::Relaxed)) {
            return false;
        }
        let mut incoming = self.incoming.lock();
        // Check again under the lock, because the reader may have returned in between. A body that was read to its end
        // holds no window.
        let stalled = unread(self.last_read.load(Ordering::Relaxed))
            && incoming.as_ref().is_some_and(|body| !body.is_end_stream());
        if stalled { incoming.take().is_some() } else { false }
    }
}

/// The streams of one connection whose responses are being read.
#[derive(Default)]
pub(crate) struct OpenStreams(Mutex<Vec<Weak<StreamSlot>>>);

impl OpenStreams {
    pub(crate) fn add(&self, incoming: Incoming, now: Duration) -> Arc<StreamSlot> {
        let slot = Arc::new(StreamSlot {
            incoming: Mutex::new(Some(incoming)),
            last_read: AtomicU64::new(micros(now)),
        });
        let mut open = self.0.lock();
        // A connection has few streams at once, so this is short.
        open.retain(|slot| slot.strong_count() > 0);
        open.push(Arc::downgrade(&slot));
        slot
    }

    /// Resets unread streams and returns their number.
    pub(crate) fn reset_unread(&self, now: Duration) -> usize {
        let slots: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        slots.iter().filter(|slot| slot.reset_if_unread(now)).count()
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(WAITING - 1)
}
