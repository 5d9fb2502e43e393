//! Writes response heads of HTTP/1.1.

use std::cell::Cell;

use domain::clock::Timestamp;
use http::header::{self, HeaderValue};
use http::{StatusCode, response};
use http_body::SizeHint;

/// How the end of a response body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFraming {
    /// There is no body: its bytes are not sent.
    Absent,
    Length(u64),
    Chunked,
}

/// Appends the head of a response and returns how its body is framed.
pub(super) fn write(
    head: &mut Vec<u8>,
    parts: &response::Parts,
    body: SizeHint,
    answers_head: bool,
    keep_alive: bool,
    now: Timestamp,
) -> BodyFraming {
    write_status(head, parts.status);
    let (mut has_date, mut has_connection, mut length) = (false, false, None);
    for (name, value) in &parts.headers {
        write_header(head, name.as_str(), value.as_bytes());
        has_date |= *name == header::DATE;
        has_connection |= *name == header::CONNECTION;
        if *name == header::CONTENT_LENGTH {
            length = length.or(Some(value));
        }
    }
    if !has_date {
        write_header(head, "date", &date(now));
    }
    if !keep_alive && !has_connection {
        write_header(head, "connection", b"close");
    }
    let framing = framing(parts.status, length, &body, answers_head);
    match (framing, body.exact()) {
        _ if length.is_some() || is_bodiless(parts.status) => {}
        (BodyFraming::Chunked, _) => write_header(head, "transfer-encoding", b"chunked"),
        (_, Some(length)) => write_header(head, "content-length", length.to_string().as_bytes()),
        (_, None) => {}
    }
    head.extend_from_slice(b"\r\n");
    framing
}

fn framing(
    status: StatusCode,
    length: Option<&HeaderValue>,
    body: &SizeHint,
    answers_head: bool,
) -> BodyFraming {
    if answers_head || is_bodiless(status) {
        return BodyFraming::Absent;
    }
    let announced = length.and_then(|length| length.to_str().ok()?.parse().ok());
    announced.or(body.exact()).map_or(BodyFraming::Chunked, BodyFraming::Length)
}

fn is_bodiless(status: StatusCode) -> bool {
    status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

fn write_status(head: &mut Vec<u8>, status: StatusCode) {
    if status == StatusCode::OK {
        return head.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    }
    head.extend_from_slice(b"HTTP/1.1 ");
    head.extend_from_slice(status.as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    head.extend_from_slice(b"\r\n");
}

fn write_header(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.reserve(name.len() + value.len() + 4);
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

/// The length of a date such as `Tue, 17 Nov 2026 20:09:20 GMT`.
const DATE_LENGTH: usize = 29;

thread_local! {
    /// The date that was written last and its Unix time in seconds.
    static LAST_DATE: Cell<(i64, [u8; DATE_LENGTH])> = const { Cell::new((i64::MIN, [b' '; DATE_LENGTH])) };
}

/// The value of a `Date` header, formatted once per second.
fn date(now: Timestamp) -> [u8; DATE_LENGTH] {
    let second = now.seconds();
    let (formatted, date) = LAST_DATE.get();
    if formatted == second {
        return date;
    }
    let text = jiff::Timestamp::from_second(second)
        .and_then(|time| jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&time));
    let Some(date) = text.ok().and_then(|text| text.into_bytes().try_into().ok()) else { return date };
    LAST_DATE.set((second, date));
    date
}

#[cfg(test)]
mod tests;
