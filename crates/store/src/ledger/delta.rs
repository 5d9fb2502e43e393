//! Deltas: the sums of a batch in one compact value, which waits in `rollup_deltas` until compaction adds it to the
//! rollup tables.
//!
//! Layout of version 1, where numbers are LEB128 varints and signed ones are zigzag-encoded: the version, the number of
//! texts and each text with its length, the number of entries, and the entries. An entry is the difference of its bucket
//! number to that of the entry before, the index of the text of each axis (0 is the empty text), and the number of its
//! non-zero sums with the distance of each column to the one before and its value. A key may occur more than once.
//!
//! The order of `AXES` and of the columns of `Sums` is part of the layout: a build that changes either writes another
//! version and keeps reading this one, because deltas of the build before may still wait.

use std::sync::Arc;

use foldhash::HashMap;

use super::booking::{Booking, Label};
use super::rollup::{self, AXES, Key, QUARTER_HOUR, Sums};
use crate::StoreError;
use crate::database::{Row, Snapshot};

const VERSION: u8 = 1;

/// An encoded delta and the columns that describe it.
#[derive(Debug, PartialEq)]
pub(crate) struct Delta {
    /// The first bucket.
    pub oldest: i64,
    /// The last bucket.
    pub newest: i64,
    pub entries: i64,
    pub bytes: Vec<u8>,
}

impl Delta {
    /// The sums of bookings; `None` if there are none.
    pub fn of(bookings: &[&Booking]) -> Option<Self> {
        // Labels are shared within a batch, so most equal ones are found by comparing pointers.
        let mut places: HashMap<(i64, *const Label), usize> = HashMap::default();
        let mut parts: Vec<(Key<'_>, Sums)> = Vec::new();
        for booking in bookings {
            let bucket = rollup::quarter(booking.at);
            let place = *places.entry((bucket, Arc::as_ptr(&booking.label))).or_insert_with(|| {
                parts.push(((bucket, rollup::texts(&booking.label)), Sums::default()));
                parts.len() - 1
            });
            parts[place].1.count(booking);
        }
        let mut encoder = Encoder::default();
        parts.iter().for_each(|(key, sums)| encoder.add(key, sums));
        encoder.finish()
    }

    /// The sums in as many deltas as necessary, each with at most `most` of them.
    pub fn chunks(sums: &[(Key<'_>, Sums)], most: usize) -> Vec<Self> {
        let encode = |chunk: &[(Key<'_>, Sums)]| {
            let mut encoder = Encoder::default();
            chunk.iter().for_each(|(key, sums)| encoder.add(key, sums));
            encoder.finish()
        };
        // Not across buckets: a delta can be compacted when its last bucket is over.
        let buckets = sums.chunk_by(|(one, _), (other, _)| one.0 == other.0);
        buckets.flat_map(|bucket| bucket.chunks(most)).filter_map(encode).collect()
    }
}

#[derive(Default)]
struct Encoder<'a> {
    /// The index of each text, counted from one.
    indexes: HashMap<&'a str, u64>,
    texts: Vec<u8>,
    range: Option<(i64, i64)>,
    entries: u64,
    body: Vec<u8>,
    /// The number of the bucket of the entry before.
    number: i64,
}

impl<'a> Encoder<'a> {
    fn add(&mut self, (bucket, texts): &Key<'a>, sums: &Sums) {
        let (oldest, newest) = self.range.unwrap_or((*bucket, *bucket));
        self.range = Some((oldest.min(*bucket), newest.max(*bucket)));
        self.entries += 1;
        let number = bucket.div_euclid(QUARTER_HOUR);
        write_signed(&mut self.body, number - self.number);
        self.number = number;
        for text in texts {
            let index = self.index(text);
            write(&mut self.body, index);
        }
        let counted = self.body.len();
        // One byte for the number of non-zero sums: there are fewer columns than a byte can count.
        self.body.push(0);
        let (mut count, mut last) = (0, 0);
        for (column, value) in sums.non_zero() {
            write(&mut self.body, (column - last) as u64);
            write_signed(&mut self.body, value);
            (count, last) = (count + 1, column);
        }
        self.body[counted] = count;
    }

    fn index(&mut self, text: &'a str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        let next = self.indexes.len() as u64 + 1;
        *self.indexes.entry(text).or_insert_with(|| {
            write(&mut self.texts, text.len() as u64);
            self.texts.extend_from_slice(text.as_bytes());
            next
        })
    }

    fn finish(self) -> Option<Delta> {
        let (oldest, newest) = self.range?;
        let mut bytes = Vec::with_capacity(self.texts.len() + self.body.len() + 16);
        bytes.push(VERSION);
        write(&mut bytes, self.indexes.len() as u64);
        bytes.extend_from_slice(&self.texts);
        write(&mut bytes, self.entries);
        bytes.extend_from_slice(&self.body);
        Some(Delta { oldest, newest, entries: self.entries as i64, bytes })
    }
}

/// Decodes the entries of a delta one by one.
pub(crate) struct Decoder<'a> {
    texts: Vec<&'a str>,
    rest: &'a [u8],
    left: u64,
    number: i64,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self, StoreError> {
        let (version, mut rest) = bytes.split_first().ok_or_else(|| corrupt("is empty"))?;
        if *version != VERSION {
            return Err(corrupt(&format!("has version {version}, this build knows {VERSION}")));
        }
        let count = read(&mut rest)?;
        let mut texts = vec![""];
        for _ in 0..count {
            let length = read(&mut rest)? as usize;
            let (text, behind) = rest.split_at_checked(length).ok_or_else(|| corrupt("ends in a text"))?;
            texts.push(std::str::from_utf8(text).map_err(|error| corrupt(&error.to_string()))?);
            rest = behind;
        }
        let left = read(&mut rest)?;
        Ok(Self { texts, rest, left, number: 0 })
    }

    /// The key of the next entry and its non-zero sums as (column, value); `None` after the last one.
    pub fn next(&mut self, sums: &mut Vec<(usize, i64)>) -> Result<Option<Key<'a>>, StoreError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let rest = &mut self.rest;
        self.number += read_signed(rest)?;
        let mut texts = [""; AXES.len()];
        for text in &mut texts {
            let index = read(rest)? as usize;
            *text = self.texts.get(index).ok_or_else(|| corrupt("names a text that it does not have"))?;
        }
        sums.clear();
        let mut column = 0;
        for _ in 0..read(rest)? {
            column += read(rest)? as usize;
            if column >= Sums::COLUMNS {
                return Err(corrupt("has too many columns"));
            }
            sums.push((column, read_signed(rest)?));
        }
        Ok(Some((self.number * QUARTER_HOUR, texts)))
    }
}

/// Adds up deltas. The result is sorted by key.
pub(crate) fn add_up<'a>(deltas: &'a [Vec<u8>]) -> Result<Vec<(Key<'a>, Sums)>, StoreError> {
    let mut table: HashMap<Key<'a>, Sums> = HashMap::default();
    let mut sums = Vec::new();
    for bytes in deltas {
        let mut decoder = Decoder::new(bytes)?;
        while let Some(key) = decoder.next(&mut sums)? {
            table.entry(key).or_default().add_columns(&sums);
        }
    }
    let mut sorted: Vec<_> = table.into_iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    Ok(sorted)
}

/// The waiting deltas that may have sums of buckets in a range, in seconds.
pub(super) async fn waiting(
    snapshot: &mut Snapshot,
    from: i64,
    until: i64,
) -> Result<Vec<Vec<u8>>, StoreError> {
    const WITHIN: &str = "SELECT sums FROM rollup_deltas WHERE newest >= $1 AND oldest < $2";
    let rows = snapshot.fetch(WITHIN, &[from.into(), until.into()]).await?;
    rows.iter().map(|row: &Row| row.get(0)).collect()
}

fn corrupt(reason: &str) -> StoreError {
    StoreError::Corrupt(format!("a delta of sums {reason}"))
}

fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn write_signed(bytes: &mut Vec<u8>, value: i64) {
    write(bytes, ((value << 1) ^ (value >> 63)) as u64);
}

fn read(rest: &mut &[u8]) -> Result<u64, StoreError> {
    let mut value = 0;
    for (index, byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            *rest = &rest[index + 1..];
            return Ok(value);
        }
    }
    Err(corrupt("ends in a number"))
}

fn read_signed(rest: &mut &[u8]) -> Result<i64, StoreError> {
    let value = read(rest)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests;
