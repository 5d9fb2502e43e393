//! Writes and numbers events.

use std::fmt::{Arguments, Write as _};

use bytes::BytesMut;

#[derive(Default)]
pub struct EventWriter {
    /// Sequence number of the next event.
    pub sequence: u64,
}

impl EventWriter {
    /// Writes one event; `members` are those besides type and sequence number.
    pub fn event(&mut self, out: &mut BytesMut, kind: &str, members: Arguments<'_>) {
        let sequence = self.sequence;
        self.sequence += 1;
        // Writing into memory cannot fail.
        let _ = write!(
            out,
            "event: {kind}\ndata: {{\"type\":\"{kind}\",\"sequence_number\":{sequence},{members}}}\n\n"
        );
    }

    /// Writes an item that is added or done.
    pub fn item(&mut self, out: &mut BytesMut, what: &str, place: usize, item: &str) {
        let members = format_args!(r#""output_index":{place},"item":{item}"#);
        match what {
            "added" => self.event(out, "response.output_item.added", members),
            _ => self.event(out, "response.output_item.done", members),
        }
    }
}
