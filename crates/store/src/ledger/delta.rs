//! Deltas: the sums of a batch in one compact value, which waits in `rollup_deltas` until compaction adds it to the
//! rollup tables.
//!
//! Layout of version 1, where numbers are LEB128 varints and signed ones are zigzag-encoded: the version, the number of
//! texts and each text with its length, the number of key uses with the index of the key and the time of each, the number
//! of entries, and the entries. An entry is the difference of its bucket
//! number to that of the entry before, the index of the text of each axis (0 is the empty text), and the number of its
//! non-zero sums with the distance of each column to the one before and its value. A key may occur more than once.
//!
//! The order of `AXES` and of the columns of `Sums` is part of the layout, because deltas of the build before may still
//! wait. Columns are only appended: without them a delta is read as before, and the version stays. Any other change of
//! either needs another version, in a build that keeps reading this one. A build refuses deltas with columns that it
//! does not have; while processes of both builds run, one of the newer build has to compact them.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashMap;

use super::booking::Booking;
use super::rollup::{self, AXES, Key, QUARTER_HOUR, Sums};
use super::uses;
use crate::StoreError;
use crate::database::{Row, Snapshot, pause};
use crate::varint;

const VERSION: u8 = 1;
/// Maximum number of sums that room is reserved for.
const MAX_RESERVED: u64 = 100_000;

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
        // Labels are shared within a batch, so most equal ones are found by comparing pointers. Sorting is cheaper than a
        // table of sums, which are large and would be moved whenever it grows.
        let label = |booking: &Booking<'_>| Arc::as_ptr(&booking.label).addr();
        let key = |booking: &Booking<'_>| (rollup::quarter(booking.at), label(booking));
        let mut sorted: Vec<_> = bookings.iter().map(|booking| (key(booking), *booking)).collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        let mut encoder = Encoder::default();
        for group in sorted.chunk_by(|(one, _), (other, _)| one == other) {
            let mut sums = Sums::default();
            group.iter().for_each(|(_, booking)| sums.count(booking));
            let ((bucket, _), booking) = group[0];
            encoder.add(&(bucket, rollup::texts(&booking.label)), &sums);
        }
        uses::newest(bookings).into_iter().for_each(|(key, at)| encoder.add_use(key, at));
        encoder.finish()
    }

    /// The total in as many deltas as necessary, each with at most `most` sums; the first one has the key uses.
    pub fn chunks(total: &Total<'_>, most: usize) -> Vec<Self> {
        let mut uses = total.uses.iter();
        let encode = |chunk: &[(NumberedKey, usize)]| {
            let mut encoder = Encoder::default();
            chunk.iter().for_each(|(place, number)| encoder.add(&total.key(place), &total.sums[*number]));
            uses.by_ref().for_each(|(key, at)| encoder.add_use(key, *at));
            encoder.finish()
        };
        // Not across buckets: a delta can be compacted when its last bucket is over.
        let buckets = total.places.chunk_by(|(one, _), (other, _)| one.0 == other.0);
        buckets.flat_map(|bucket| bucket.chunks(most)).filter_map(encode).collect()
    }
}

#[derive(Default)]
struct Encoder<'a> {
    /// The index of each text, counted from one.
    indexes: HashMap<&'a str, u64>,
    texts: Vec<u8>,
    uses: Vec<u8>,
    used: u64,
    range: Option<(i64, i64)>,
    entries: u64,
    body: Vec<u8>,
    /// The number of the bucket of the entry before.
    number: i64,
    /// The texts of the entry before, which often has some of the same, and their indexes.
    last: [(&'a str, u64); AXES.len()],
}

impl<'a> Encoder<'a> {
    fn add(&mut self, (bucket, texts): &Key<'a>, sums: &Sums) {
        let (oldest, newest) = self.range.unwrap_or((*bucket, *bucket));
        self.range = Some((oldest.min(*bucket), newest.max(*bucket)));
        self.entries += 1;
        let number = bucket.div_euclid(QUARTER_HOUR);
        write_signed(&mut self.body, number - self.number);
        self.number = number;
        for (axis, text) in texts.iter().enumerate() {
            if self.last[axis].0 != *text {
                self.last[axis] = (text, self.index(text));
            }
            varint::push(&mut self.body, self.last[axis].1);
        }
        let counted = self.body.len();
        // One byte for the number of non-zero sums: there are fewer columns than a byte can count.
        self.body.push(0);
        let (mut count, mut last) = (0, 0);
        let body = &mut self.body;
        sums.each_non_zero(|column, value| {
            varint::push(body, (column - last) as u64);
            write_signed(body, value);
            (count, last) = (count + 1, column);
        });
        self.body[counted] = count;
    }

    fn add_use(&mut self, key: &'a str, at: i64) {
        let index = self.index(key);
        varint::push(&mut self.uses, index);
        write_signed(&mut self.uses, at);
        self.used += 1;
    }

    fn index(&mut self, text: &'a str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        let next = self.indexes.len() as u64 + 1;
        *self.indexes.entry(text).or_insert_with(|| {
            varint::push(&mut self.texts, text.len() as u64);
            self.texts.extend_from_slice(text.as_bytes());
            next
        })
    }

    fn finish(self) -> Option<Delta> {
        let (oldest, newest) = self.range?;
        let length = self.texts.len() + self.uses.len() + self.body.len();
        let mut bytes = Vec::with_capacity(length + 32);
        bytes.push(VERSION);
        varint::push(&mut bytes, self.indexes.len() as u64);
        bytes.extend_from_slice(&self.texts);
        varint::push(&mut bytes, self.used);
        bytes.extend_from_slice(&self.uses);
        varint::push(&mut bytes, self.entries);
        bytes.extend_from_slice(&self.body);
        Some(Delta { oldest, newest, entries: self.entries as i64, bytes })
    }
}

/// Decodes the entries of a delta one by one.
pub(crate) struct Decoder<'a> {
    texts: Vec<&'a str>,
    /// The time of the latest use of each key, in microseconds.
    pub uses: Vec<(&'a str, i64)>,
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
        let mut texts = vec![""];
        for _ in 0..read(&mut rest)? {
            let length = read(&mut rest)? as usize;
            let (text, behind) = rest.split_at_checked(length).ok_or_else(|| corrupt("ends in a text"))?;
            texts.push(std::str::from_utf8(text).map_err(|error| corrupt(&error.to_string()))?);
            rest = behind;
        }
        let mut uses = Vec::new();
        for _ in 0..read(&mut rest)? {
            let key = texts.get(read(&mut rest)? as usize).ok_or_else(unknown_text)?;
            uses.push((*key, read_signed(&mut rest)?));
        }
        let left = read(&mut rest)?;
        Ok(Self { texts, uses, rest, left, number: 0 })
    }

    /// The key of the next entry and its non-zero sums as (column, value); `None` after the last one.
    pub fn next(&mut self, sums: &mut Vec<(usize, i64)>) -> Result<Option<Key<'a>>, StoreError> {
        let entry = self.next_indexes(sums)?;
        Ok(entry.map(|(bucket, indexes)| (bucket, indexes.map(|index| self.texts[index]))))
    }

    /// Like `next`, with the indexes of the texts.
    fn next_indexes(
        &mut self,
        sums: &mut Vec<(usize, i64)>,
    ) -> Result<Option<(i64, [usize; AXES.len()])>, StoreError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let rest = &mut self.rest;
        self.number += read_signed(rest)?;
        let mut indexes = [0; AXES.len()];
        for index in &mut indexes {
            *index = read(rest)? as usize;
            if *index >= self.texts.len() {
                return Err(unknown_text());
            }
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
        Ok(Some((self.number * QUARTER_HOUR, indexes)))
    }
}

/// A key with the number of each text instead of the text.
type NumberedKey = (i64, [u32; AXES.len()]);

/// The total of several deltas.
#[derive(Debug)]
pub(crate) struct Total<'a> {
    texts: Vec<&'a str>,
    /// The index of the sums of each key, sorted by key. The sums are apart: they are large, and would be moved whenever the keys
    /// are.
    places: Vec<(NumberedKey, usize)>,
    sums: Vec<Sums>,
    /// The latest use of each key, sorted by key, so that concurrent writers lock rows in the same order.
    pub uses: BTreeMap<&'a str, i64>,
}

impl<'a> Total<'a> {
    fn key(&self, (bucket, numbers): &NumberedKey) -> Key<'a> {
        (*bucket, numbers.map(|number| self.texts[number as usize]))
    }

    /// The sums of all keys, sorted by key.
    pub fn sums(&self) -> Vec<(Key<'a>, Sums)> {
        self.places.iter().map(|(place, number)| (self.key(place), self.sums[*number])).collect()
    }
}

pub(crate) fn add_up<'a>(deltas: &'a [Vec<u8>]) -> Result<Total<'a>, StoreError> {
    // Texts are numbered across deltas, so that keys are compared as numbers: there are many more entries than texts.
    let mut numbers: HashMap<&'a str, u32> = HashMap::default();
    let mut texts: Vec<&'a str> = Vec::new();
    let mut places: HashMap<NumberedKey, usize> = HashMap::default();
    let decoders = deltas.iter().map(|bytes| Decoder::new(bytes)).collect::<Result<Vec<_>, _>>()?;
    // Enough for all entries: memory that is not written to costs nothing, and moving sums does.
    let entries = decoders.iter().map(|decoder| decoder.left.min(MAX_RESERVED)).sum::<u64>();
    let mut totals: Vec<Sums> = Vec::with_capacity(entries.min(MAX_RESERVED) as usize);
    let mut uses = BTreeMap::new();
    let mut sums = Vec::new();
    for (number, mut decoder) in decoders.into_iter().enumerate() {
        if number > 0 {
            pause();
        }
        let own: Vec<u32> = decoder
            .texts
            .iter()
            .map(|text| {
                *numbers.entry(text).or_insert_with(|| {
                    texts.push(text);
                    texts.len() as u32 - 1
                })
            })
            .collect();
        for (key, at) in &decoder.uses {
            let last = uses.entry(*key).or_insert(*at);
            *last = (*last).max(*at);
        }
        while let Some((bucket, indexes)) = decoder.next_indexes(&mut sums)? {
            let number = *places.entry((bucket, indexes.map(|index| own[index]))).or_insert_with(|| {
                totals.push(Sums::default());
                totals.len() - 1
            });
            totals[number].add_columns(&sums);
        }
    }
    let (texts, ranks) = rank(&texts);
    let ranked = |(bucket, numbers): NumberedKey| (bucket, numbers.map(|number| ranks[number as usize]));
    let mut places: Vec<_> = places.into_iter().map(|(place, number)| (ranked(place), number)).collect();
    places.sort_unstable();
    Ok(Total { texts, places, sums: totals, uses })
}

/// The sorted texts and the place of each text among them: keys are sorted by these numbers, because there are many more
/// keys than texts.
fn rank<'a>(texts: &[&'a str]) -> (Vec<&'a str>, Vec<u32>) {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_unstable_by_key(|number| texts[*number]);
    let mut ranks = vec![0; texts.len()];
    order.iter().zip(0..).for_each(|(number, rank)| ranks[*number] = rank);
    (order.into_iter().map(|number| texts[number]).collect(), ranks)
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

fn unknown_text() -> StoreError {
    corrupt("names a text that it does not have")
}

fn corrupt(reason: &str) -> StoreError {
    StoreError::Corrupt(format!("a delta of sums {reason}"))
}

fn write_signed(bytes: &mut Vec<u8>, value: i64) {
    varint::push(bytes, varint::zigzag(value));
}

fn read(rest: &mut &[u8]) -> Result<u64, StoreError> {
    varint::read(rest).ok_or_else(|| corrupt("ends in a number"))
}

fn read_signed(rest: &mut &[u8]) -> Result<i64, StoreError> {
    read(rest).map(varint::from_zigzag)
}

#[cfg(test)]
mod tests;
