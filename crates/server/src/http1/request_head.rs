//! Parses request heads of HTTP/1.1 whose framing is beyond doubt.

use std::mem::MaybeUninit;

use bytes::{Buf as _, Bytes, BytesMut};
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Uri, Version};

use super::MAX_HEAD;

const MAX_HEADERS: usize = 100;

pub(super) struct RequestHead {
    pub(super) request: Request<()>,
    pub(super) body_length: u64,
    /// The client may send another request on the connection.
    pub(super) keep_alive: bool,
}

pub(super) enum Parsed {
    Request(Box<RequestHead>),
    Incomplete,
    /// A head that hyper has to judge: malformed, of another version, or with framing other than a length.
    Unsupported,
}

/// Takes the head of a request out of the buffer. The buffer is unchanged unless it returns a request.
pub(super) fn parse(buffer: &mut BytesMut) -> Parsed {
    let mut parsed_headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(buffer, &mut parsed_headers) {
        Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD => length,
        Ok(httparse::Status::Partial) => return Parsed::Incomplete,
        Ok(httparse::Status::Complete(_)) | Err(_) => return Parsed::Unsupported,
    };
    match head(&request, &buffer[..length]) {
        Some(head) => {
            buffer.advance(length);
            Parsed::Request(Box::new(head))
        }
        None => Parsed::Unsupported,
    }
}

fn head(parsed: &httparse::Request<'_, '_>, bytes: &[u8]) -> Option<RequestHead> {
    let target = parsed.path.filter(|target| parsed.version == Some(1) && target.starts_with('/'))?;
    // Values are slices of one copy, so that they do not keep the read buffer, which may contain a body.
    let copy = Bytes::copy_from_slice(bytes);
    let slice = |part: &[u8]| match part.as_ptr() as usize - bytes.as_ptr() as usize {
        _ if part.is_empty() => Bytes::new(),
        start => copy.slice(start..start + part.len()),
    };
    let mut framing = Framing { keep_alive: true, ..Framing::default() };
    let mut headers = HeaderMap::with_capacity(parsed.headers.len());
    for header in parsed.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        framing.inspect(&name, header.value)?;
        headers.append(name, HeaderValue::from_maybe_shared(slice(header.value)).ok()?);
    }
    if framing.hosts != 1 {
        return None;
    }
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(parsed.method?.as_bytes()).ok()?;
    *request.uri_mut() = Uri::from_maybe_shared(slice(target.as_bytes())).ok()?;
    *request.version_mut() = Version::HTTP_11;
    *request.headers_mut() = headers;
    let Framing { length, keep_alive, .. } = framing;
    Some(RequestHead { request, body_length: length.unwrap_or(0), keep_alive })
}

/// The framing of a message and the use of its connection, by the headers of the request.
#[derive(Default)]
struct Framing {
    length: Option<u64>,
    hosts: usize,
    keep_alive: bool,
}

impl Framing {
    /// Returns `None` for a header that makes the request unsupported.
    fn inspect(&mut self, name: &HeaderName, value: &[u8]) -> Option<()> {
        // The names are compared one by one: a match on constants would compare each as a string.
        if *name == header::CONTENT_LENGTH {
            let digits = std::str::from_utf8(value)
                .ok()
                .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
            return self.length.replace(digits.parse().ok()?).is_none().then_some(());
        }
        if *name == header::HOST {
            self.hosts += 1;
        } else if *name == header::CONNECTION {
            for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                self.keep_alive &= !option.eq_ignore_ascii_case(b"close");
            }
        } else if *name == header::TRANSFER_ENCODING || *name == header::EXPECT || *name == header::UPGRADE {
            return None;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
