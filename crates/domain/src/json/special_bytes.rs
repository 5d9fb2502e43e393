//! Finds the next special byte of a JSON string: a quote, a backslash or a control character.

const WORD: usize = 8;
const BLOCK: usize = 64;

/// Number of bytes before the next special one.
///
/// Most strings end, or have an escape, within a few words. Longer runs are checked in blocks without a branch per
/// byte, which the compiler vectorises.
#[inline]
pub fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk::<WORD>() {
        match first_special(*word) {
            Some(found) => return at + found,
            None if at == BLOCK => return BLOCK + long_plain_prefix(&bytes[BLOCK..]),
            None => at += WORD,
        }
    }
    if at == bytes.len() { at } else { plain_end(bytes) }
}

/// The same for a run that is known to be long.
fn long_plain_prefix(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let is_plain = |block: &&[u8; BLOCK]| !block.iter().fold(false, |hit, &byte| hit | is_special(byte));
    let mut at = BLOCK * blocks.iter().take_while(is_plain).count();
    while let Some(word) = bytes[at..].first_chunk::<WORD>() {
        match first_special(*word) {
            Some(found) => return at + found,
            None => at += WORD,
        }
    }
    plain_end(bytes)
}

/// The same for bytes that are not special except for the rest after the last whole word.
#[inline]
fn plain_end(bytes: &[u8]) -> usize {
    // The last word overlaps bytes that are not special.
    match bytes.last_chunk::<WORD>() {
        Some(last) => bytes.len() - WORD + first_special(*last).unwrap_or(WORD),
        None => bytes.iter().position(|&byte| is_special(byte)).unwrap_or(bytes.len()),
    }
}

#[inline]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Position of the first special byte in a word. Marks the high bit of each special byte; borrows only affect bytes
/// above the lowest hit, so the lowest one is always exact.
#[inline]
fn first_special(word: [u8; WORD]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let marks = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    let marks = marks & HIGHS;
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
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
