//! Idempotency: a client that repeats an `Idempotency-Key` gets the stored reply of the first call.

use std::time::Duration;

use domain::caveat::Caveat;
use domain::fault::{self, Fault};
use domain::usage::Usage;
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest as _, Sha256};
use store::{Claim, Claimed, Repeatable};

use crate::accounting::ticket::Ticket;
use crate::call::arrival::Arrival;
use crate::call::receive::Call;
use crate::call::response_headers;
use crate::delivery::answer_recorder::{self, AnswerRecorder};
use crate::delivery::reply::Reply;
use crate::services::recorded_answer::RecordedAnswer;

/// The name of the header in error messages.
const KEY: &str = "Idempotency-Key";
const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const LONGEST_KEY: usize = 255;
/// The time to wait while the first call is still running.
const A_MOMENT: Duration = Duration::from_secs(1);
/// Larger answers are not stored.
const LARGEST_ANSWER: usize = 4 << 20;

/// The turn of a call among those with the same key.
pub enum Turn {
    /// The first call. It has no recorder if it has no key.
    First(Option<Box<AnswerRecorder>>),
    Again(Box<RecordedAnswer>),
}

/// Claims the key of a call. Most calls have none and only pay for this check.
pub async fn claim(arrival: &Arrival, call: &Call, ticket: &Ticket) -> Result<Turn, Fault> {
    // Only `POST`: a WebSocket is opened once and carries many calls.
    if arrival.method != "POST" || !arrival.headers.contains_key(HEADER) {
        return Ok(Turn::First(None));
    }
    let key = key(&arrival.headers)?;
    Box::pin(claim_key(key, arrival, call, ticket)).await
}

async fn claim_key(key: &str, arrival: &Arrival, call: &Call, ticket: &Ticket) -> Result<Turn, Fault> {
    let gateway = ticket.gateway();
    let repeatable = Repeatable {
        id: scope(key, arrival, ticket),
        fingerprint: gateway.with_bytes(call.request.body.len(), fingerprint(arrival, call)).await?,
        token: ticket.context.seed(),
    };
    match gateway.idempotency.claim(repeatable).await? {
        Claimed::Yours(claim) => {
            Ok(Turn::First(Some(Box::new(recorder(claim, ticket.context.policy().idempotency_ttl)))))
        }
        Claimed::Answered(stored) => {
            let answer = RecordedAnswer::from_stored(stored).ok_or_else(fault::internal_error)?;
            Ok(Turn::Again(Box::new(answer)))
        }
        Claimed::Mismatch => Err(fault::idempotency_mismatch()),
        Claimed::Running => {
            let message = "A call with this Idempotency-Key is still being answered: try again in a moment.";
            Err(fault::conflict(message).param(KEY).retry_after(A_MOMENT))
        }
        Claimed::NotKept => {
            let message = "The call with this Idempotency-Key was answered, and its answer was too large to be kept: use a new key to ask again.";
            Err(fault::conflict(message).param(KEY))
        }
    }
}

/// The recorder of a call's answer, which it stores under the claimed key. If it is dropped before the answer is
/// complete, so is the claim, and the key is free for the next attempt.
fn recorder(claim: Claim, ttl: Duration) -> AnswerRecorder {
    AnswerRecorder::new(LARGEST_ANSWER, move |answer, _| {
        claim.keep(answer.and_then(RecordedAnswer::into_stored), ttl);
    })
}

fn key(headers: &HeaderMap) -> Result<&str, Fault> {
    let mut values = headers.get_all(HEADER).iter();
    let (first, second) = (values.next(), values.next());
    let text = first.filter(|_| second.is_none()).and_then(|value| value.to_str().ok());
    let fits = |text: &&str| {
        (1..=LONGEST_KEY).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    text.filter(fits).ok_or_else(|| {
        let message = "An Idempotency-Key is one word of 1 to 255 visible ASCII characters, sent once.";
        fault::invalid_parameter(KEY, message)
    })
}

/// The key within its owner, user path and endpoint.
fn scope(key: &str, arrival: &Arrival, ticket: &Ticket) -> String {
    let owner = ticket.context.owner();
    digest(&[owner.key.as_bytes(), owner.user_path.as_bytes(), arrival.endpoint.as_bytes(), key.as_bytes()])
}

/// A hash of the request, including the model and the stream flag, which may be in the path or the query.
fn fingerprint(arrival: &Arrival, call: &Call) -> impl FnOnce() -> String + Send + 'static {
    let (method, endpoint, stream) = (arrival.method, arrival.endpoint, call.stream);
    let addressed = arrival.addressed.as_ref().map(|(model, _)| model.clone()).unwrap_or_default();
    let body = call.request.body.clone();
    move || {
        let stream = [u8::from(stream)];
        digest(&[method.as_bytes(), endpoint.as_bytes(), addressed.as_bytes(), &stream, &body])
    }
}

/// Hashes each part with its length, so that no bytes can move from one to the next.
fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The reply of the first call. The repeated call has its own receipt, and costs nothing.
pub fn replay(mut ticket: Box<Ticket>, answer: &RecordedAnswer) -> Reply {
    let overhead_us = ticket.first_byte();
    let target = answer.target();
    let mut reply = answer_recorder::replay(answer);
    let headers = &mut reply.headers;
    headers.insert(response_headers::REQUEST_ID, ticket.context.request_id.header());
    headers.insert(response_headers::OVERHEAD, HeaderValue::from(overhead_us));
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    ticket.holds.write_headers(&ticket.context, headers);
    ticket.receipt.served_by(&target.provider_type, &target.instance, &target.model);
    ticket
        .consumed(Usage { caveat: Some(Caveat::IdempotentReplay.as_str().into()), ..Usage::default() }, b"");
    ticket.complete();
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_visible_word() {
        let read = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
            }
            key(&headers).map(str::to_owned).map_err(|fault| (fault.status, fault.param))
        };
        let refused = Err((400, Some(KEY.to_owned())));
        let longest = "k".repeat(LONGEST_KEY);
        assert_eq!(read(&[b"a-1"]), Ok("a-1".to_owned()));
        assert_eq!(read(&[longest.as_bytes()]), Ok(longest.clone()));
        for wrong in [&b""[..], b"two words", b"\xfc", b"tab\t", format!("{longest}k").as_bytes()] {
            assert_eq!(read(&[wrong]), refused, "{wrong:?}");
        }
        assert_eq!(read(&[b"a", b"a"]), refused, "sent twice");
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
        assert_eq!(digest(&[b"ab", b"c"]).len(), 64);
    }
}
