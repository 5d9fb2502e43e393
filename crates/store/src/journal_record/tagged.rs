//! The binary encoding: tagged fields, as in Protocol Buffers.
//!
//! A field is a tag and a value. The tag is one byte: the number of the field, and in the lowest bit the kind of the
//! value, which is a varint, or bytes behind their length as a varint. Bytes are text or further fields. Readers skip
//! fields with numbers that they do not know, so that records of later builds can be read.

use crate::varint;

/// The kind of a value, in the lowest bit of its tag: set if it consists of bytes behind their length.
const BYTES: u8 = 1;

/// Appends fields to a buffer.
pub(crate) struct FieldWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> FieldWriter<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    #[inline]
    pub fn number(&mut self, field: u8, number: u64) {
        self.head(field << 1, number);
    }

    /// A signed number, in zigzag encoding: small absolute values are short.
    #[inline]
    pub fn signed(&mut self, field: u8, number: i64) {
        self.number(field, varint::zigzag(number));
    }

    #[inline]
    pub fn text(&mut self, field: u8, text: &str) {
        self.head(field << 1 | BYTES, text.len() as u64);
        self.out.extend_from_slice(text.as_bytes());
    }

    /// A field whose value is appended by `fill`; left out if it appends nothing.
    #[inline]
    pub fn nested(&mut self, field: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        self.filled::<1>(field, fill);
    }

    /// Like `nested`, for values that are usually longer than 127 bytes.
    #[inline]
    pub fn section(&mut self, field: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        self.filled::<2>(field, fill);
    }

    /// A field whose length is written after its value: `WIDTH` bytes are left for it.
    #[inline]
    fn filled<const WIDTH: usize>(&mut self, field: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out.push(field << 1 | BYTES);
        self.out.extend_from_slice(&[0; WIDTH]);
        fill(self.out);
        let place = start + 1;
        let length = self.out.len() - place - WIDTH;
        if length == 0 {
            self.out.truncate(start);
        } else if length >> (7 * WIDTH) == 0 {
            // A varint may be longer than necessary.
            for index in 0..WIDTH {
                let more = if index + 1 < WIDTH { 0x80 } else { 0 };
                self.out[place + index] = (length >> (7 * index)) as u8 & 0x7f | more;
            }
        } else {
            self.widen_length(place, WIDTH, length);
        }
    }

    #[inline(always)]
    fn head(&mut self, tag: u8, number: u64) {
        if number < 0x80 {
            self.out.extend_from_slice(&[tag, number as u8]);
        } else {
            self.long_head(tag, number);
        }
    }

    fn long_head(&mut self, tag: u8, number: u64) {
        // Most numbers have few bytes: copying a known number of them needs no loop.
        let group = |index: u32| (number >> (7 * index)) as u8 | 0x80;
        let last = |index: u32| (number >> (7 * index)) as u8;
        match number {
            0x80..0x4000 => return self.out.extend_from_slice(&[tag, group(0), last(1)]),
            0x4000..0x20_0000 => return self.out.extend_from_slice(&[tag, group(0), group(1), last(2)]),
            0x20_0000..0x1000_0000 => {
                return self.out.extend_from_slice(&[tag, group(0), group(1), group(2), last(3)]);
            }
            _ => {}
        }
        let (bytes, length) = varint::encode(number);
        self.out.push(tag);
        // Copying a constant length and cutting the rest off is cheaper than copying a variable length.
        let end = self.out.len() + length;
        self.out.extend_from_slice(&bytes);
        self.out.truncate(end);
    }

    /// Replaces the `room` bytes that were left for a length by the longer one, and moves the value behind it.
    #[cold]
    fn widen_length(&mut self, place: usize, room: usize, length: usize) {
        let (bytes, width) = varint::encode(length as u64);
        let value = place + room..self.out.len();
        self.out.extend_from_slice(&bytes[room..width]);
        self.out.copy_within(value, place + width);
        self.out[place..place + width].copy_from_slice(&bytes[..width]);
    }
}

/// Reads fields one after the other. Errors are reasons.
pub(crate) struct FieldReader<'a> {
    rest: &'a [u8],
}

/// A field that was read, and not decoded yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Field<'a> {
    pub number: u8,
    pub value: FieldValue<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FieldValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> FieldReader<'a> {
    pub fn new(fields: &'a [u8]) -> Self {
        Self { rest: fields }
    }

    #[inline(always)]
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, &'static str> {
        let Some((tag, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        let number = varint::read(&mut self.rest).ok_or("a number is cut off or has more than 64 bits")?;
        if tag & BYTES == 0 {
            return Ok(Some(Field { number: tag >> 1, value: FieldValue::Number(number) }));
        }
        let value = usize::try_from(number).ok().and_then(|length| self.rest.split_at_checked(length));
        let Some((bytes, rest)) = value else {
            return Err("a field is longer than its record");
        };
        self.rest = rest;
        Ok(Some(Field { number: tag >> 1, value: FieldValue::Bytes(bytes) }))
    }
}
