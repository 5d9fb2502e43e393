//! Decodes response bodies of HTTP/1.1: of known length, in chunks, or up to the end of the connection.

use bytes::{Buf as _, Bytes, BytesMut};

/// Maximum number of bytes of chunk extensions and trailers in one body; they are ignored.
const MAX_IGNORED: usize = 16 * 1024;

/// The body violates the chunked transfer coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyDecoder {
    /// The number of bytes that are still to come.
    Length(u64),
    Chunked(ChunkedDecoder),
    UntilClose,
    Ended,
}

impl BodyDecoder {
    pub(crate) fn with_length(length: u64) -> Self {
        if length == 0 { Self::Ended } else { Self::Length(length) }
    }

    pub(crate) fn chunked() -> Self {
        Self::Chunked(ChunkedDecoder { state: ChunkState::Size { size: 0, digits: 0 }, ignored: 0 })
    }

    pub(crate) fn is_ended(&self) -> bool {
        *self == Self::Ended
    }

    /// Takes all bytes of the body out of the buffer, without the framing between them.
    pub(crate) fn decode(&mut self, buffer: &mut BytesMut) -> Result<Bytes, Malformed> {
        match self {
            Self::Length(left) => {
                let count = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
                *left -= count as u64;
                if *left == 0 {
                    *self = Self::Ended;
                }
                Ok(buffer.split_to(count).freeze())
            }
            Self::Chunked(chunked) => {
                let data = chunked.decode(buffer)?;
                if chunked.state == ChunkState::Ended {
                    *self = Self::Ended;
                }
                Ok(data)
            }
            Self::UntilClose => Ok(buffer.split().freeze()),
            Self::Ended => Ok(Bytes::new()),
        }
    }

    /// Handles the end of the connection; false if the body is incomplete.
    pub(crate) fn end(&mut self) -> bool {
        if *self == Self::UntilClose {
            *self = Self::Ended;
        }
        self.is_ended()
    }
}

/// Decoder of the chunked transfer coding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChunkedDecoder {
    state: ChunkState,
    ignored: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    Size { size: u64, digits: u8 },
    Extension { size: u64 },
    SizeLf { size: u64 },
    Data { left: u64 },
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    Ended,
    Malformed,
}

/// The size at the start of a chunk and the length of its line, if the line is complete and has no extension, as nearly
/// always. Faster than byte by byte; the last chunk is left to `step`.
fn chunk_size(bytes: &[u8]) -> Option<(u64, usize)> {
    const MAX_DIGITS: usize = 8;
    let mut size = 0;
    for (index, byte) in bytes.iter().enumerate().take(MAX_DIGITS + 1) {
        match char::from(*byte).to_digit(16) {
            Some(digit) if index < MAX_DIGITS => size = size << 4 | u64::from(digit),
            None if size > 0 && bytes[index..].starts_with(b"\r\n") => return Some((size, index + 2)),
            Some(_) | None => return None,
        }
    }
    None
}

impl ChunkedDecoder {
    /// Decodes all chunks in the buffer. Their data is moved together in place, so that it is one slice; a single chunk
    /// is not moved.
    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Bytes, Malformed> {
        let bytes: &mut [u8] = buffer;
        // The decoded data is `bytes[start..end]`; `at` is the position of the next byte to decode.
        let (mut start, mut end, mut at) = (0, 0, 0);
        while at < bytes.len() && !matches!(self.state, ChunkState::Ended | ChunkState::Malformed) {
            let ChunkState::Data { left } = self.state else {
                at += self.read_framing(&bytes[at..]);
                continue;
            };
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
            if start == end {
                (start, end) = (at, at);
            } else {
                bytes.copy_within(at..at + count, end);
            }
            end += count;
            at += count;
            let left = left - count as u64;
            self.state = if left == 0 { ChunkState::DataCr } else { ChunkState::Data { left } };
        }
        if start == end {
            buffer.advance(at);
            return if self.state == ChunkState::Malformed { Err(Malformed) } else { Ok(Bytes::new()) };
        }
        buffer.advance(start);
        let data = buffer.split_to(end - start).freeze();
        buffer.advance(at - end);
        Ok(data)
    }

    /// Reads some of the framing at the start of `bytes`, which are not empty; returns its length.
    fn read_framing(&mut self, bytes: &[u8]) -> usize {
        let before_size = match self.state {
            ChunkState::DataCr if bytes.starts_with(b"\r\n") => Some(2),
            ChunkState::Size { digits: 0, .. } => Some(0),
            _ => None,
        };
        if let Some(skipped) = before_size {
            if let Some((size, length)) = chunk_size(&bytes[skipped..]) {
                self.state = ChunkState::Data { left: size };
                return skipped + length;
            }
            if skipped > 0 {
                self.state = ChunkState::Size { size: 0, digits: 0 };
                return skipped;
            }
        }
        // Data before the fault is returned first; the next call reports it.
        self.state = self.step(bytes[0]).unwrap_or(ChunkState::Malformed);
        1
    }

    /// The state after one byte of framing.
    fn step(&mut self, byte: u8) -> Result<ChunkState, Malformed> {
        Ok(match (self.state, byte) {
            (ChunkState::Size { size, digits }, _) if byte.is_ascii_hexdigit() && digits < 16 => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                ChunkState::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }
            }
            (ChunkState::Size { digits: 0, .. }, _) => return Err(Malformed),
            (ChunkState::Size { size, .. } | ChunkState::Extension { size }, b'\r') => {
                ChunkState::SizeLf { size }
            }
            (ChunkState::Size { size, .. }, b';' | b' ' | b'\t') => ChunkState::Extension { size },
            (ChunkState::Extension { size }, _) if byte != b'\n' => {
                self.ignore()?;
                ChunkState::Extension { size }
            }
            (ChunkState::SizeLf { size: 0 }, b'\n') => ChunkState::TrailerStart,
            (ChunkState::SizeLf { size }, b'\n') => ChunkState::Data { left: size },
            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => ChunkState::Size { size: 0, digits: 0 },
            (ChunkState::TrailerStart, b'\r') => ChunkState::EndLf,
            (ChunkState::Trailer, b'\r') => ChunkState::TrailerLf,
            (ChunkState::TrailerStart | ChunkState::Trailer, _) if byte != b'\n' => {
                self.ignore()?;
                ChunkState::Trailer
            }
            (ChunkState::TrailerLf, b'\n') => ChunkState::TrailerStart,
            (ChunkState::EndLf, b'\n') => ChunkState::Ended,
            _ => return Err(Malformed),
        })
    }

    fn ignore(&mut self) -> Result<(), Malformed> {
        self.ignored += 1;
        if self.ignored > MAX_IGNORED { Err(Malformed) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
