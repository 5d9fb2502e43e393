//! A reader of Protocol Buffers messages, as far as ONNX files need one.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Varint(u64),
    Fixed32([u8; 4]),
    Fixed64([u8; 8]),
    /// A text, a message or a packed list.
    Bytes(&'a [u8]),
}

/// The fields of a message, with their numbers. Ends early, with `is_damaged` set, if the message is not valid.
pub struct Fields<'a> {
    rest: &'a [u8],
    pub is_damaged: bool,
}

impl<'a> Fields<'a> {
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message, is_damaged: false }
    }

    fn read(&mut self) -> Option<(u64, Value<'a>)> {
        let key = varint(&mut self.rest)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut self.rest)?),
            1 => Value::Fixed64(self.fixed()?),
            2 => {
                let length = usize::try_from(varint(&mut self.rest)?).ok()?;
                let (bytes, rest) = self.rest.split_at_checked(length)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(self.fixed()?),
            _ => return None,
        };
        Some((key >> 3, value))
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*bytes)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.is_damaged {
            return None;
        }
        let field = self.read();
        self.is_damaged = field.is_none();
        field
    }
}

/// Reads a varint; `None` if it is not complete or longer than 64 bits.
pub fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fields_of_all_types() {
        let message =
            [0x08, 0x96, 0x01, 0x12, 0x02, b'o', b'k', 0x1D, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8];
        let mut fields = Fields::new(&message);
        assert_eq!(fields.next(), Some((1, Value::Varint(150))));
        assert_eq!(fields.next(), Some((2, Value::Bytes(b"ok"))));
        assert_eq!(fields.next(), Some((3, Value::Fixed32([1, 2, 3, 4]))));
        assert_eq!(fields.next(), Some((4, Value::Fixed64([1, 2, 3, 4, 5, 6, 7, 8]))));
        assert_eq!(fields.next(), None);
        assert!(!fields.is_damaged);
    }

    #[test]
    fn ends_at_damage() {
        for message in [&[0x08][..], &[0x12, 0x05, 1], &[0x0B], &[0x1D, 1], &[0xFF; 11]] {
            let mut fields = Fields::new(message);
            assert_eq!(fields.next(), None, "{message:?}");
            assert!(fields.is_damaged, "{message:?}");
        }
    }
}
