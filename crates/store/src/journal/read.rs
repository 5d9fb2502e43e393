//! Reads a range of a segment: bookings, audit entries, opened and closed calls, and damage.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use foldhash::HashMap;

use super::frame::{self, Parsed, RecordKind};
use crate::audit::AuditEntry;
use crate::journal_record::Recorded;
use crate::ledger::booking::{Booking, Labels};

/// Maximum number of receipts per transaction.
pub(super) const MOST_RECEIPTS: usize = 512;
/// Number of bytes read at a time.
pub(super) const CHUNK: u64 = 512 << 10;

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

#[derive(Debug, Default)]
pub(super) struct Batch {
    pub from: u64,
    pub until: u64,
    pub records: u64,
    pub bookings: Vec<Booking>,
    /// For the audit log, in the order of writing.
    pub entries: Vec<AuditEntry>,
    pub events: Vec<Event>,
    pub losses: Vec<Loss>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Event {
    Opened {
        id: String,
        opening: Box<[u8]>,
    },
    /// The opening of a call that is known from an earlier segment.
    Carried {
        id: String,
        opening: Box<[u8]>,
    },
    Closed {
        id: String,
    },
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

#[derive(serde::Deserialize)]
struct Identity<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

/// Reads a batch. `bytes` is a reusable buffer: allocating half a megabyte would cost more than reading it.
pub(super) fn read(file: &File, stretch: Stretch, bytes: &mut Vec<u8>) -> io::Result<Batch> {
    let Stretch { from, end, .. } = stretch;
    read_range(file, from, end.min(from + CHUNK), bytes)?;
    let mut batch = Batch { from, ..Batch::default() };
    if let Parsed::Short(size) = frame::parse(bytes)
        && from + size as u64 <= end
    {
        read_range(file, from, from + size as u64, bytes)?;
    }
    let mut calls = Calls::default();
    let mut at = 0;
    while from + (at as u64) < end && batch.bookings.len().max(batch.entries.len()) < stretch.most {
        match frame::parse(&bytes[at..]) {
            Parsed::Frame { kind, payload, size } => {
                let place = from + at as u64;
                let fresh = place + size as u64 > stretch.booked_until;
                if let Err(reason) = calls.take(kind, payload, fresh, &mut batch) {
                    batch.losses.push(Loss { from: place, until: place + size as u64, reason, tail: false });
                }
                batch.records += 1;
                at += size;
            }
            // The rest of this frame is in the file; the next batch starts with it.
            Parsed::Short(size) if from + (at + size) as u64 <= end && at > 0 => break,
            Parsed::Short(_) | Parsed::Damaged => {
                let place = from + at as u64;
                let loss = measure(file, place, end)?;
                batch.until = loss.until;
                batch.losses.push(loss);
                batch.events = calls.events();
                return Ok(batch);
            }
        }
    }
    batch.until = from + at as u64;
    batch.events = calls.events();
    Ok(batch)
}

/// Calls opened and closed within one batch. Most open and close in the same one.
#[derive(Default)]
struct Calls<'a> {
    opened: HashMap<Cow<'a, str>, &'a [u8]>,
    others: Vec<Event>,
    labels: Labels<'a>,
}

impl<'a> Calls<'a> {
    fn take(
        &mut self,
        kind: Option<RecordKind>,
        payload: &'a [u8],
        fresh: bool,
        batch: &mut Batch,
    ) -> Result<(), String> {
        let kind = kind.ok_or("a record of an unknown kind")?;
        let text = std::str::from_utf8(payload).map_err(|error| error.to_string())?;
        if kind == RecordKind::Receipt && fresh {
            let read = Booking::read(text, &mut self.labels).map_err(|error| error.to_string())?;
            self.close(read.id);
            batch.bookings.extend(read.booking);
            batch.entries.extend(Recorded::read_audited(text).map_err(|error| error.to_string())?);
            return Ok(());
        }
        let id = identity(text)?;
        match kind {
            RecordKind::Receipt => self.close(id),
            RecordKind::Opening => _ = self.opened.insert(id, payload),
            RecordKind::Carried => {
                self.others.push(Event::Carried { id: id.into_owned(), opening: payload.into() })
            }
        }
        Ok(())
    }

    fn close(&mut self, id: Cow<'_, str>) {
        self.opened.remove(id.as_ref());
        // Also for calls opened in this batch: an earlier attempt may have opened them in another one.
        self.others.push(Event::Closed { id: id.into_owned() });
    }

    fn events(self) -> Vec<Event> {
        let opened = self.opened.into_iter();
        let opened =
            opened.map(|(id, opening)| Event::Opened { id: id.into_owned(), opening: opening.into() });
        self.others.into_iter().chain(opened).collect()
    }
}

/// The id of a record. Records are written with the id first; other layouts are parsed as JSON.
fn identity(text: &str) -> Result<Cow<'_, str>, String> {
    if let Some((id, _)) = text.strip_prefix("{\"id\":\"").and_then(|rest| rest.split_once('"'))
        && !id.contains('\\')
    {
        return Ok(Cow::Borrowed(id));
    }
    let [columns, ..] = crate::journal_record::lines(text);
    serde_json::from_str(columns).map(|Identity { id }| id).map_err(|error| error.to_string())
}

fn measure(file: &File, from: u64, end: u64) -> io::Result<Loss> {
    let mut rest = Vec::new();
    read_range(file, from + 1, end, &mut rest)?;
    let next = frame::find(&rest);
    Ok(Loss {
        from,
        until: next.map_or(end, |next| from + 1 + next as u64),
        reason: "not a whole record".into(),
        tail: next.is_none(),
    })
}

fn read_range(file: &File, from: u64, end: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.resize(end.saturating_sub(from) as usize, 0);
    file.read_exact_at(bytes, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_wherever_it_stands() {
        let check = |text: &str, expected: &str| assert_eq!(identity(text).unwrap(), expected);
        check(r#"{"id":"a","x":"\"id\":\"b\""}"#, "a");
        check(r#"{"x":1,"id":"a"}"#, "a");
        check(r#"{"id":"a\"b"}"#, "a\"b");
        check(r#"{ "id" : "a" }"#, "a");
        assert!(identity(r#"{"x":1}"#).is_err());
    }
}
