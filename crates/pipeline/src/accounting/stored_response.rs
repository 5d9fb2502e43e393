//! Stores finished responses for later calls.

use std::ops::Range;

use bytes::Bytes;
use domain::clock::Timestamp;
use serde_json::value::RawValue;
use store::{Owner, StoreError, StoredResponse};
use wire::formats::responses as format;
use wire::{json, splice};

use crate::accounting::ticket::Ticket;
use crate::gateway::Gateway;

/// The owner of a response, and how it is stored.
pub struct Keeping {
    pub owner: Owner,
    pub previous: Option<String>,
    /// False if the client disabled storage: then only the owner is recorded.
    pub store: bool,
    /// Position of the input in the request body.
    pub input: Option<Range<usize>>,
}

/// Stores a non-streamed response, so that it can be retrieved before its last byte is sent.
pub async fn keep_whole(ticket: &mut Ticket, pieces: &[Bytes]) {
    let Some(keeping) = ticket.keeping() else { return };
    let body = splice::concat(pieces);
    let (prompt, place, store) =
        (ticket.receipt.received_body().clone(), keeping.input.clone(), keeping.store);
    let read = ticket.gateway().with_bytes(body.len().max(prompt.len()), move || {
        let seen = Seen::read(&body)?;
        let input = (store && seen.complete).then(|| input_items(&prompt, place));
        Some((seen, input, body))
    });
    let Ok(Some((seen, input, body))) = read.await else { return };
    ticket.receipt.known_as(&seen.id);
    let Some(keeping) = ticket.keeping() else { return };
    let upstream_id =
        ticket.receipt.receipt().map(|receipt| receipt.provider_id.as_str()).unwrap_or_default();
    let native = upstream_id == seen.id;
    put(ticket, keeping, seen, input, keeping.store.then_some(body), native);
}

/// Stores a streamed response. It cannot be retrieved, but its owner is recorded and it can be continued.
pub fn keep_stream(ticket: &mut Ticket, provider_id: Option<&str>, native: bool, final_bytes: Option<Bytes>) {
    if ticket.keeping().is_none() {
        return;
    }
    let said =
        final_bytes.as_deref().and_then(response_in).and_then(|response| Seen::read(response.as_bytes()));
    let made = format!("resp_{}", ticket.context.seed());
    let seen = said.or_else(|| {
        let id = provider_id.filter(|_| native).unwrap_or(&made).to_owned();
        Some(Seen { id, output: Bytes::new(), complete: false })
    });
    if let Some(seen) = seen {
        ticket.receipt.known_as(&seen.id);
        let Some(keeping) = ticket.keeping() else { return };
        let native = provider_id == Some(seen.id.as_str());
        let usable = keeping.store && seen.complete;
        let input = usable.then(|| input_items(ticket.receipt.received_body(), keeping.input.clone()));
        put(ticket, keeping, seen, input, None, native);
    }
}

/// Updates a stored response with the provider's current state. One that was deleted meanwhile stays deleted.
pub async fn renew(gateway: &Gateway, id: &str, body: &Bytes) -> Result<(), StoreError> {
    let Some(stored) = gateway.responses.find(id).await? else { return Ok(()) };
    let output = json::value_at(body, &["output"]).map(|range| body.slice(range)).unwrap_or_default();
    gateway.responses.put(StoredResponse { body: body.clone(), output, ..stored });
    Ok(())
}

struct Seen {
    id: String,
    output: Bytes,
    /// The response did not fail, so it can be continued.
    complete: bool,
}

impl Seen {
    fn read(body: &[u8]) -> Option<Self> {
        let object = json::scan(body).ok()?;
        let id = json::string_at(body, &object.value(body, "id")?)?.into_owned();
        let output = object.value(body, "output").map(|range| Bytes::copy_from_slice(&body[range]));
        let failed = object.value(body, "status").is_some_and(|range| &body[range] == b"\"failed\"");
        Some(Self { id, output: output.unwrap_or_default(), complete: !failed })
    }
}

/// Finds the response object in the event that ends a stream, given the event's data or the stream's last lines.
fn response_in(final_bytes: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Terminal<'a> {
        #[serde(borrow)]
        response: &'a RawValue,
    }
    let text = std::str::from_utf8(final_bytes).ok()?;
    let read =
        |data: &str| serde_json::from_str::<Terminal<'_>>(data).ok().map(|seen| seen.response.to_string());
    read(text).or_else(|| text.lines().filter_map(|line| line.strip_prefix("data: ")).find_map(read))
}

fn input_items(prompt: &[u8], place: Option<Range<usize>>) -> Bytes {
    format::input_items(prompt, place).unwrap_or_default()
}

/// Stores a response. It can be continued only if `input` is given.
fn put(
    ticket: &Ticket,
    keeping: &Keeping,
    seen: Seen,
    input: Option<Bytes>,
    body: Option<Bytes>,
    native: bool,
) {
    let gateway = ticket.gateway();
    let now = gateway.clock.now();
    let usable = input.is_some();
    let ttl = i64::try_from(ticket.context.policy().response_ttl.as_micros()).unwrap_or(i64::MAX);
    gateway.responses.put(StoredResponse {
        owner: keeping.owner.clone(),
        provider: ticket
            .receipt
            .deployment()
            .map(|deployment| deployment.target.instance.to_string())
            .unwrap_or_default(),
        upstream_id: if native { seen.id.clone() } else { String::new() },
        id: seen.id,
        retrievable: body.is_some(),
        usable,
        body: body.unwrap_or_default(),
        input: input.unwrap_or_default(),
        output: if usable { seen.output } else { Bytes::new() },
        previous: keeping.previous.clone(),
        created_at: now,
        expires_at: Timestamp(now.micros().saturating_add(ttl)),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_stream_is_found_in_both_forms() {
        let data =
            r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[1]}}"#;
        let found = response_in(data.as_bytes()).unwrap();
        let seen = Seen::read(found.as_bytes()).unwrap();
        assert_eq!((seen.id.as_str(), &seen.output[..], seen.complete), ("resp_1", &b"[1]"[..], true));
        let stream = format!(
            "event: x\ndata: {{\"type\":\"x\"}}\n\nevent: response.completed\ndata: {data}\n\ndata: [DONE]\n\n"
        );
        assert_eq!(response_in(stream.as_bytes()).unwrap(), found);
        assert!(response_in(b"data: [DONE]\n\n").is_none());
    }
}
