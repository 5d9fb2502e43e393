//! The live console: a numbered feed of the last few hundred events of this process.

mod call;
mod entry;
#[cfg(test)]
mod tests;

use std::ops::Deref;

use domain::clock::Timestamp;
use domain::receipt::Receipt;

use crate::services::feed::{self, Feed};

pub use crate::services::feed::{CAPACITY, MAX_BATCH};
pub use entry::{Crossed, Event, NAMES, Notice};

pub type Entry = feed::Entry<Event>;
pub type Batch = feed::Batch<Event>;

/// A feed of events. Recording a call reuses the buffer of an old event and formats nothing.
#[derive(Default)]
pub struct Console(Feed<Event>);

impl Console {
    pub fn after(before: u64) -> Self {
        Self(Feed::after(before))
    }

    /// Records a finished call.
    pub fn settled(&self, receipt: &Receipt) {
        self.0.push_with(|old| {
            let mut call = match old {
                Some(Event::Settled(call)) => call,
                _ => Box::default(),
            };
            call.fill(receipt);
            Event::Settled(call)
        });
    }

    pub fn notice(&self, at: Timestamp, notice: Notice) {
        self.0.push(Event::Notice(at, Box::new(notice)));
    }
}

impl Deref for Console {
    type Target = Feed<Event>;

    fn deref(&self) -> &Feed<Event> {
        &self.0
    }
}
