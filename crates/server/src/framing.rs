//! Rejects HTTP/1.1 requests whose framing another server could interpret differently (request smuggling).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::fault::{self, Fault};
use http::header::{HOST, TRANSFER_ENCODING};
use http::{Request, Version};
use memchr::memchr;

/// Maximum length of a partial line that is buffered between reads; hyper rejects longer heads anyway.
const MAX_LINE: usize = 64 * 1024;

/// Checks a request head for framing that hyper accepts and this gateway does not (RFC 9112, sections 3.2 and 6.3).
pub(crate) fn check<B>(request: &Request<B>, lengths: &ConflictFlag) -> Result<(), Fault> {
    if request.version() > Version::HTTP_11 {
        return Ok(());
    }
    let headers = request.headers();
    if headers.contains_key(TRANSFER_ENCODING) {
        if lengths.is_set() {
            return Err(refuse(
                "content-length",
                "The request has both Content-Length and Transfer-Encoding. Send one of them.",
            ));
        }
        let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
        let only_chunked =
            codings.next().is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"chunked"));
        if !only_chunked || codings.next().is_some() {
            return Err(refuse("transfer-encoding", "Only `Transfer-Encoding: chunked` is supported."));
        }
    }
    match headers.get_all(HOST).iter().count() {
        1 => Ok(()),
        0 if request.version() < Version::HTTP_11 => Ok(()),
        0 => Err(refuse("host", "The Host header is missing.")),
        _ => Err(refuse("host", "The request has more than one Host header.")),
    }
}

fn refuse(header: &str, message: &str) -> Fault {
    fault::invalid_parameter(header, message)
}

/// Flag set once a request on this connection had both Content-Length and Transfer-Encoding.
#[derive(Clone, Default)]
pub(crate) struct ConflictFlag(Arc<AtomicBool>);

impl ConflictFlag {
    fn is_set(&self) -> bool {
        // Relaxed is enough: scanner and handler run in the same connection task, and the flag guards no other data.
        self.0.load(Ordering::Relaxed)
    }
}

/// Tracks the requests of one connection in the bytes that are read from it.
///
/// Hyper resolves a conflict of Content-Length and Transfer-Encoding itself and drops the length, so a handler cannot
/// see it. The scanner only reports the conflict; hyper alone decides where a message ends.
pub(crate) struct FramingScanner {
    state: State,
    /// The beginning of a line whose end has not been read yet.
    partial: Vec<u8>,
    head: Head,
    conflict: ConflictFlag,
}

#[derive(Clone, Copy)]
enum State {
    Head,
    /// Number of bytes until the next head.
    Body(u64),
    ChunkSize,
    /// Number of bytes until the next chunk size, including the CRLF after the data.
    Chunk(u64),
    Trailers,
    /// An upgraded connection, or one that hyper is about to reject.
    Opaque,
}

#[derive(Clone, Copy, Default)]
struct Head {
    begun: bool,
    length: Option<u64>,
    chunked: bool,
    upgrade: bool,
}

impl FramingScanner {
    pub(crate) fn new(conflict: ConflictFlag) -> Self {
        Self { state: State::Head, partial: Vec::new(), head: Head::default(), conflict }
    }

    pub(crate) fn inspect(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.state {
                State::Opaque => return,
                State::Body(left) => {
                    let taken = skip(&mut bytes, left);
                    self.state = if taken == left { State::Head } else { State::Body(left - taken) };
                }
                State::Chunk(left) => {
                    let taken = skip(&mut bytes, left);
                    self.state = if taken == left { State::ChunkSize } else { State::Chunk(left - taken) };
                }
                State::Head | State::ChunkSize | State::Trailers => self.take_line(&mut bytes),
            }
        }
    }

    fn take_line(&mut self, bytes: &mut &[u8]) {
        let Some(end) = memchr(b'\n', bytes) else {
            self.partial.extend_from_slice(bytes);
            *bytes = &[];
            if self.partial.len() > MAX_LINE {
                self.partial = Vec::new();
                self.state = State::Opaque;
            }
            return;
        };
        let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
        *bytes = rest;
        if self.partial.is_empty() {
            return self.read_line(line);
        }
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(line);
        self.read_line(&whole);
    }

    fn read_line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match self.state {
            State::ChunkSize => {
                self.state = match chunk_size(line) {
                    Some(0) => State::Trailers,
                    Some(size) => State::Chunk(size.saturating_add(2)),
                    None => State::Opaque,
                }
            }
            State::Trailers if line.is_empty() => self.state = State::Head,
            State::Trailers => {}
            _ if !line.is_empty() => self.read_head_line(line),
            // Empty lines before a request line are skipped.
            _ if !self.head.begun => {}
            _ => self.end_head(),
        }
    }

    fn read_head_line(&mut self, line: &[u8]) {
        if !std::mem::replace(&mut self.head.begun, true) {
            return; // the request line
        }
        let Some(colon) = memchr(b':', line) else { return };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        // Comparing lengths first is cheap and rules out nearly all headers.
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                // An unparsable length is rejected by hyper.
                let length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.head.length = Some(length.unwrap_or(0));
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.head.chunked = true,
            7 if name.eq_ignore_ascii_case(b"upgrade") => self.head.upgrade = true,
            _ => {}
        }
    }

    fn end_head(&mut self) {
        let head = std::mem::take(&mut self.head);
        if head.chunked && head.length.is_some() {
            self.conflict.0.store(true, Ordering::Relaxed);
        }
        self.state = match head {
            Head { upgrade: true, .. } => State::Opaque,
            Head { chunked: true, .. } => State::ChunkSize,
            Head { length: Some(length @ 1..), .. } => State::Body(length),
            _ => State::Head,
        };
    }
}

/// Advances over at most `count` bytes and returns the number skipped.
fn skip(bytes: &mut &[u8], count: u64) -> u64 {
    let taken = usize::try_from(count).unwrap_or(usize::MAX).min(bytes.len());
    *bytes = &bytes[taken..];
    taken as u64
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFLICT: &str =
        "POST / HTTP/1.1\r\nhost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";

    fn conflicts(bytes: &str, piece: usize) -> bool {
        let flag = ConflictFlag::default();
        let mut scanner = FramingScanner::new(flag.clone());
        bytes.as_bytes().chunks(piece).for_each(|piece| scanner.inspect(piece));
        flag.is_set()
    }

    #[test]
    fn a_conflict_is_found_behind_any_request_and_in_any_pieces() {
        let before = [
            "",
            "\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5;x=y\r\nhel\r\n\r\n0\r\ntrailer: x\r\n\r\n",
            "POST / HTTP/1.1\ntransfer-encoding: chunked\n\nA\r\n0123456789\r\n0\r\n\r\n",
        ];
        for request in before {
            for piece in [1, 2, 3, 7, 1000] {
                assert!(!conflicts(request, piece), "{request:?}");
                assert!(conflicts(&format!("{request}{CONFLICT}"), piece), "{request:?} by {piece}");
            }
        }
    }

    #[test]
    fn bodies_are_not_read_as_heads() {
        for request in [
            format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n{CONFLICT}", CONFLICT.len()),
            format!(
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{CONFLICT}\r\n0\r\n\r\n",
                CONFLICT.len()
            ),
            format!("GET / HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n{CONFLICT}"),
        ] {
            for piece in [1, 5, 1000] {
                assert!(!conflicts(&request, piece), "{request:?}");
            }
        }
    }

    #[test]
    fn heads_are_checked_for_hosts_and_codings() {
        let check = |version, headers: &[(&'static str, &'static str)]| {
            let mut request = Request::new(());
            *request.version_mut() = version;
            for (name, value) in headers {
                request.headers_mut().append(*name, http::HeaderValue::from_static(value));
            }
            super::check(&request, &ConflictFlag::default()).err().and_then(|fault| fault.param)
        };
        let host = ("host", "x");
        assert_eq!(check(Version::HTTP_11, &[host]), None);
        assert_eq!(check(Version::HTTP_11, &[host, ("transfer-encoding", "Chunked")]), None);
        assert_eq!(check(Version::HTTP_10, &[]), None);
        assert_eq!(check(Version::HTTP_2, &[]), None);
        assert_eq!(check(Version::HTTP_11, &[]).as_deref(), Some("host"));
        assert_eq!(check(Version::HTTP_11, &[host, host]).as_deref(), Some("host"));
        assert_eq!(check(Version::HTTP_10, &[host, host]).as_deref(), Some("host"));
        let coding = Some("transfer-encoding");
        assert_eq!(
            check(Version::HTTP_11, &[host, ("transfer-encoding", "gzip, chunked")]).as_deref(),
            coding
        );
        let twice = [host, ("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")];
        assert_eq!(check(Version::HTTP_11, &twice).as_deref(), coding);
    }
}
