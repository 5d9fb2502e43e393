//! Frames of records in a segment: length, checksum, type, payload. Incomplete and damaged frames are detected.

use std::io;

use crate::journal_record::Encoding;

/// u32 length of the payload, u32 CRC of everything else, u8 type.
pub(super) const HEAD: usize = 9;
/// Far above the size of any receipt: a greater length indicates damage.
pub(super) const MOST: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    Opening,
    Receipt,
    /// An opening repeated in a later segment, so that the earlier one can be removed while the call is still open.
    Carried,
}

/// The kind and the encoding of a record: one byte in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordType {
    pub kind: RecordKind,
    pub encoding: Encoding,
}

impl RecordType {
    /// The type of the records that this build writes.
    pub fn new(kind: RecordKind) -> Self {
        Self { kind, encoding: Encoding::Binary }
    }

    fn of(byte: u8) -> Option<Self> {
        let (kind, encoding) = match byte {
            1 => (RecordKind::Opening, Encoding::Json),
            2 => (RecordKind::Receipt, Encoding::Json),
            3 => (RecordKind::Carried, Encoding::Json),
            4 => (RecordKind::Opening, Encoding::Binary),
            5 => (RecordKind::Receipt, Encoding::Binary),
            6 => (RecordKind::Carried, Encoding::Binary),
            _ => return None,
        };
        Some(Self { kind, encoding })
    }

    fn byte(self) -> u8 {
        let first = match self.encoding {
            Encoding::Json => 1,
            Encoding::Binary => 4,
        };
        first + self.kind as u8
    }
}

#[derive(Debug, PartialEq)]
pub(super) enum Parsed<'a> {
    Frame {
        /// `None` for a type written by a newer build.
        kind: Option<RecordType>,
        payload: &'a [u8],
        size: usize,
    },
    /// Incomplete; the whole frame would take this many bytes.
    Short(usize),
    Damaged,
}

/// Encodes a frame into `buffer`, which is cleared first; `fill` appends the payload.
pub(super) fn encode(
    buffer: &mut Vec<u8>,
    kind: RecordType,
    fill: impl FnOnce(&mut Vec<u8>),
) -> io::Result<()> {
    buffer.clear();
    buffer.extend_from_slice(&[0; HEAD - 1]);
    buffer.push(kind.byte());
    fill(buffer);
    finish(buffer)
}

pub(super) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else { return Parsed::Short(HEAD) };
    let [l0, l1, l2, l3, c0, c1, c2, c3, kind] = *head;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length == 0 || length > MOST {
        return Parsed::Damaged;
    }
    let Some(payload) = rest.get(..length) else { return Parsed::Short(HEAD + length) };
    if checksum(bytes, length) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Parsed::Damaged;
    }
    Parsed::Frame { kind: RecordType::of(kind), payload, size: HEAD + length }
}

/// Finds the start of the next valid frame of this encoding, after damage.
pub(super) fn find(bytes: &[u8], encoding: Encoding) -> Option<usize> {
    (0..bytes.len().saturating_sub(HEAD)).find(|start| {
        let candidate = &bytes[*start..];
        // Cheap checks first: computing a checksum at every position would be quadratic.
        RecordType::of(candidate[HEAD - 1])
            .is_some_and(|found| found.encoding == encoding && candidate[HEAD] == encoding.first_byte())
            && matches!(parse(candidate), Parsed::Frame { .. })
    })
}

fn finish(buffer: &mut [u8]) -> io::Result<()> {
    let length = buffer.len() - HEAD;
    if length == 0 || length > MOST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("a journal record of {length} bytes"),
        ));
    }
    buffer[..4].copy_from_slice(&(length as u32).to_le_bytes());
    let sum = checksum(buffer, length);
    buffer[4..8].copy_from_slice(&sum.to_le_bytes());
    Ok(())
}

/// The checksum of a whole frame with a payload of this length.
fn checksum(frame: &[u8], length: usize) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[..4]);
    hasher.update(&frame[8..HEAD + length]);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_frame_comes_back_and_no_flipped_bit_goes_unseen(text in "\\PC{1,80}", byte in 0usize..1000, bit in 0u8..8) {
            let mut buffer = Vec::new();
            encode(&mut buffer, RecordType::new(RecordKind::Receipt), |buffer| buffer.extend_from_slice(text.as_bytes())).unwrap();
            prop_assert_eq!(
                parse(&buffer),
                Parsed::Frame {
                    kind: Some(RecordType::new(RecordKind::Receipt)),
                    payload: text.as_bytes(),
                    size: buffer.len(),
                }
            );
            let place = byte % buffer.len();
            buffer[place] ^= 1 << bit;
            let seen = !matches!(parse(&buffer), Parsed::Frame { .. });
            prop_assert!(seen);
        }

        #[test]
        fn a_cut_frame_is_short(text in "\\PC{1,80}", cut in 0usize..1000) {
            let mut buffer = Vec::new();
            encode(&mut buffer, RecordType::new(RecordKind::Opening), |buffer| buffer.extend_from_slice(text.as_bytes())).unwrap();
            let cut = cut % buffer.len();
            prop_assert!(matches!(parse(&buffer[..cut]), Parsed::Short(_)));
        }

        #[test]
        fn noise_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes);
            find(&bytes, Encoding::Binary);
            find(&bytes, Encoding::Json);
        }
    }
}
