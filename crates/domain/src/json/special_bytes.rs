//! Finds the next special byte of a JSON string: a quote, a backslash or a control character.

use wide::u8x16;

/// Number of bytes that are compared at once.
pub const BLOCK: usize = 16;

/// Number of blocks that are searched one by one. In a longer run, four are searched at once.
const NEAR: usize = 4;

/// Zero for each special byte of a block.
#[inline(always)]
fn distances(block: [u8; BLOCK]) -> u8x16 {
    let bytes = u8x16::new(block);
    // Flipping this bit places the quote right after the control characters.
    let to_quote_or_control = (bytes ^ u8x16::splat(2)).saturating_sub(u8x16::splat(0x20));
    let to_backslash = bytes ^ u8x16::splat(b'\\');
    to_quote_or_control.min(to_backslash)
}

/// A bit for each zero, the lowest for the first.
#[inline(always)]
fn zero_bits(distances: u8x16) -> u32 {
    distances.simd_eq(u8x16::ZERO).to_bitmask()
}

/// A bit for each special byte of a block, the lowest for the first.
#[inline(always)]
pub fn special_bits(block: [u8; BLOCK]) -> u32 {
    zero_bits(distances(block))
}

/// Number of bytes before the next special one.
#[inline]
pub fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    // In text with escapes, most runs end in the first blocks.
    while at < NEAR * BLOCK
        && let Some(block) = bytes[at..].first_chunk()
    {
        match special_bits(*block) {
            0 => at += BLOCK,
            bits => return at + bits.trailing_zeros() as usize,
        }
    }
    if at == bytes.len() {
        at
    } else if at < NEAR * BLOCK {
        next_in_tail(bytes, at)
    } else {
        next_after_block(bytes, at)
    }
}

/// Position of the first special byte at or after `from`, which is at most the length; the length if there is none.
#[inline(always)]
pub fn next_special(bytes: &[u8], from: usize) -> usize {
    let Some(block) = bytes.get(from..).and_then(<[u8]>::first_chunk) else {
        return next_in_tail(bytes, from);
    };
    match special_bits(*block) {
        0 => next_after_block(bytes, from + BLOCK),
        bits => from + bits.trailing_zeros() as usize,
    }
}

/// The same after a block without special bytes.
fn next_after_block(bytes: &[u8], from: usize) -> usize {
    if bytes.len() - from < BLOCK {
        return next_in_tail(bytes, from);
    }
    let (blocks, _) = bytes[from..].as_chunks();
    let (near, far) = blocks.split_at(blocks.len().min(NEAR - 1));
    if let Some(found) = next_in_blocks(near) {
        return from + found;
    }
    let is_plain = |group: &&[[u8; BLOCK]; 4]| {
        let [first, second, third, fourth] = group.map(distances);
        zero_bits(first.min(second).min(third.min(fourth))) == 0
    };
    let plain = 4 * far.as_chunks().0.iter().take_while(is_plain).count();
    let at = from + (near.len() + plain) * BLOCK;
    match next_in_blocks(&far[plain..]) {
        Some(found) => at + found,
        None => next_in_tail(bytes, from + blocks.len() * BLOCK),
    }
}

#[inline(always)]
fn next_in_blocks(blocks: &[[u8; BLOCK]]) -> Option<usize> {
    for (index, block) in blocks.iter().enumerate() {
        let bits = special_bits(*block);
        if bits != 0 {
            return Some(index * BLOCK + bits.trailing_zeros() as usize);
        }
    }
    None
}

/// The same if fewer bytes than a block are left at `from`.
fn next_in_tail(bytes: &[u8], from: usize) -> usize {
    let tail = bytes.len() - from;
    if tail == 0 {
        return from;
    }
    // The last block begins before `from`.
    match bytes.last_chunk().map(|last| special_bits(*last) >> (BLOCK - tail)) {
        Some(0) => bytes.len(),
        Some(bits) => from + bits.trailing_zeros() as usize,
        None => from + next_in_short(&bytes[from..]),
    }
}

/// The same for a text that is shorter than a block.
fn next_in_short(bytes: &[u8]) -> usize {
    if let Some(found) = next_in_halves::<8>(bytes).or_else(|| next_in_halves::<4>(bytes)) {
        return found;
    }
    bytes.iter().position(|&byte| is_special(byte)).unwrap_or(bytes.len())
}

/// The same for a text of `HALF` to twice as many bytes, whose first and last `HALF` bytes are compared as one block.
#[inline]
fn next_in_halves<const HALF: usize>(bytes: &[u8]) -> Option<usize> {
    let mut block = [b' '; BLOCK];
    block[..HALF].copy_from_slice(bytes.first_chunk::<HALF>()?);
    block[HALF..2 * HALF].copy_from_slice(bytes.last_chunk::<HALF>()?);
    let at = special_bits(block).trailing_zeros() as usize;
    Some(match at {
        _ if at < HALF => at,
        // A position in the second half counts from the end.
        _ if at < 2 * HALF => bytes.len() + at - 2 * HALF,
        _ => bytes.len(),
    })
}

#[inline]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn the_first_of_two_special_bytes_is_found_in_short_text() {
        for length in 2..40 {
            for second in 1..length {
                for first in 0..second {
                    let mut bytes = vec![b'x'; length];
                    (bytes[first], bytes[second]) = (b'\\', b'"');
                    assert_eq!(plain_prefix(&bytes), first, "{length}");
                    assert_eq!(next_special(&bytes, first + 1), second, "{length}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn search_begins_at_any_offset(
            bytes in prop::collection::vec(prop_oneof![
                200 => prop::sample::select(b"ax \x7f\x80\xff".to_vec()), 1 => any::<u8>(),
            ], 0..300),
        ) {
            for from in 0..=bytes.len() {
                let special = bytes[from..].iter().position(|&byte| is_special(byte));
                let expected = special.map_or(bytes.len(), |at| from + at);
                prop_assert_eq!(next_special(&bytes, from), expected, "from {}", from);
            }
        }
    }
}
