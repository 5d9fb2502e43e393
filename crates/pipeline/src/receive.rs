//! Station: the body off the wire, bounded in size and time, and the few fields we act on out of it.

use bytes::{Bytes, BytesMut};
use domain::fault::{self, Fault};
use http::HeaderMap;
use http_body_util::BodyExt as _;
use wire::formats::chat::{self, ChatRequest};

use crate::arrival;
use crate::gateway::Policy;

/// A call as the journey carries it: the body as it came, and what was asked for beside it.
pub struct Call {
    pub request: ChatRequest,
    pub stream: bool,
}

pub async fn receive<B>(body: B, headers: &HeaderMap, policy: &Policy) -> Result<Bytes, Fault>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let media_type =
        headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if media_type.trim_start().to_ascii_lowercase().starts_with("multipart/") {
        return Err(fault::unsupported_media_type());
    }
    // What announces itself as too large is refused before a byte of it is read.
    if body.size_hint().lower() > policy.body_limit {
        return Err(fault::request_too_large(policy.body_limit));
    }
    match tokio::time::timeout(policy.body_timeout, read(body, policy.body_limit)).await {
        Ok(bytes) => bytes,
        Err(_) => Err(fault::request_timeout()),
    }
}

async fn read<B>(mut body: B, limit: u64) -> Result<Bytes, Fault>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let announced = body.size_hint().exact();
    let mut buffer: Option<BytesMut> = None;
    let mut first: Option<Bytes> = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| fault::client_disconnected())?;
        let Ok(data) = frame.into_data() else { continue };
        let held = buffer.as_ref().map_or(0, BytesMut::len) + first.as_ref().map_or(0, Bytes::len);
        if (held + data.len()) as u64 > limit {
            return Err(fault::request_too_large(limit));
        }
        // A body that came in one piece is used where it lies; only the second piece makes a buffer.
        match (&mut buffer, first.take()) {
            (Some(buffer), _) => buffer.extend_from_slice(&data),
            (None, None) => first = Some(data),
            (None, Some(start)) => {
                let size = announced.unwrap_or(0).max((start.len() + data.len()) as u64);
                let mut grown = BytesMut::with_capacity(size as usize);
                grown.extend_from_slice(&start);
                grown.extend_from_slice(&data);
                buffer = Some(grown);
            }
        }
    }
    Ok(buffer.map(BytesMut::freeze).or(first).unwrap_or_default())
}

pub fn parse(body: Bytes, query: Option<&str>) -> Result<Call, Fault> {
    let request = chat::parse(body)?;
    let asked = match query.and_then(|query| arrival::query_value(query, "stream")) {
        None | Some("false") => false,
        Some("true" | "1" | "") => true,
        Some(other) => {
            return Err(fault::invalid_parameter("stream", format!("'{other}' is not true or false.")));
        }
    };
    if asked && request.stream == Some(false) {
        return Err(fault::invalid_parameter(
            "stream",
            "The query says stream=true and the body says false.",
        ));
    }
    let stream = asked || request.stream == Some(true);
    Ok(Call { request, stream })
}
