//! Audit log capture: the headers and bodies of a call, redacted and truncated, beside its receipt.

mod entry_limit;
mod masker;
pub(crate) mod members;
mod recording;
pub(crate) mod redact;
mod scrub;
mod threads;

use domain::receipt::Receipt;
use store::AuditEntry;

use crate::services::feed::Feed;

pub use entry_limit::EntryLimit;
pub use masker::Masker;
pub use recording::Recording;
pub use redact::is_sensitive;
pub use scrub::Scrubber;
pub use threads::Threads;

/// The audit log settings.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub enabled: bool,
    pub bodies: bool,
    pub headers: bool,
    /// Bytes kept of each body.
    pub body_limit: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { enabled: false, bodies: true, headers: true, body_limit: 64 * 1024 }
    }
}

/// A live feed of the newest audit entries of this process, without headers and bodies.
pub type Live = Feed<Box<AuditEntry>>;

/// Publishes a finished call to the live feed, before it is in the database.
pub fn announce(live: &Live, receipt: &Receipt) {
    if let Some(entry) = receipt.audit_outline() {
        live.push(Box::new(entry));
    }
}
