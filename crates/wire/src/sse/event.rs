//! One server-sent event: its raw bytes and fields.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The bytes as received, the blank line included.
    pub raw: Bytes,
    data: Data,
    name: Option<Range<usize>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Data {
    None,
    One(Range<usize>),
    Several(Vec<Range<usize>>),
}

impl Event {
    /// Parses an event. `lines` is the number of non-blank lines; the common case of one needs no second search for
    /// line ends.
    pub(super) fn new(raw: Bytes, lines: usize) -> Self {
        let mut event = Self { raw, data: Data::None, name: None };
        if lines == 1 {
            let ends = event.raw.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            event.read_line(0..event.raw.len() - ends);
        } else {
            let mut start = 0;
            while start < event.raw.len() {
                let rest = &event.raw[start..];
                let end = start + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                event.read_line(start..end);
                start = end + 1;
            }
        }
        event
    }

    /// The data lines joined by line feeds.
    pub fn data(&self) -> Cow<'_, [u8]> {
        match &self.data {
            Data::None => Cow::Borrowed(b""),
            Data::One(range) => Cow::Borrowed(&self.raw[range.clone()]),
            Data::Several(ranges) => {
                let lines: Vec<&[u8]> = ranges.iter().map(|range| &self.raw[range.clone()]).collect();
                Cow::Owned(lines.join(&b'\n'))
            }
        }
    }

    /// Position of the data in `raw`, if it is one line.
    pub(crate) fn data_range(&self) -> Option<&Range<usize>> {
        match &self.data {
            Data::One(range) => Some(range),
            Data::None | Data::Several(_) => None,
        }
    }

    /// The event's bytes with other data, which may contain line feeds if the original data had several lines.
    pub fn with_data(&self, data: &[u8]) -> Bytes {
        let lines = match &self.data {
            Data::None => return self.raw.clone(),
            Data::One(range) => return self.with_ranges(&[(range.clone(), data)]),
            Data::Several(lines) => lines,
        };
        let mut rest = data.splitn(lines.len(), |byte| *byte == b'\n');
        let edits: Vec<_> =
            lines.iter().map(|line| (line.clone(), rest.next().unwrap_or_default())).collect();
        self.with_ranges(&edits)
    }

    fn with_ranges(&self, edits: &[(Range<usize>, &[u8])]) -> Bytes {
        let mut written = Vec::with_capacity(self.raw.len() + 64);
        let mut at = 0;
        for (range, text) in edits {
            written.extend_from_slice(&self.raw[at..range.start]);
            written.extend_from_slice(text);
            at = range.end;
        }
        written.extend_from_slice(&self.raw[at..]);
        written.into()
    }

    /// The `event:` field.
    pub fn name(&self) -> Option<&[u8]> {
        self.name.as_ref().map(|range| &self.raw[range.clone()])
    }

    /// Whether the event has neither data nor a name: a comment, or only an id or retry time.
    pub fn is_comment_only(&self) -> bool {
        self.data == Data::None && self.name.is_none()
    }

    fn read_line(&mut self, line: Range<usize>) {
        let text = &self.raw[line.clone()];
        if let Some(value) = field(text, b"data") {
            let range = line.start + value..line.end;
            self.data = match std::mem::replace(&mut self.data, Data::None) {
                Data::None => Data::One(range),
                Data::One(first) => Data::Several(vec![first, range]),
                Data::Several(mut ranges) => {
                    ranges.push(range);
                    Data::Several(ranges)
                }
            };
        } else if let Some(value) = field(text, b"event") {
            self.name = Some(line.start + value..line.end);
        }
    }
}

/// Position of the field's value in its line: after the colon and at most one space.
fn field(line: &[u8], name: &[u8]) -> Option<usize> {
    match line.strip_prefix(name)? {
        [] => Some(line.len()),
        [b':', b' ', ..] => Some(name.len() + 2),
        [b':', ..] => Some(name.len() + 1),
        _ => None,
    }
}
