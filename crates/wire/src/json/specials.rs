//! Finds the next special byte of a string: a quote, a backslash or a control character.

const WORD: usize = 8;
const BLOCK: usize = 64;

/// Number of bytes before the next special one.
///
/// Most strings end, or have an escape, within a few words. Longer runs are checked in blocks without a branch per
/// byte, which the compiler vectorises.
#[inline]
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < BLOCK
        && let Some(word) = bytes[at..].first_chunk::<WORD>()
    {
        match first_special(*word) {
            Some(found) => return at + found,
            None => at += WORD,
        }
    }
    at + long_plain_prefix(&bytes[at..])
}

fn long_plain_prefix(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let plain = |block: &&[u8; BLOCK]| !block.iter().fold(false, |hit, &byte| hit | is_special(byte));
    let start = BLOCK * blocks.iter().take_while(plain).count();
    let (words, rest) = bytes[start..].as_chunks::<WORD>();
    for (index, word) in words.iter().enumerate() {
        if let Some(found) = first_special(*word) {
            return start + index * WORD + found;
        }
    }
    let tail = rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len());
    start + words.len() * WORD + tail
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
    fn every_byte_is_judged_alike_at_every_place() {
        for byte in 0..=u8::MAX {
            for filler in [b'x', 0xff, b' '] {
                for at in 0..200 {
                    let mut bytes = [filler; 200];
                    bytes[at] = byte;
                    let expected = if is_special(byte) { at } else { bytes.len() };
                    assert_eq!(plain_prefix(&bytes), expected, "{byte} at {at}");
                }
            }
        }
        assert_eq!(plain_prefix(b""), 0);
    }
}
