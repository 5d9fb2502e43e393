//! Records an answer as it is sent to the client, so that a later call can be given the same answer.

#[cfg(test)]
mod tests;

use bytes::{Bytes, BytesMut};
use domain::call::Target;
use domain::money::{Cost, Nanos};
use domain::usage::Usage;
use http::{HeaderMap, HeaderName, StatusCode, header};

use crate::accounting::pricing;
use crate::accounting::ticket::Ticket;
use crate::call::response_headers;
use crate::delivery::reply::{Reply, ReplyBody};
use crate::services::recorded_answer::{AnswerHead, RecordedAnswer};

/// Headers that also hold for a replayed answer. Time and cost do not.
static LASTING: [HeaderName; 7] = [
    header::CONTENT_TYPE,
    header::CACHE_CONTROL,
    response_headers::PROVIDER,
    response_headers::MODEL,
    response_headers::ATTEMPTS,
    response_headers::CACHE,
    response_headers::DROPPED,
];

/// Facts about a complete answer besides its bytes.
#[derive(Clone, Copy, Default)]
pub struct AnswerFacts<'a> {
    /// The target that answered.
    pub target: Option<&'a Target>,
    /// The usage that it reported, and the cost of that if it is known.
    pub usage: Option<&'a Usage>,
    pub cost: Option<Nanos>,
    /// The id of a response that is stored for later calls.
    pub response_id: Option<&'a str>,
    /// Whether other targets produced parts of it.
    pub is_resumed: bool,
    /// Whether a budget lowered the output limit of the request.
    pub is_clamped: bool,
    /// Whether a guardrail failed to inspect it.
    pub is_uninspected: bool,
    /// Whether it came from the response cache.
    pub is_from_cache: bool,
}

impl<'a> AnswerFacts<'a> {
    pub fn of(ticket: &'a Ticket) -> Self {
        let (deployment, usage) = (ticket.receipt.deployment(), ticket.receipt.usage());
        let priced = usage.and_then(|usage| pricing::price_usage(deployment.map(|found| &**found), usage).0);
        Self {
            target: deployment.map(|deployment| &deployment.target),
            usage,
            cost: priced.map(Cost::total),
            response_id: ticket.receipt.receipt().and_then(|receipt| receipt.response_id.as_deref()),
            is_resumed: ticket.receipt.resumed() > 0,
            is_clamped: ticket.holds.clamped().is_some(),
            is_uninspected: ticket.is_uninspected,
            is_from_cache: false,
        }
    }
}

/// Receives the recorded answer; `None` if its body is larger than the limit.
type OnRecorded = Box<dyn FnOnce(Option<RecordedAnswer>, &AnswerFacts<'_>) + Send>;

/// A receiver of the recorded answer, and the largest body that it accepts.
struct Keeper {
    limit: usize,
    keep: OnRecorded,
}

/// Recorder of one answer: a whole body, or the events of a stream. Dropping it before `finish` abandons the
/// recording: then the receivers are dropped and not called. This is how errors and cut-off answers are left out.
pub struct AnswerRecorder {
    keepers: Vec<Keeper>,
    head: AnswerHead,
    /// The bytes so far; `None` once they exceed every limit.
    body: Option<BytesMut>,
}

impl AnswerRecorder {
    /// A recorder that holds at most `limit` bytes and gives the complete answer to `keep`.
    pub fn new(
        limit: usize,
        keep: impl FnOnce(Option<RecordedAnswer>, &AnswerFacts<'_>) + Send + 'static,
    ) -> Self {
        let keepers = vec![Keeper { limit, keep: Box::new(keep) }];
        Self { keepers, head: AnswerHead::default(), body: Some(BytesMut::new()) }
    }

    /// One recorder for the receivers of two, neither of which has started.
    pub fn join(first: Option<Box<Self>>, second: Option<Box<Self>>) -> Option<Box<Self>> {
        match (first, second) {
            (Some(mut first), Some(second)) => {
                first.keepers.extend(second.keepers);
                Some(first)
            }
            (first, second) => first.or(second),
        }
    }

    /// Records the status and those headers that hold for a replayed answer, too.
    pub fn start(&mut self, status: StatusCode, headers: &HeaderMap) {
        let lasting = LASTING.iter().filter_map(|name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        });
        self.head.headers = lasting.collect();
        self.head.status = status.as_u16();
    }

    /// Records the next bytes of the body.
    pub fn push(&mut self, bytes: &Bytes) {
        let limit = self.keepers.iter().map(|keeper| keeper.limit).max().unwrap_or_default();
        match &mut self.body {
            Some(body) if body.len() + bytes.len() <= limit => body.extend_from_slice(bytes),
            body => *body = None,
        }
    }

    /// Ends the recording of a complete answer.
    pub fn finish(self, facts: &AnswerFacts<'_>) {
        let Self { keepers, mut head, body } = self;
        if let Some(target) = facts.target {
            head.set_target(target);
        }
        // Copied, because a buffer that has grown may be twice as large as its content.
        let answer = body.map(|body| RecordedAnswer::new(head, Bytes::copy_from_slice(&body)));
        for Keeper { limit, keep } in keepers {
            keep(answer.clone().filter(|answer| answer.body().len() <= limit), facts);
        }
    }

    /// Records a complete reply at once. A reply that is still a stream is abandoned.
    pub fn record_whole(mut self, reply: &Reply, facts: &AnswerFacts<'_>) {
        let ReplyBody::Whole { pieces, .. } = &reply.body else { return };
        self.start(reply.status, &reply.headers);
        pieces.iter().for_each(|piece| self.push(piece));
        self.finish(facts);
    }
}

/// The same answer once more. Headers about the new call are added by the caller.
pub fn replay(answer: &RecordedAnswer) -> Reply {
    Reply {
        status: answer.status(),
        headers: answer.headers(),
        body: ReplyBody::whole(vec![answer.body().clone()]),
    }
}
