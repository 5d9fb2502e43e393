//! Parses response heads of HTTP/1.1 and decides how their bodies are framed.

use std::mem::MaybeUninit;

use bytes::{Buf as _, Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{Method, StatusCode};

use super::body_decoder::BodyDecoder;
use super::head_scan::HeadScan;
use crate::error::{EgressError, EgressErrorKind};

const MAX_HEADERS: usize = 100;
/// Maximum size of a response head in bytes.
const MAX_HEAD: usize = 400 * 1024;

pub(crate) struct ResponseHead {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: BodyDecoder,
    /// The upstream keeps the connection open after the response.
    pub(crate) keep_alive: bool,
}

/// Parser of the head of one response.
#[derive(Default)]
pub(crate) struct HeadParser {
    scan: HeadScan,
}

impl HeadParser {
    /// Takes the head of the final response out of the buffer; `None` if it is incomplete. Informational responses are
    /// skipped.
    pub(crate) fn parse(
        &mut self,
        buffer: &mut BytesMut,
        method: &Method,
    ) -> Result<Option<ResponseHead>, EgressError> {
        loop {
            if !self.scan.is_worth_parsing(buffer) {
                return if buffer.len() > MAX_HEAD { Err(too_large()) } else { Ok(None) };
            }
            let Some((length, head)) = parse_one(buffer, method)? else { continue };
            buffer.advance(length);
            self.scan.reset();
            match head {
                // No request asks for another protocol.
                head if head.status == StatusCode::SWITCHING_PROTOCOLS => return Err(invalid()),
                head if head.status.is_informational() => {}
                head => return Ok(Some(head)),
            }
        }
    }
}

/// Parses the first head of the buffer. Returns it with its length.
fn parse_one(buffer: &[u8], method: &Method) -> Result<Option<(usize, ResponseHead)>, EgressError> {
    let mut parsed_headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let length = match config.parse_response_with_uninit_headers(&mut response, buffer, &mut parsed_headers) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(too_large()),
        Err(_) => return Err(invalid()),
    };
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok()).ok_or_else(invalid)?;
    // Values are slices of one copy, so that they keep neither an allocation each nor the read buffer.
    let copy = Bytes::copy_from_slice(&buffer[..length]);
    let mut headers = HeaderMap::with_capacity(response.headers.len());
    for header in response.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| invalid())?;
        let start = header.value.as_ptr() as usize - buffer.as_ptr() as usize;
        let value = if header.value.is_empty() {
            Bytes::new()
        } else {
            copy.slice(start..start + header.value.len())
        };
        headers.append(name, HeaderValue::from_maybe_shared(value).map_err(|_| invalid())?);
    }
    let http_1_1 = response.version == Some(1);
    let body = body(status, &headers, method, http_1_1)?;
    let keep_alive = body != BodyDecoder::UntilClose && keeps_alive(&headers, http_1_1);
    Ok(Some((length, ResponseHead { status, headers, body, keep_alive })))
}

fn body(
    status: StatusCode,
    headers: &HeaderMap,
    method: &Method,
    http_1_1: bool,
) -> Result<BodyDecoder, EgressError> {
    if method == Method::HEAD
        || status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
    {
        return Ok(BodyDecoder::Ended);
    }
    if let Some(last) = headers.get_all(TRANSFER_ENCODING).iter().next_back() {
        if !http_1_1 {
            return Err(invalid());
        }
        let last = last.as_bytes().rsplit(|byte| *byte == b',').next().unwrap_or_default();
        let chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
        return Ok(if chunked { BodyDecoder::chunked() } else { BodyDecoder::UntilClose });
    }
    Ok(content_length(headers)?.map_or(BodyDecoder::UntilClose, BodyDecoder::with_length))
}

/// The announced length. Repeated values must be equal.
fn content_length(headers: &HeaderMap) -> Result<Option<u64>, EgressError> {
    let mut length = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        for part in value.as_bytes().split(|byte| *byte == b',') {
            let part = part.trim_ascii();
            let digits = !part.is_empty() && part.iter().all(u8::is_ascii_digit);
            let parsed = str::from_utf8(part).ok().filter(|_| digits).and_then(|part| part.parse().ok());
            let parsed: u64 = parsed.ok_or_else(invalid)?;
            if length.is_some_and(|length| length != parsed) {
                return Err(invalid());
            }
            length = Some(parsed);
        }
    }
    Ok(length)
}

fn keeps_alive(headers: &HeaderMap, http_1_1: bool) -> bool {
    let has = |option: &[u8]| {
        let values = headers.get_all(CONNECTION).iter();
        let mut options = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        options.any(|text| text.trim_ascii().eq_ignore_ascii_case(option))
    };
    if http_1_1 { !has(b"close") } else { has(b"keep-alive") && !has(b"close") }
}

fn invalid() -> EgressError {
    EgressError::new(EgressErrorKind::Protocol, "the answer is not valid HTTP")
}

fn too_large() -> EgressError {
    EgressError::new(EgressErrorKind::TooLarge, "the answer's header is too large")
}

#[cfg(test)]
mod tests;
