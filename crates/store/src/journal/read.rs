//! Reads a range of a segment: bookings, audit entries, opened and closed calls, and damage.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use foldhash::HashMap;

use super::frame::{self, Parsed, RecordKind, RecordType};
use crate::audit::AuditEntry;
use crate::journal_record::{self, Encoding, OpeningRecord, ReceiptRecord, RecordError, Recorded};
use crate::ledger::booking::{Booking, Labels};

/// Maximum number of receipts per transaction.
pub(super) const MOST_RECEIPTS: usize = 512;
/// Number of bytes read at a time.
pub(super) const CHUNK: u64 = 512 << 10;
/// Hardly any call has records with fewer bytes.
const FEWEST_BYTES: usize = 512;

/// The range of a segment to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub from: u64,
    /// End of the data known to be written.
    pub end: u64,
    /// Receipts up to this offset are already in the ledger; they only close their calls.
    pub booked_until: u64,
    /// Maximum number of receipts.
    pub most: usize,
}

/// Decoded records, borrowed from the bytes of the segment.
#[derive(Debug, Default)]
pub(super) struct Batch<'a> {
    pub bookings: Vec<Booking<'a>>,
    /// For the audit log, in the order of writing.
    pub entries: Vec<AuditEntry>,
    pub progress: Progress,
}

/// How far a batch goes, and the calls that it opens and closes.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub from: u64,
    pub until: u64,
    pub records: u64,
    pub closed: CallIds,
    pub opened: Vec<Opened>,
    pub losses: Vec<Loss>,
}

/// A call that was opened and not closed behind that.
#[derive(Debug, PartialEq)]
pub(super) struct Opened {
    pub id: Box<str>,
    pub opening: OpeningRecord,
    /// True if the opening is known from an earlier segment.
    pub is_carried: bool,
}

/// Ids of calls in one text: there are many, and most are of no interest.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    text: String,
    ends: Vec<usize>,
}

impl CallIds {
    fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| &self.text[std::mem::replace(&mut start, *end)..*end])
    }
}

/// A byte range without a readable record.
#[derive(Debug, PartialEq)]
pub(super) struct Loss {
    pub from: u64,
    pub until: u64,
    pub reason: String,
    /// True if nothing readable follows, as after an interrupted write.
    pub tail: bool,
}

/// Reads the bytes of a batch into a reusable buffer, since allocating half a megabyte would cost more than reading it. Returns
/// their number.
pub(super) fn load(file: &File, stretch: Stretch, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let Stretch { from, end, .. } = stretch;
    let mut until = end.min(from + CHUNK);
    if let Parsed::Short(size) = frame::parse(read_range(file, from, until, bytes)?)
        && from + size as u64 <= end
    {
        until = from + size as u64;
        read_range(file, from, until, bytes)?;
    }
    Ok((until - from) as usize)
}

/// Decodes a batch from loaded bytes.
pub(super) fn parse<'a>(file: &File, stretch: Stretch, bytes: &'a [u8]) -> io::Result<Batch<'a>> {
    let Stretch { from, end, .. } = stretch;
    let most = stretch.most.min(bytes.len() / FEWEST_BYTES);
    let progress = Progress { from, ..Progress::default() };
    let mut batch = Batch { bookings: Vec::with_capacity(most), entries: Vec::new(), progress };
    let mut calls = Calls { labels: Labels::with_capacity(most), ..Calls::default() };
    let mut encoding = None;
    let mut at = 0;
    while from + (at as u64) < end && batch.bookings.len().max(batch.entries.len()) < stretch.most {
        match frame::parse(&bytes[at..]) {
            Parsed::Frame { kind, payload, size } => {
                let place = from + at as u64;
                let fresh = place + size as u64 > stretch.booked_until;
                if let Err(reason) = calls.take(kind, payload, fresh, &mut batch) {
                    let (until, reason) = (place + size as u64, reason.to_string());
                    batch.progress.losses.push(Loss { from: place, until, reason, tail: false });
                }
                encoding = kind.map(|kind| kind.encoding).or(encoding);
                batch.progress.records += 1;
                at += size;
            }
            // The rest of this frame is in the file; the next batch starts with it.
            Parsed::Short(size) if from + (at + size) as u64 <= end && at > 0 => break,
            Parsed::Short(_) | Parsed::Damaged => {
                let loss = measure(file, from + at as u64, end, encoding)?;
                batch.progress.until = loss.until;
                batch.progress.losses.push(loss);
                calls.finish(&mut batch.progress);
                return Ok(batch);
            }
        }
    }
    batch.progress.until = from + at as u64;
    calls.finish(&mut batch.progress);
    Ok(batch)
}

/// Calls opened and closed within one batch. Most open and close in the same one.
#[derive(Default)]
struct Calls<'a> {
    opened: HashMap<Cow<'a, str>, (Encoding, &'a [u8])>,
    carried: Vec<Opened>,
    closed: CallIds,
    labels: Labels<'a>,
}

impl<'a> Calls<'a> {
    fn take(
        &mut self,
        kind: Option<RecordType>,
        payload: &'a [u8],
        fresh: bool,
        batch: &mut Batch<'a>,
    ) -> Result<(), RecordError> {
        let RecordType { kind, encoding } = kind.ok_or("a record of an unknown kind")?;
        match kind {
            RecordKind::Receipt if fresh => {
                let record = ReceiptRecord::parse(encoding, payload)?;
                let id = Booking::read(&record, &mut self.labels, &mut batch.bookings)?;
                self.close(&id);
                batch.entries.extend(Recorded::read_audited(&record)?);
            }
            RecordKind::Receipt => self.close(&journal_record::receipt_id(encoding, payload)?),
            RecordKind::Opening => {
                let id = journal_record::opening_id(encoding, payload)?;
                self.opened.insert(id, (encoding, payload));
            }
            RecordKind::Carried => {
                let id = journal_record::opening_id(encoding, payload)?;
                let opening = OpeningRecord { encoding, payload: payload.into() };
                self.carried.push(Opened { id: id.into(), opening, is_carried: true });
            }
        }
        Ok(())
    }

    fn close(&mut self, id: &str) {
        self.opened.remove(id);
        // Also for calls opened in this batch: an earlier attempt may have opened them in another one.
        self.closed.push(id);
    }

    fn finish(self, progress: &mut Progress) {
        progress.closed = self.closed;
        progress.opened = self.carried;
        progress.opened.extend(self.opened.into_iter().map(|(id, (encoding, payload))| {
            let opening = OpeningRecord { encoding, payload: payload.into() };
            Opened { id: id.into(), opening, is_carried: false }
        }));
    }
}

/// Measures damage. `encoding` is that of the records before it, which those behind it have as well.
fn measure(file: &File, from: u64, end: u64, encoding: Option<Encoding>) -> io::Result<Loss> {
    let mut rest = Vec::new();
    let rest = read_range(file, from + 1, end, &mut rest)?;
    // A text of a caller inside a binary record could look like a JSON record, but not the other way round: JSON is
    // searched for only if it was seen before the damage, or if no binary record follows.
    let find = |encoding| frame::find(rest, encoding);
    let next = match encoding {
        Some(encoding) => find(encoding),
        None => find(Encoding::Binary).or_else(|| find(Encoding::Json)),
    };
    Ok(Loss {
        from,
        until: next.map_or(end, |next| from + 1 + next as u64),
        reason: "not a whole record".into(),
        tail: next.is_none(),
    })
}

/// Reads a range into the beginning of a buffer. The buffer only grows: bytes that are added to it are zeroed first.
fn read_range<'a>(file: &File, from: u64, end: u64, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    let length = end.saturating_sub(from) as usize;
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    let bytes = &mut buffer[..length];
    file.read_exact_at(bytes, from)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::receipt;

    fn append(bytes: &mut Vec<u8>, kind: RecordType, payload: &[u8]) {
        let mut frame = Vec::new();
        frame::encode(&mut frame, kind, |buffer| buffer.extend_from_slice(payload)).unwrap();
        bytes.extend(frame);
    }

    /// A whole frame of an earlier build that is also valid UTF-8, as a caller could send it.
    fn forged_text() -> String {
        let forged = (0..1000).find_map(|n| {
            let mut bytes = Vec::new();
            let kind = RecordType { kind: RecordKind::Receipt, encoding: Encoding::Json };
            append(&mut bytes, kind, format!("{{\"id\":\"forged{n}\"}}").as_bytes());
            String::from_utf8(bytes).ok()
        });
        forged.unwrap()
    }

    #[test]
    fn text_in_a_damaged_record_is_not_taken_for_a_record() {
        let (mut bytes, mut payload) = (Vec::new(), Vec::new());
        let mut second = receipt("second");
        second.requested_model = forged_text();
        let mut starts = Vec::new();
        for receipt in [receipt("first"), second, receipt("third")] {
            starts.push(bytes.len() as u64);
            payload.clear();
            journal_record::receipt(&mut payload, &receipt);
            append(&mut bytes, RecordType::new(RecordKind::Receipt), &payload);
        }
        let place = bytes.windows(6).position(|window| window == b"second").unwrap();
        bytes[place] ^= 1;
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &bytes).unwrap();
        // Behind a whole record, and at the beginning of a batch.
        for (mut from, expected) in [(starts[0], &["first", "third"][..]), (starts[1], &["third"])] {
            let mut ids = Vec::new();
            while from < bytes.len() as u64 {
                let stretch = Stretch { from, end: bytes.len() as u64, booked_until: 0, most: MOST_RECEIPTS };
                let mut buffer = Vec::new();
                let length = load(&file, stretch, &mut buffer).unwrap();
                let batch = parse(&file, stretch, &buffer[..length]).unwrap();
                ids.extend(batch.bookings.iter().map(|booking| booking.id.to_string()));
                from = batch.progress.until;
            }
            assert_eq!(ids, expected);
        }
    }
}
