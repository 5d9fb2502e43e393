//! Extracts the plain input of a custom tool from `{"input":"…"}` while its fragments arrive.

use crate::custom;

const WRAPPING: &str = "{\"input\":\"";

/// Incremental unwrapper for custom tools that were sent to the provider as JSON tools.
#[derive(Debug, Default)]
pub struct Unwrapper {
    state: State,
    /// Text read before the input begins; all of it if the object has another shape.
    held: String,
    /// Number of bytes of the wrapping matched so far.
    matched: usize,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// In `{`, the key, the colon or the opening quote.
    #[default]
    Before,
    Inside,
    Escape,
    Unicode {
        digits: u8,
        value: u32,
    },
    /// After the input; the rest of the object is ignored.
    After,
    /// Not an object: the text is the input itself.
    Plain,
    /// Another object, which is interpreted at its end.
    Other,
}

impl Unwrapper {
    /// Returns the input text that this fragment adds.
    pub fn read(&mut self, fragment: &str) -> String {
        let mut text = String::new();
        let mut rest = fragment;
        while !rest.is_empty() {
            rest = self.step(rest, &mut text);
        }
        text
    }

    /// Returns the remaining text at the end.
    pub fn finish(&mut self) -> String {
        let mut text = String::new();
        self.flush_high(&mut text);
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.state, State::After) {
            State::Before | State::Other => text.push_str(&custom::unwrap(&held)),
            _ => {}
        }
        text
    }

    fn step<'a>(&mut self, rest: &'a str, text: &mut String) -> &'a str {
        match self.state {
            State::Before => return self.open(rest, text),
            State::Inside => return self.run(rest, text),
            State::Plain => text.push_str(rest),
            State::Other => self.held.push_str(rest),
            State::After => {}
            State::Escape | State::Unicode { .. } => {
                let mut chars = rest.chars();
                if let Some(next) = chars.next() {
                    self.escaped(next, text);
                }
                return chars.as_str();
            }
        }
        ""
    }

    fn open<'a>(&mut self, rest: &'a str, text: &mut String) -> &'a str {
        let mut chars = rest.chars();
        let Some(next) = chars.next() else { return "" };
        self.held.push(next);
        // White space is allowed before each of the four tokens.
        let between = matches!(self.matched, 0 | 1 | 8 | 9);
        if WRAPPING.as_bytes()[self.matched] as char == next {
            self.matched += 1;
            if self.matched == WRAPPING.len() {
                self.state = State::Inside;
                self.held.clear();
            }
        } else if !(between && next.is_ascii_whitespace()) {
            if self.matched == 0 {
                self.state = State::Plain;
                text.push_str(&std::mem::take(&mut self.held));
            } else {
                self.state = State::Other;
            }
        }
        chars.as_str()
    }

    fn run<'a>(&mut self, rest: &'a str, text: &mut String) -> &'a str {
        let Some(end) = rest.find(['"', '\\']) else {
            self.flush_high(text);
            text.push_str(rest);
            return "";
        };
        let escape = rest.as_bytes()[end] == b'\\';
        if end > 0 || !escape {
            self.flush_high(text);
        }
        text.push_str(&rest[..end]);
        self.state = if escape { State::Escape } else { State::After };
        &rest[end + 1..]
    }

    fn escaped(&mut self, next: char, text: &mut String) {
        if let State::Unicode { digits, value } = self.state {
            let value = value << 4 | next.to_digit(16).unwrap_or(0);
            self.state = State::Unicode { digits: digits + 1, value };
            if digits == 3 {
                self.unit(value, text);
                self.state = State::Inside;
            }
            return;
        }
        if next == 'u' {
            self.state = State::Unicode { digits: 0, value: 0 };
            return;
        }
        self.flush_high(text);
        self.state = State::Inside;
        text.push(match next {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            other => other,
        });
    }

    /// Handles one UTF-16 code unit.
    fn unit(&mut self, unit: u32, text: &mut String) {
        match (self.high.take(), unit) {
            (Some(high), 0xdc00..=0xdfff) => {
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
                text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (before, unit) => {
                if before.is_some() {
                    text.push(char::REPLACEMENT_CHARACTER);
                }
                if (0xd800..0xdc00).contains(&unit) {
                    self.high = Some(unit);
                } else {
                    text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
        }
    }

    /// Replaces an unpaired surrogate.
    fn flush_high(&mut self, text: &mut String) {
        if self.high.take().is_some() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

#[cfg(test)]
mod tests;
