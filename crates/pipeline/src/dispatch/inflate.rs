//! Answers that came compressed although identity was asked for: unpacked, but never beyond the limit.

use std::io::Read as _;

use bytes::Bytes;
use http::{HeaderMap, header};

/// The body as it was meant, or why it cannot be read.
pub fn inflate(headers: &HeaderMap, body: Bytes, limit: usize) -> Result<Bytes, &'static str> {
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
    let packed = match encoding.as_deref() {
        None | Some(b"" | b"identity") => return Ok(body),
        Some(b"gzip" | b"x-gzip") => unpack(flate2::read::MultiGzDecoder::new(&body[..]), limit),
        Some(b"deflate") => unpack(flate2::read::ZlibDecoder::new(&body[..]), limit),
        Some(_) => return Err("it is compressed in a way that was not asked for"),
    };
    packed.map(Bytes::from)
}

fn unpack(decoder: impl std::io::Read, limit: usize) -> Result<Vec<u8>, &'static str> {
    let mut whole = Vec::new();
    decoder.take(limit as u64 + 1).read_to_end(&mut whole).map_err(|_| "its compression is broken")?;
    if whole.len() > limit { Err("it is too large once unpacked") } else { Ok(whole) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use http::HeaderValue;

    use super::*;

    fn headers(encoding: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(encoding))])
    }

    fn gzip(text: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap().into()
    }

    #[test]
    fn compressed_answers_are_read_and_bombs_are_not() {
        assert_eq!(inflate(&headers("gzip"), gzip(b"{}"), 100).unwrap(), "{}");
        assert_eq!(inflate(&HeaderMap::new(), Bytes::from_static(b"{}"), 100).unwrap(), "{}");
        assert!(inflate(&headers("gzip"), gzip(&[b' '; 1 << 20]), 1000).is_err());
        assert!(inflate(&headers("gzip"), Bytes::from_static(b"no gzip"), 100).is_err());
        assert!(inflate(&headers("br"), Bytes::from_static(b"{}"), 100).is_err());
    }
}
