//! A call as it goes up: the instance's own headers, nothing of the client's credentials, the body as a rope.

use bytes::Bytes;
use egress::Outbound;
use http::{HeaderName, Method};
use wire::formats::chat::{self, EncodeOptions};

use crate::receive::Call;
use crate::settle::Ticket;
use crate::snapshot::routes::Lane;
use crate::traces;

pub fn encode(call: &Call, lane: &Lane) -> Vec<Bytes> {
    let options =
        EncodeOptions { model: &lane.target.model, stream: call.stream, vendor: lane.instance.vendor };
    chat::encode(&call.request, &options)
}

pub fn build(
    destination: std::sync::Arc<egress::Destination>,
    call: &Call,
    lane: &Lane,
    ticket: &Ticket,
) -> Outbound {
    let core = &lane.instance;
    let mut headers = if call.stream { core.stream_headers.clone() } else { core.headers.clone() };
    if let Some(value) =
        ticket.receipt().and_then(|receipt| receipt.trace.as_ref()).and_then(traces::traceparent)
    {
        headers = headers.with(HeaderName::from_static("traceparent"), value);
    }
    Outbound {
        destination,
        method: Method::POST,
        path_and_query: core.chat_path.clone(),
        headers,
        body: encode(call, lane),
    }
}
