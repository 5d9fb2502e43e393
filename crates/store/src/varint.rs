//! Numbers in groups of 7 bits (LEB128), and the zigzag form of signed ones, in which small absolute values are short.

/// The greatest length of a number: 64 bits, 7 in each byte.
pub(crate) const MAX_LENGTH: usize = 10;

/// Encodes a number: the lowest group first; all bytes but the last one have the highest bit set.
#[inline]
pub(crate) fn encode(number: u64) -> ([u8; MAX_LENGTH], usize) {
    let (mut bytes, mut rest, mut last) = ([0; MAX_LENGTH], number, 0);
    while rest >= 0x80 {
        bytes[last] = rest as u8 | 0x80;
        rest >>= 7;
        last += 1;
    }
    bytes[last] = rest as u8;
    (bytes, last + 1)
}

#[inline]
pub(crate) fn push(out: &mut Vec<u8>, number: u64) {
    if number < 0x80 {
        out.push(number as u8);
    } else {
        push_long(out, number);
    }
}

fn push_long(out: &mut Vec<u8>, number: u64) {
    let (bytes, length) = encode(number);
    // Copying a constant length and cutting the rest off is cheaper than copying a variable length.
    let end = out.len() + length;
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

/// Reads a number and moves behind it; `None` if it is cut off or has more than 64 bits.
#[inline]
pub(crate) fn read(bytes: &mut &[u8]) -> Option<u64> {
    match *bytes {
        [byte @ ..0x80, rest @ ..] => {
            *bytes = rest;
            Some(u64::from(*byte))
        }
        _ => read_long(bytes),
    }
}

fn read_long(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    for (index, byte) in bytes.iter().enumerate() {
        // The tenth byte has the last bit.
        if shift == 63 && *byte > 1 {
            break;
        }
        number |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            *bytes = &bytes[index + 1..];
            return Some(number);
        }
        shift += 7;
    }
    None
}

#[inline]
pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

#[inline]
pub(crate) fn from_zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_round_trip(number: u64, signed: i64, shift in 0u32..64) {
            for number in [number, number >> shift] {
                let mut bytes = Vec::new();
                push(&mut bytes, number);
                bytes.push(7);
                let mut rest = &bytes[..];
                prop_assert_eq!((read(&mut rest), rest), (Some(number), &[7][..]));
                let mut cut = &bytes[..bytes.len() - 2];
                prop_assert_eq!(read(&mut cut), None);
            }
            prop_assert_eq!(from_zigzag(zigzag(signed)), signed);
        }
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        assert_eq!(read(&mut &[[0xff; 9].as_slice(), &[1]].concat()[..]), Some(u64::MAX));
        assert_eq!(read(&mut &[[0xff; 9].as_slice(), &[2]].concat()[..]), None);
        assert_eq!(read(&mut &[0x80; 11][..]), None);
    }
}
