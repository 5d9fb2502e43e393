//! Framing: the way in which a vendor separates the events of a stream.

use crate::sse::Splitter;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
}

impl Framing {
    /// The media type of a stream, as it is requested and expected.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
        }
    }

    /// Splits the bytes of a stream into its events.
    pub fn splitter(self, max_event_bytes: usize) -> Splitter {
        match self {
            Self::Sse => Splitter::new(max_event_bytes),
        }
    }
}
