//! The reply to a call whose answer is in the cache. The call has its own receipt, with the usage of the answer, and costs
//! nothing.

use bytes::Bytes;
use domain::usage::{Untold, Usage};
use http::{HeaderMap, HeaderValue, header};
use wire::sse::Splitter;

use crate::accounting::stored_response;
use crate::accounting::ticket::Ticket;
use crate::call::response_headers;
use crate::delivery::answer_recorder::{AnswerFacts, AnswerRecorder};
use crate::delivery::commit;
use crate::delivery::reply::{Reply, ReplyBody};
use crate::services::response_cache::{CacheLayer, CachedAnswer, ReplayedAnswer};

/// Replies with a cached answer.
pub async fn reply(
    mut ticket: Box<Ticket>,
    replayed: ReplayedAnswer,
    recorder: Option<Box<AnswerRecorder>>,
) -> Reply {
    let overhead_us = ticket.first_byte();
    record_facts(&mut ticket, &replayed.cached, replayed.layer);
    let headers = headers(&ticket, &replayed, overhead_us);
    let ReplayedAnswer { cached, body, streams, .. } = replayed;
    match streams {
        true => stored_response::keep_stream(&mut ticket, None, false, final_event(&body)),
        false => stored_response::keep_whole(&mut ticket, std::slice::from_ref(&body)).await,
    }
    commit::take_down(&mut ticket, &headers, std::slice::from_ref(&body));
    let reply = Reply { status: cached.answer.status(), headers, body: ReplyBody::whole(vec![body]) };
    if let Some(recorder) = recorder {
        let target = cached.answer.target();
        recorder.record_whole(&reply, &facts(&target));
    }
    ticket.complete();
    reply
}

/// Settles a call whose head is sent already; returns the bytes that follow.
pub fn settle_stream(
    ticket: &mut Ticket,
    ReplayedAnswer { cached, layer, body, .. }: ReplayedAnswer,
    recorder: Option<Box<AnswerRecorder>>,
) -> Bytes {
    record_facts(ticket, &cached, layer);
    stored_response::keep_stream(ticket, None, false, final_event(&body));
    ticket.audit.record_response(&body);
    if let Some(mut recorder) = recorder {
        recorder.push(&body);
        recorder.finish(&facts(&cached.answer.target()));
    }
    ticket.complete();
    body
}

fn facts(target: &domain::call::Target) -> AnswerFacts<'_> {
    AnswerFacts { target: Some(target), is_from_cache: true, ..AnswerFacts::default() }
}

fn record_facts(ticket: &mut Ticket, cached: &CachedAnswer, layer: CacheLayer) {
    let usage = match &cached.usage {
        // What its provider did not report is not counted again.
        Some(usage) => {
            let estimated = usage.estimated || usage.untold != Untold::default();
            Usage { estimated, reported_cost: None, caveat: None, untold: Untold::default(), ..usage.clone() }
        }
        None => Usage { estimated: true, ..Usage::default() },
    };
    ticket.receipt.answered_from_cache(layer, &cached.answer.target(), usage, cached.cost);
    // It was recorded for its client, and not redacted for the audit log.
    if ticket.context.guardrails().is_some_and(|guardrails| !guardrails.record.is_empty()) {
        ticket.audit.omit_answer();
    }
}

/// The headers of the first reply, as far as they hold, and those of this call.
fn headers(ticket: &Ticket, replayed: &ReplayedAnswer, overhead_us: u64) -> HeaderMap {
    let target = replayed.cached.answer.target();
    let mut headers = replayed.cached.answer.headers();
    headers.remove(header::CACHE_CONTROL);
    headers.extend(ticket.headers(overhead_us));
    // Absent from the head of a stream that was sent before a target had answered.
    for (name, value) in [
        (response_headers::PROVIDER, target.instance.to_string()),
        (response_headers::MODEL, target.selector()),
    ] {
        headers.extend(HeaderValue::try_from(value).ok().map(|value| (name, value)));
    }
    let content_type = if replayed.streams { "text/event-stream" } else { "application/json" };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    match replayed.streams {
        true => headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        false => headers.insert(response_headers::COST, HeaderValue::from_static("0.000000000")),
    };
    headers
}

/// The data of the event that ends a stream of the Responses API: it has the whole response.
pub fn final_event(body: &Bytes) -> Option<Bytes> {
    let mut splitter = Splitter::new(body.len());
    splitter.push(body.clone());
    let mut found = None;
    while let Some(event) = splitter.next().ok().flatten().or_else(|| splitter.finish()) {
        let data = event.data();
        if !event.is_comment_only() && data.trim_ascii() != b"[DONE]" {
            found = Some(Bytes::copy_from_slice(&data));
        }
    }
    found
}
