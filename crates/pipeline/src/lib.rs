//! The pipeline of a call, one step per file. Start at [`run`].

pub mod accounting;
pub mod admission;
pub mod budgets;
pub mod cache;
pub mod call;
pub mod compact;
pub mod count;
pub mod delivery;
pub mod dispatch;
pub mod embeddings_call;
pub mod explain;
pub mod gateway;
mod guardrail_model;
mod guardrail_webhook;
pub mod guardrails;
mod inspect;
pub mod internal_call;
pub mod passthrough;
pub mod policy;
mod prepare;
pub mod rate_limit;
pub mod refresh;
pub mod remote_guardrails;
mod resolve_plan;
pub mod responses;
pub mod routing;
pub mod services;
pub mod snapshot;
pub mod streaming;

use std::sync::Arc;

use accounting::ticket::Ticket;
use admission::{Prepared, admit_sized};
use bytes::Bytes;
use cache::Found;
use call::arrival::Arrival;
use call::response_headers::Refused;
use delivery::answer_recorder::AnswerRecorder;
use delivery::commit::{self, AnswerForm, Answering, EarlyReply};
use delivery::idempotency::{self, Turn};
use delivery::replay;
use delivery::reply::Reply;
use domain::boxed::pinned;
use gateway::Gateway;
use inspect::inspect;
use prepare::{receive_call, route};
use routing::choose::SelectionMode;

/// Runs one call from its first byte to its last: read this function to know what the gateway does.
///
/// The ticket is opened before anything can fail and settles itself when it is dropped, so that every call, refused,
/// failed or abandoned, leaves exactly one receipt.
pub async fn run<B>(gateway: &Arc<Gateway>, arrival: Arrival, body: B) -> Result<Reply, Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut ticket = Ticket::open(gateway, &arrival);
    let parsed = match receive_call(gateway, &arrival, body, &mut ticket).await {
        Ok(parsed) => parsed,
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let recorder = match idempotency::claim(&arrival, &parsed.call, &ticket).await {
        Ok(Turn::First(recorder)) => recorder,
        Ok(Turn::Again(answer)) => return Ok(idempotency::replay(ticket, &answer)),
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let prepared = match route(gateway, &arrival, parsed, &mut ticket, SelectionMode::Live).await {
        Ok(prepared) => prepared,
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let prepared = match inspect(gateway, &arrival, prepared, &mut ticket).await {
        Ok(prepared) => prepared,
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let recorder = match cache::search(&arrival, &prepared, &mut ticket).await {
        Ok(Found::Hit(answer)) => return Ok(replay::reply(ticket, answer, recorder).await),
        Ok(Found::Miss(cached)) => AnswerRecorder::join(recorder, cached),
        Ok(Found::InFlight(pending, cached)) => {
            let recorder = AnswerRecorder::join(recorder, Some(cached));
            let (early, holds_answer) = (EarlyReply::of(&ticket), prepared.call.holds_answer);
            let answering =
                Box::pin(cache::follow(pending, gateway.clone(), arrival.clone(), prepared, ticket));
            let replying =
                commit::stream_or_hold(gateway, &arrival, early, answering, recorder, holds_answer);
            return Box::pin(replying).await;
        }
        Err(fault) => return Err(ticket.refuse(fault)),
    };
    let (ticket, admitted) = admit_sized(gateway, &arrival, prepared, ticket).await?;
    match admitted {
        Ok((Prepared { call, plan, .. }, reservation)) => {
            let (streams, holds_answer) = (call.stream, call.holds_answer);
            let early = streams.then(|| EarlyReply::of(&ticket));
            // On the heap: from here on a pointer is moved, and a stream takes it along.
            let answering: Answering = pinned(|| dispatch::dispatch(call, plan, reservation, ticket));
            match early {
                // Boxed, because other calls should not carry its size.
                Some(early) => {
                    let replying =
                        commit::stream_or_hold(gateway, &arrival, early, answering, recorder, holds_answer);
                    Box::pin(replying).await
                }
                None => commit::whole(answering, recorder, AnswerForm::Document).await,
            }
        }
        Err(fault) => Err(ticket.refuse(fault)),
    }
}
