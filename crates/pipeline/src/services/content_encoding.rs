//! Decodes provider responses that are compressed although `identity` was requested. The output is limited, against
//! decompression bombs.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use egress::{EgressError, EgressErrorKind, InboundBody};
use http::{HeaderMap, header};
use http_body::Body as _;
use parking_lot::Mutex;

/// A zstd window of 8 MiB, the most that HTTP allows (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;
const BROTLI_BUFFER: usize = 8 * 1024;
/// Input that is decoded at a time: a kilobyte of gzip becomes at most about a megabyte.
const STEP: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Gzip,
    /// With a zlib header, as specified, or without one, as some servers send it.
    Deflate,
    Brotli,
    Zstd,
    Unsupported,
}

/// The coding of a response body; `None` for `identity`.
pub fn of(headers: &HeaderMap) -> Option<Coding> {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    let coding = values.next()?.as_bytes().trim_ascii().to_ascii_lowercase();
    if values.next().is_some() {
        return Some(Coding::Unsupported);
    }
    match coding.as_slice() {
        b"" | b"identity" => None,
        b"gzip" | b"x-gzip" => Some(Coding::Gzip),
        b"deflate" => Some(Coding::Deflate),
        b"br" => Some(Coding::Brotli),
        b"zstd" => Some(Coding::Zstd),
        _ => Some(Coding::Unsupported),
    }
}

/// Decodes a body in small steps, so that it is not decompressed faster than it is consumed. Everything that a chunk of
/// input completes can be taken at once, so that streams are not delayed.
pub struct Decoder {
    writer: Writer,
    output: Output,
    input: Bytes,
}

enum Writer {
    /// Created at the first byte, which tells zlib from raw deflate.
    NotBegun(Coding),
    Begun(Box<dyn FinishingWrite>),
}

/// A decoder that writes its remaining output at the end. Those of gzip and Brotli also detect truncated input.
trait FinishingWrite: Write + Send {
    fn finish(&mut self) -> io::Result<()>;
}

impl FinishingWrite for flate2::write::MultiGzDecoder<Output> {
    fn finish(&mut self) -> io::Result<()> {
        self.try_finish()
    }
}

impl FinishingWrite for flate2::write::ZlibDecoder<Output> {
    fn finish(&mut self) -> io::Result<()> {
        self.try_finish()
    }
}

impl FinishingWrite for flate2::write::DeflateDecoder<Output> {
    fn finish(&mut self) -> io::Result<()> {
        self.try_finish()
    }
}

impl FinishingWrite for brotli_decompressor::DecompressorWriter<Output> {
    fn finish(&mut self) -> io::Result<()> {
        self.close()
    }
}

impl FinishingWrite for zstd::stream::write::Decoder<'static, Output> {
    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// A shared output buffer: the writers own their output, and most do not lend it. Only one task uses it, so the lock is
/// never contended.
#[derive(Clone)]
struct Output(Arc<Mutex<Buffer>>);

struct Buffer {
    decoded: Vec<u8>,
    left: usize,
    too_large: bool,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut buffer = self.0.lock();
        if bytes.len() > buffer.left {
            buffer.too_large = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        buffer.left -= bytes.len();
        buffer.decoded.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// `limit` is the most bytes that are decoded in total.
    pub fn new(coding: Coding, limit: usize) -> Self {
        let buffer = Buffer { decoded: Vec::new(), left: limit, too_large: false };
        let output = Output(Arc::new(Mutex::new(buffer)));
        Self { writer: Writer::NotBegun(coding), output, input: Bytes::new() }
    }

    /// Sets the next input. All earlier input must have been taken.
    pub fn give(&mut self, chunk: Bytes) {
        self.input = chunk;
    }

    /// The next decoded part; `None` if more input is needed.
    pub fn take(&mut self) -> Result<Option<Bytes>, EgressError> {
        while !self.input.is_empty() {
            let step = self.input.split_to(self.input.len().min(STEP));
            let decoded = self.decode(&step)?;
            if !decoded.is_empty() {
                return Ok(Some(decoded));
            }
        }
        Ok(None)
    }

    /// Ends the body, and returns the remaining output. Fails if truncated input is detected.
    pub fn finish(&mut self) -> Result<Bytes, EgressError> {
        let Writer::Begun(writer) = &mut self.writer else { return Ok(Bytes::new()) };
        let outcome = writer.finish();
        self.decoded(outcome)
    }

    fn decode(&mut self, step: &[u8]) -> Result<Bytes, EgressError> {
        let Some(first) = step.first() else { return Ok(Bytes::new()) };
        if let Writer::NotBegun(coding) = self.writer {
            self.writer = Writer::Begun(writer(coding, *first, self.output.clone())?);
        }
        let Writer::Begun(writer) = &mut self.writer else { return Ok(Bytes::new()) };
        let outcome = writer.write_all(step).and_then(|()| writer.flush());
        self.decoded(outcome)
    }

    fn decoded(&self, outcome: io::Result<()>) -> Result<Bytes, EgressError> {
        let mut buffer = self.output.0.lock();
        match outcome {
            Ok(()) => Ok(std::mem::take(&mut buffer.decoded).into()),
            Err(_) if buffer.too_large => Err(fault("it is too large once decompressed")),
            Err(_) => Err(fault("its compression is broken")),
        }
    }
}

fn writer(coding: Coding, first: u8, output: Output) -> Result<Box<dyn FinishingWrite>, EgressError> {
    Ok(match coding {
        Coding::Gzip => Box::new(flate2::write::MultiGzDecoder::new(output)),
        // The compression method in a zlib header is 8.
        Coding::Deflate if first & 0x0f == 8 => Box::new(flate2::write::ZlibDecoder::new(output)),
        Coding::Deflate => Box::new(flate2::write::DeflateDecoder::new(output)),
        Coding::Brotli => Box::new(brotli_decompressor::DecompressorWriter::new(output, BROTLI_BUFFER)),
        Coding::Zstd => {
            let cannot = |_| fault("zstd is not available");
            let mut decoder = zstd::stream::write::Decoder::new(output).map_err(cannot)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(cannot)?;
            Box::new(decoder)
        }
        Coding::Unsupported => return Err(fault("its content-encoding is not supported")),
    })
}

fn fault(reason: &'static str) -> EgressError {
    EgressError::new(EgressErrorKind::ContentEncoding, reason)
}

/// Decodes a complete body according to its headers.
pub fn decode(headers: &HeaderMap, body: Bytes, limit: usize) -> Result<Bytes, EgressError> {
    decode_whole(of(headers), body, limit)
}

/// Decodes a complete body; fails if it is damaged, truncated or longer than `limit`.
pub fn decode_whole(coding: Option<Coding>, body: Bytes, limit: usize) -> Result<Bytes, EgressError> {
    let Some(coding) = coding else { return Ok(body) };
    let mut decoder = Decoder::new(coding, limit);
    decoder.give(body);
    let mut decoded = BytesMut::new();
    while let Some(part) = decoder.take()? {
        decoded.extend_from_slice(&part);
    }
    decoded.extend_from_slice(&decoder.finish()?);
    Ok(decoded.freeze())
}

/// A body that is decoded as it arrives.
pub struct DecodedBody {
    inner: InboundBody,
    decoder: Decoder,
}

impl DecodedBody {
    pub fn new(inner: InboundBody, coding: Coding, limit: usize) -> Self {
        Self { inner, decoder: Decoder::new(coding, limit) }
    }

    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, EgressError>>> {
        loop {
            // The inner body is only polled when all input is decoded. Its `Pending` has registered the waker; output
            // that is ready needs none.
            if let Some(outcome) = self.decoder.take().transpose() {
                return Poll::Ready(Some(outcome));
            }
            let frame = match Pin::new(&mut self.inner).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            };
            let Ok(data) = frame.into_data() else { continue };
            self.decoder.give(data);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const EVENTS: [&str; 3] = ["data: {\"a\":1}\n\n", "data: {\"b\":\"äöü\"}\n\n", "data: [DONE]\n\n"];

    fn headers(encoding: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(encoding))])
    }

    /// Compresses and flushes each event by itself, as a server does that compresses a stream.
    fn flushed(mut encoder: impl Write, taken: impl Fn() -> Vec<u8>) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        for event in EVENTS {
            encoder.write_all(event.as_bytes()).unwrap();
            encoder.flush().unwrap();
            pieces.push(taken());
        }
        drop(encoder);
        let last = taken();
        pieces.last_mut().unwrap().extend(last);
        pieces
    }

    fn pieces(encoding: &str) -> Vec<Vec<u8>> {
        let buffer = Buffer { decoded: Vec::new(), left: usize::MAX, too_large: false };
        let output = Output(Arc::new(Mutex::new(buffer)));
        let taken = || std::mem::take(&mut output.0.lock().decoded);
        let level = flate2::Compression::fast();
        match encoding {
            "deflate" => flushed(flate2::write::ZlibEncoder::new(output.clone(), level), taken),
            "raw deflate" => flushed(flate2::write::DeflateEncoder::new(output.clone(), level), taken),
            "zstd" => {
                let encoder = zstd::stream::write::Encoder::new(output.clone(), 1).unwrap().auto_finish();
                flushed(encoder, taken)
            }
            "br" => EVENTS.iter().enumerate().map(|(number, event)| stored_brotli(number, event)).collect(),
            _ => flushed(flate2::write::GzEncoder::new(output.clone(), level), taken),
        }
    }

    /// An uncompressed meta-block: after the header of the stream if it is the first, before its end if it is the last.
    fn stored_brotli(number: usize, event: &str) -> Vec<u8> {
        let length = (event.len() - 1) as u32;
        let header = if number == 0 { length << 4 | 1 << 20 } else { length << 3 | 1 << 19 };
        let mut piece = header.to_le_bytes()[..3].to_vec();
        piece.extend_from_slice(event.as_bytes());
        if number == EVENTS.len() - 1 {
            piece.push(3);
        }
        piece
    }

    /// Everything that can be decoded after these bytes.
    fn feed(decoder: &mut Decoder, bytes: &[u8]) -> Vec<u8> {
        decoder.give(Bytes::copy_from_slice(bytes));
        let mut decoded = Vec::new();
        while let Some(part) = decoder.take().unwrap() {
            decoded.extend_from_slice(&part);
        }
        decoded
    }

    #[test]
    fn every_event_is_decoded_as_soon_as_it_is_flushed() {
        for encoding in ["gzip", "x-gzip", "deflate", "raw deflate", "br", "zstd"] {
            let name = encoding.strip_prefix("raw ").unwrap_or(encoding);
            let coding = of(&headers(name)).unwrap();
            let pieces = pieces(encoding);
            let mut decoder = Decoder::new(coding, 1000);
            for (piece, event) in pieces.iter().zip(EVENTS) {
                assert_eq!(feed(&mut decoder, piece), event.as_bytes(), "{encoding}");
            }
            let mut decoder = Decoder::new(coding, 1000);
            let bytewise = pieces.concat().iter().flat_map(|byte| feed(&mut decoder, &[*byte])).collect();
            assert_eq!(String::from_utf8(bytewise).unwrap(), EVENTS.concat(), "{encoding}");
            let whole = decode(&headers(name), pieces.concat().into(), 1000).unwrap();
            assert_eq!(whole, EVENTS.concat(), "{encoding}");
        }
    }

    fn gzip(text: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap().into()
    }

    #[test]
    fn a_body_is_decoded_in_bounded_steps() {
        let packed = gzip(&vec![b'x'; 16 << 20]);
        let mut decoder = Decoder::new(Coding::Gzip, 16 << 20);
        let (mut total, mut largest) = (0, 0);
        for chunk in packed.chunks(5000) {
            decoder.give(Bytes::copy_from_slice(chunk));
            while let Some(part) = decoder.take().unwrap() {
                total += part.len();
                largest = largest.max(part.len());
            }
        }
        total += decoder.finish().unwrap().len();
        assert_eq!(total, 16 << 20);
        assert!(largest < 4 << 20, "{largest}");
    }

    #[test]
    fn bodies_that_are_cut_off_are_refused() {
        for encoding in ["gzip", "br"] {
            let mut whole = pieces(encoding).concat();
            whole.truncate(whole.len() - 1);
            let error = decode(&headers(encoding), whole.into(), 1000).unwrap_err();
            assert!(error.reason().contains("broken"), "{encoding}");
        }
    }

    #[test]
    fn bombs_and_broken_bodies_are_refused() {
        let bomb = gzip(&[b' '; 1 << 20]);
        let reason =
            |encoding, body, limit| decode(&headers(encoding), body, limit).unwrap_err().reason().to_owned();
        assert!(reason("gzip", bomb.clone(), 1000).contains("too large"));
        assert_eq!(decode(&headers("gzip"), bomb, 1 << 20).unwrap().len(), 1 << 20);
        assert!(reason("gzip", Bytes::from_static(b"this text is not gzip"), 100).contains("broken"));
        assert!(reason("zstd", Bytes::from_static(b"not zstd"), 100).contains("broken"));
        assert!(reason("compress", Bytes::from_static(b"{}"), 100).contains("not supported"));
        assert!(reason("gzip, br", Bytes::from_static(b"{}"), 100).contains("not supported"));
        for plain in ["identity", "", "IDENTITY"] {
            assert_eq!(decode(&headers(plain), Bytes::from_static(b"{}"), 1).unwrap(), "{}");
        }
    }
}
