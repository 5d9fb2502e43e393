//! What the audit log keeps of a call beside its receipt: headers and bodies, redacted and cut to size.

mod capture;
mod entry_limit;
mod masker;
mod members;
mod recording;
mod redact;
mod scrub;
mod threads;

use domain::receipt::Receipt;
use store::AuditEntry;

use crate::feed::Feed;

pub use capture::Capture;
pub use entry_limit::EntryLimit;
pub use masker::Masker;
pub use recording::Recording;
pub use redact::is_sensitive;
pub use scrub::Scrubber;
pub use threads::Threads;

/// What is kept, from the settings.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub enabled: bool,
    pub bodies: bool,
    pub headers: bool,
    /// Bytes that are kept of each body.
    pub body_limit: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { enabled: false, bodies: true, headers: true, body_limit: 64 * 1024 }
    }
}

/// The newest entries of this process, without headers and bodies, for whoever is watching.
pub type Live = Feed<Box<AuditEntry>>;

/// A call is over: whoever watches hears of it before it is in the database.
pub fn announce(live: &Live, receipt: &Receipt) {
    if let Some(mut entry) = AuditEntry::outline(receipt) {
        entry.data.request_headers = Vec::new();
        entry.data.response_headers = Vec::new();
        live.push(Box::new(entry));
    }
}
