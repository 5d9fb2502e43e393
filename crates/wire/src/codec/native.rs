//! Pass-through between a client and a provider that use the same format.

use std::sync::LazyLock;

use bytes::Bytes;
use domain::canon::{Dropped, SEAL_MARK};
use memchr::memmem;

use super::{Answer, AnswerReader, Request, RequestReader, Target};
use crate::sse;

/// Pass-through of an operation: bodies and events are edited, not re-serialised.
pub trait Native: AnswerReader + RequestReader {
    /// Builds the upstream body from the client's body and the edits this provider needs, as a chain of slices.
    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes>;

    /// Parameters that cannot be forwarded although no codec translates the request.
    fn dropped(&self, _request: &Request) -> Dropped {
        Dropped::default()
    }

    /// Builds the response for the client from the provider's body: members the gateway adds or renames are spliced in.
    fn splice_answer(&self, body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes>;

    /// Rewrites a native event for the client; `None` if it is forwarded unchanged. `requested_model` is the model name
    /// as the client wrote it.
    fn reframe(&self, _event: &sse::Event, _requested_model: &str) -> Option<Bytes> {
        None
    }

    /// Bytes that the gateway appends after the provider's terminal event.
    fn closing(&self) -> &'static [u8] {
        b""
    }
}

/// Values that are spliced into a native answer.
pub struct Served<'a> {
    pub provider: &'a str,
    pub model: &'a str,
    /// The model name as the client wrote it.
    pub requested_model: &'a str,
    pub latency_ms: u64,
}

/// Whether the body contains state that was sealed for its client. Such a body must not be sent to a provider
/// unchanged.
pub fn carries_sealed_state(body: &[u8]) -> bool {
    static MARK: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(SEAL_MARK));
    // Most short texts do not even contain the first letter, and a single byte is found faster.
    let first = memchr::memchr(SEAL_MARK.as_bytes()[0], body);
    first.is_some_and(|at| MARK.find(&body[at..]).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_state_is_found_anywhere() {
        let carries = |text: &str| carries_sealed_state(text.as_bytes());
        assert!(carries(SEAL_MARK) && carries(&format!("{{\"a\":\"G GH{SEAL_MARK}x\"}}")));
        assert!(!carries("") && !carries("GHseale") && !carries("none of it") && !carries("G, gHsealed"));
    }
}
