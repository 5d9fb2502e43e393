//! Finds the next special byte of a JSON string: a quote, a backslash or a control character.

use wide::u8x16;

const BLOCK: usize = 16;

/// A bit for each special byte of a block, the lowest for the first.
#[inline]
fn special_bits(block: [u8; BLOCK]) -> u32 {
    let bytes = u8x16::new(block);
    let quotes = bytes.simd_eq(u8x16::splat(b'"'));
    let backslashes = bytes.simd_eq(u8x16::splat(b'\\'));
    let controls = bytes.simd_lt(u8x16::splat(0x20));
    (quotes | backslashes | controls).to_bitmask()
}

/// Number of bytes before the next special one.
#[inline]
pub fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk() {
        match special_bits(*block) {
            0 => at += BLOCK,
            bits => return at + bits.trailing_zeros() as usize,
        }
    }
    if at == bytes.len() { at } else { plain_end(bytes) }
}

/// The same for bytes that are not special except for the rest after the last whole block.
#[inline]
fn plain_end(bytes: &[u8]) -> usize {
    // The last block overlaps bytes that are not special.
    match bytes.last_chunk().map(|last| special_bits(*last)) {
        Some(0) => bytes.len(),
        Some(bits) => bytes.len() - BLOCK + bits.trailing_zeros() as usize,
        None => bytes.iter().position(|&byte| is_special(byte)).unwrap_or(bytes.len()),
    }
}

#[inline]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_bytes_are_found_at_every_offset() {
        for byte in 0..=u8::MAX {
            for filler in [b'x', 0xff, b' '] {
                for at in 0..200 {
                    let mut bytes = [filler; 200];
                    bytes[at] = byte;
                    let expected = if is_special(byte) { at } else { bytes.len() };
                    assert_eq!(plain_prefix(&bytes), expected, "{byte} at {at}");
                    assert_eq!(plain_prefix(&bytes[..=at]), expected.min(at + 1), "{byte} at the end {at}");
                }
            }
        }
        assert_eq!(plain_prefix(b""), 0);
    }
}
