//! Compressed answers, which were not asked for: decoded as they pass, so that they can be metered and masked.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, header};

/// So much is decoded at a time: a kilobyte becomes at most about a megabyte.
const STEP: usize = 1024;

/// The most that one answer may decode to.
const LIMIT: usize = 64 * 1024 * 1024;

/// How an answer is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Identity,
    Gzip,
    Deflate,
    /// One that cannot be decoded here.
    Unknown,
}

impl Encoding {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let first = values.next().map(|value| value.as_bytes().trim_ascii().to_ascii_lowercase());
        match first.as_deref() {
            _ if values.next().is_some() => Self::Unknown,
            None | Some(b"" | b"identity") => Self::Identity,
            Some(b"gzip" | b"x-gzip") => Self::Gzip,
            Some(b"deflate") => Self::Deflate,
            Some(_) => Self::Unknown,
        }
    }
}

/// Decodes a body in small steps, so that no answer is unpacked faster than the client takes it.
pub(super) struct BodyDecoder {
    codec: Codec,
    input: Bytes,
    /// Bytes that may still come out.
    left: usize,
}

enum Codec {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

impl BodyDecoder {
    pub(super) fn new(encoding: Encoding) -> Option<Self> {
        let codec = match encoding {
            Encoding::Gzip => Codec::Gzip(MultiGzDecoder::new(Vec::new())),
            Encoding::Deflate => Codec::Deflate(ZlibDecoder::new(Vec::new())),
            Encoding::Identity | Encoding::Unknown => return None,
        };
        Some(Self { codec, input: Bytes::new(), left: LIMIT })
    }

    /// Everything that was given before must have been taken.
    pub(super) fn give(&mut self, chunk: Bytes) {
        self.input = chunk;
    }

    /// The next decoded part; none when more input is needed.
    pub(super) fn take(&mut self) -> io::Result<Option<Bytes>> {
        while !self.input.is_empty() {
            let step = self.input.split_to(self.input.len().min(STEP));
            let output = match &mut self.codec {
                Codec::Gzip(codec) => {
                    codec.write_all(&step)?;
                    codec.get_mut()
                }
                Codec::Deflate(codec) => {
                    codec.write_all(&step)?;
                    codec.get_mut()
                }
            };
            if !output.is_empty() {
                let decoded = std::mem::take(output);
                self.left = self.left.checked_sub(decoded.len()).ok_or(io::ErrorKind::FileTooLarge)?;
                return Ok(Some(decoded.into()));
            }
        }
        Ok(None)
    }

    /// The body has ended: what is still to come out, unless it was cut off.
    pub(super) fn finish(&mut self) -> io::Result<Bytes> {
        let output = match &mut self.codec {
            Codec::Gzip(codec) => {
                codec.try_finish()?;
                codec.get_mut()
            }
            Codec::Deflate(codec) => {
                codec.try_finish()?;
                codec.get_mut()
            }
        };
        Ok(std::mem::take(output).into())
    }
}

/// A whole body, decoded, unless it is damaged or longer than `limit`.
pub(super) fn whole(encoding: Encoding, body: Bytes, limit: usize) -> Option<Bytes> {
    let Some(mut decoder) = BodyDecoder::new(encoding) else {
        return (encoding == Encoding::Identity).then_some(body);
    };
    decoder.give(body);
    let mut decoded = Vec::new();
    while let Some(part) = decoder.take().ok()? {
        decoded.extend_from_slice(&part);
        if decoded.len() > limit {
            return None;
        }
    }
    decoded.extend_from_slice(&decoder.finish().ok()?);
    Some(decoded.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(text: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap().into()
    }

    #[test]
    fn a_body_is_decoded_in_bounded_steps() {
        let packed = gzip(&vec![b'x'; 16 << 20]);
        let mut decoder = BodyDecoder::new(Encoding::Gzip).unwrap();
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
    fn damaged_and_oversized_bodies_are_refused() {
        let packed = gzip(b"{\"error\":{}}");
        assert_eq!(whole(Encoding::Gzip, packed.clone(), 100).unwrap(), "{\"error\":{}}");
        assert_eq!(whole(Encoding::Gzip, packed.slice(..packed.len() - 9), 100), None);
        assert_eq!(whole(Encoding::Gzip, gzip(&[b' '; 1 << 16]), 100), None);
        assert_eq!(whole(Encoding::Gzip, Bytes::from_static(b"plain"), 100), None);
        assert_eq!(whole(Encoding::Identity, Bytes::from_static(b"plain"), 100).unwrap(), "plain");
        assert_eq!(whole(Encoding::Unknown, Bytes::from_static(b"plain"), 100), None);
    }
}
