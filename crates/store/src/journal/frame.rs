//! Frames of records in a segment: length, checksum, kind, JSON. Incomplete and damaged frames are detected.

use std::io;

/// u32 length of the payload, u32 CRC of everything else, u8 kind.
pub(super) const HEAD: usize = 9;
/// Far above the size of any receipt: a greater length indicates damage.
pub(super) const MOST: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    Opening = 1,
    Receipt = 2,
    /// An opening repeated in a later segment, so that the earlier one can be removed while the call is still open.
    Carried = 3,
}

impl RecordKind {
    fn of(byte: u8) -> Option<Self> {
        [Self::Opening, Self::Receipt, Self::Carried].into_iter().find(|kind| *kind as u8 == byte)
    }
}

#[derive(Debug, PartialEq)]
pub(super) enum Parsed<'a> {
    Frame {
        /// `None` for a kind written by a newer build.
        kind: Option<RecordKind>,
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
    kind: RecordKind,
    fill: impl FnOnce(&mut Vec<u8>),
) -> io::Result<()> {
    buffer.clear();
    buffer.extend_from_slice(&[0; HEAD - 1]);
    buffer.push(kind as u8);
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
    if checksum(&head[..4], kind, payload) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Parsed::Damaged;
    }
    Parsed::Frame { kind: RecordKind::of(kind), payload, size: HEAD + length }
}

/// Finds the start of the next valid frame of a known kind, after damage.
pub(super) fn find(bytes: &[u8]) -> Option<usize> {
    (0..bytes.len().saturating_sub(HEAD)).find(|start| {
        let candidate = &bytes[*start..];
        // Cheap checks first: computing a checksum at every position would be quadratic.
        candidate[HEAD] == b'{'
            && RecordKind::of(candidate[HEAD - 1]).is_some()
            && matches!(parse(candidate), Parsed::Frame { kind: Some(_), .. })
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
    let (head, payload) = buffer.split_at_mut(HEAD);
    head[..4].copy_from_slice(&(length as u32).to_le_bytes());
    let sum = checksum(&head[..4], head[8], payload);
    head[4..8].copy_from_slice(&sum.to_le_bytes());
    Ok(())
}

fn checksum(length: &[u8], kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(length);
    hasher.update(&[kind]);
    hasher.update(payload);
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
            encode(&mut buffer, RecordKind::Receipt, |buffer| buffer.extend_from_slice(text.as_bytes())).unwrap();
            prop_assert_eq!(
                parse(&buffer),
                Parsed::Frame { kind: Some(RecordKind::Receipt), payload: text.as_bytes(), size: buffer.len() }
            );
            let place = byte % buffer.len();
            buffer[place] ^= 1 << bit;
            let seen = !matches!(parse(&buffer), Parsed::Frame { .. });
            prop_assert!(seen);
        }

        #[test]
        fn a_cut_frame_is_short(text in "\\PC{1,80}", cut in 0usize..1000) {
            let mut buffer = Vec::new();
            encode(&mut buffer, RecordKind::Opening, |buffer| buffer.extend_from_slice(text.as_bytes())).unwrap();
            let cut = cut % buffer.len();
            prop_assert!(matches!(parse(&buffer[..cut]), Parsed::Short(_)));
        }

        #[test]
        fn noise_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes);
            find(&bytes);
        }
    }
}
