//! The time limit for request heads.

use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Limits the time until the next request head is complete.
///
/// A timer of the runtime is set at the start of the connection and again only when it fires: then the deadline has
/// usually moved on. Setting one for each request would cost a tenth of reading its head.
pub(super) struct HeadTimer {
    limit: Duration,
    deadline: Instant,
    sleep: Pin<Box<Sleep>>,
}

impl HeadTimer {
    pub(super) fn new(limit: Duration) -> Self {
        let deadline = Instant::now() + limit;
        Self { limit, deadline, sleep: Box::pin(tokio::time::sleep_until(deadline)) }
    }

    pub(super) fn start(&mut self) {
        self.deadline = Instant::now() + self.limit;
    }

    pub(super) fn poll_expired(&mut self, context: &mut Context<'_>) -> bool {
        while self.sleep.as_mut().poll(context).is_ready() {
            if self.sleep.deadline() >= self.deadline {
                return true;
            }
            self.sleep.as_mut().reset(self.deadline);
        }
        false
    }
}
