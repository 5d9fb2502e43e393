//! Splits server-sent events into pieces of their data without buffering any event.

const FIELD: &[u8] = b"data";

pub(super) enum Piece<'a> {
    Data(&'a [u8]),
    /// A blank line, the end of the event.
    End,
}

#[derive(Default)]
pub(super) struct Lines {
    state: State,
    /// Whether the last line ended in CR, so that a following LF belongs to it.
    after_cr: bool,
}

#[derive(Clone, Copy, Default)]
enum State {
    /// At the start of a line.
    #[default]
    Start,
    /// Number of bytes of the field name matched so far.
    Name(usize),
    /// After the colon, where one space is allowed.
    Colon,
    Data,
    /// A line that is ignored.
    Other,
}

impl Lines {
    pub(super) fn split<'a>(&mut self, chunk: &'a [u8], mut give: impl FnMut(Piece<'a>)) {
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            if std::mem::take(&mut self.after_cr) && byte == b'\n' {
                at += 1;
                continue;
            }
            if let b'\n' | b'\r' = byte {
                at += 1;
                self.end_line(byte, &mut give);
                continue;
            }
            self.state = match self.state {
                // A byte order mark is skipped.
                State::Start if matches!(byte, 0xef | 0xbb | 0xbf) => State::Start,
                State::Start if byte == FIELD[0] => State::Name(1),
                State::Name(seen) if FIELD.get(seen) == Some(&byte) => State::Name(seen + 1),
                State::Name(seen) if seen == FIELD.len() && byte == b':' => State::Colon,
                State::Colon if byte == b' ' => State::Data,
                State::Colon | State::Data => {
                    let rest = &chunk[at..];
                    let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                    give(Piece::Data(&rest[..length]));
                    at += length;
                    self.state = State::Data;
                    continue;
                }
                State::Start | State::Name(_) | State::Other => {
                    at += memchr::memchr2(b'\n', b'\r', &chunk[at..]).unwrap_or(chunk.len() - at);
                    self.state = State::Other;
                    continue;
                }
            };
            at += 1;
        }
    }

    fn end_line<'a>(&mut self, byte: u8, give: &mut impl FnMut(Piece<'a>)) {
        self.after_cr = byte == b'\r';
        match std::mem::take(&mut self.state) {
            State::Start => give(Piece::End),
            State::Data => give(Piece::Data(b"\n")),
            State::Name(_) | State::Colon | State::Other => {}
        }
    }
}
