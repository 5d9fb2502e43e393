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
    let http_1_1 = response.version == Some(1);
    let mut framing = Framing::default();
    let mut headers = HeaderMap::with_capacity(response.headers.len());
    for header in response.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| invalid())?;
        framing.inspect(&name, header.value);
        let start = header.value.as_ptr() as usize - buffer.as_ptr() as usize;
        let value = if header.value.is_empty() {
            Bytes::new()
        } else {
            copy.slice(start..start + header.value.len())
        };
        headers.append(name, HeaderValue::from_maybe_shared(value).map_err(|_| invalid())?);
    }
    let body = framing.body(status, method, http_1_1)?;
    let keep_alive = body != BodyDecoder::UntilClose && framing.keeps_alive(http_1_1);
    Ok(Some((length, ResponseHead { status, headers, body, keep_alive })))
}

/// The framing of a response and the use of its connection, by its headers.
#[derive(Default)]
struct Framing {
    /// Whether the last transfer coding is `chunked`, if there is one.
    chunked: Option<bool>,
    /// The announced length.
    length: Option<u64>,
    has_invalid_length: bool,
    close: bool,
    keep_alive: bool,
}

impl Framing {
    fn inspect(&mut self, name: &HeaderName, value: &[u8]) {
        let mut parts = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        if *name == CONTENT_LENGTH {
            parts.for_each(|part| self.announce(part));
        } else if *name == TRANSFER_ENCODING {
            self.chunked = parts.next_back().map(|last| last.eq_ignore_ascii_case(b"chunked"));
        } else if *name == CONNECTION {
            for option in parts {
                self.close |= option.eq_ignore_ascii_case(b"close");
                self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        }
    }

    /// Repeated lengths must be equal.
    fn announce(&mut self, length: &[u8]) {
        let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
        let parsed = str::from_utf8(length).ok().filter(|_| digits).and_then(|length| length.parse().ok());
        self.has_invalid_length |= parsed.is_none() || self.length.is_some_and(|known| Some(known) != parsed);
        self.length = parsed;
    }

    fn body(&self, status: StatusCode, method: &Method, http_1_1: bool) -> Result<BodyDecoder, EgressError> {
        if method == Method::HEAD
            || status.is_informational()
            || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        {
            return Ok(BodyDecoder::Ended);
        }
        match self.chunked {
            Some(_) if !http_1_1 => Err(invalid()),
            Some(true) => Ok(BodyDecoder::chunked()),
            Some(false) => Ok(BodyDecoder::UntilClose),
            None if self.has_invalid_length => Err(invalid()),
            None => Ok(self.length.map_or(BodyDecoder::UntilClose, BodyDecoder::with_length)),
        }
    }

    fn keeps_alive(&self, http_1_1: bool) -> bool {
        (http_1_1 || self.keep_alive) && !self.close
    }
}

fn invalid() -> EgressError {
    EgressError::new(EgressErrorKind::Protocol, "the answer is not valid HTTP")
}

fn too_large() -> EgressError {
    EgressError::new(EgressErrorKind::TooLarge, "the answer's header is too large")
}

#[cfg(test)]
mod tests;
