//! Validates JSON that arrives in chunks: UTF-8, RFC 8259 grammar and depth, in memory bounded by the depth limit.

use domain::json::plain_prefix;

use super::tokenizer::{Token, TokenKind, TokenizerState, Tokens};
use super::{DEPTH_LIMIT, ScanError};

/// Accepts exactly one JSON value with white space around it, or an empty body.
#[derive(Default)]
pub struct StreamValidator {
    tokenizer: TokenizerState,
    state: State,
    escape: Escape,
    /// Open containers, outermost first; true = object.
    stack: Vec<bool>,
    /// The start of a UTF-8 sequence that continues in the next chunk.
    partial: Vec<u8>,
    /// Bytes of earlier chunks.
    offset: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    Value,
    /// After `[`.
    ValueOrEnd,
    /// After `{`.
    KeyOrEnd,
    Key,
    Colon,
    /// After a value.
    CommaOrEnd,
    String {
        key: bool,
    },
    Number(Number),
    /// The rest of `true`, `false` or `null`.
    Literal(&'static [u8]),
    Done,
}

/// The state within an escape sequence.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    AfterBackslash,
    /// In a `\u` escape, with so many hexadecimal digits missing.
    Unicode(u8),
}

impl Escape {
    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::AfterBackslash, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Self::None,
            (Self::AfterBackslash, b'u') => Self::Unicode(4),
            (Self::Unicode(1), _) if byte.is_ascii_hexdigit() => Self::None,
            (Self::Unicode(missing), _) if byte.is_ascii_hexdigit() => Self::Unicode(missing - 1),
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Number {
    fn is_complete(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits)
    }

    /// Reads the bytes that continue the number; returns how many.
    fn read(mut self, bytes: &[u8]) -> (Self, usize) {
        let mut at = 0;
        loop {
            if let Self::Integer | Self::Fraction | Self::ExponentDigits = self {
                at += bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            }
            match bytes.get(at).and_then(|&byte| self.next(byte)) {
                Some(next) => (self, at) = (next, at + 1),
                None => return (self, at),
            }
        }
    }

    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Zero | Self::Integer, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => Self::ExponentDigits,
            _ => return None,
        })
    }
}

impl StreamValidator {
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), ScanError> {
        self.check_utf8(chunk)?;
        let mut tokens = Tokens::new(self.tokenizer, chunk);
        while let Some(token) = tokens.next() {
            self.accept(token, self.offset + tokens.at() - token.bytes.len())?;
        }
        self.tokenizer = tokens.state();
        self.offset += chunk.len();
        Ok(())
    }

    /// Checks that the text is complete at the end of the body.
    pub fn finish(&self) -> Result<(), ScanError> {
        if !self.partial.is_empty() {
            return Err(ScanError::NotUtf8 { at: self.offset });
        }
        let complete = match self.state {
            State::Start => self.offset == 0,
            State::Done => true,
            State::Number(number) => self.stack.is_empty() && number.is_complete(),
            _ => false,
        };
        if complete { Ok(()) } else { Err(ScanError::Syntax { at: self.offset, expected: "more" }) }
    }

    /// Checks a token that begins at position `at` of the body.
    #[inline]
    fn accept(&mut self, token: Token<'_>, at: usize) -> Result<(), ScanError> {
        match (token.kind, token.bytes) {
            (TokenKind::Text, text) => self.text(text, at),
            (TokenKind::Structure, b",") if self.is_after_value() => {
                self.state = self.after_comma();
                Ok(())
            }
            (TokenKind::Structure | TokenKind::StringStart, bytes) => self.step(bytes[0], at),
            (TokenKind::Other, bytes) => self.other(bytes, at),
            (TokenKind::StringEnd, _) if self.escape != Escape::None => Err(unexpected(at, AN_ESCAPE)),
            (TokenKind::StringEnd, _) => {
                self.end_string();
                Ok(())
            }
        }
    }

    /// Checks the content of a string.
    fn text(&mut self, text: &[u8], at: usize) -> Result<(), ScanError> {
        let mut index = 0;
        while let Some(&byte) = text.get(index) {
            if self.escape == Escape::None {
                index += plain_prefix(&text[index..]);
                match text.get(index) {
                    None => return Ok(()),
                    Some(b'\\') => self.escape = Escape::AfterBackslash,
                    Some(_) => return Err(unexpected(at + index, "no control character in a string")),
                }
            } else {
                self.escape = self.escape.next(byte).ok_or_else(|| unexpected(at + index, AN_ESCAPE))?;
            }
            index += 1;
        }
        Ok(())
    }

    fn other(&mut self, bytes: &[u8], at: usize) -> Result<(), ScanError> {
        let mut index = 0;
        while let Some(&byte) = bytes.get(index) {
            self.step(byte, at + index)?;
            index += 1;
            if let State::Number(number) = self.state {
                let (number, length) = number.read(&bytes[index..]);
                self.state = State::Number(number);
                index += length;
            }
        }
        Ok(())
    }

    fn end_string(&mut self) {
        match self.state {
            State::String { key: true } => self.state = State::Colon,
            _ => self.end_value(),
        }
    }

    /// Checks a byte outside strings, or an opening quote.
    #[inline]
    fn step(&mut self, byte: u8, at: usize) -> Result<(), ScanError> {
        if let State::Number(number) = self.state {
            if let Some(next) = number.next(byte) {
                self.state = State::Number(next);
                return Ok(());
            }
            if !number.is_complete() {
                return Err(unexpected(at, "a digit"));
            }
            self.end_value();
        }
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') && !matches!(self.state, State::Literal(_)) {
            return Ok(());
        }
        self.state = match (self.state, byte) {
            (State::Start | State::Value | State::ValueOrEnd, _) if byte != b']' => {
                return self.begin_value(byte, at);
            }
            (State::ValueOrEnd, b']') => return self.close(false, at),
            (State::KeyOrEnd | State::CommaOrEnd, b'}') => return self.close(true, at),
            (State::CommaOrEnd, b']') => return self.close(false, at),
            (State::KeyOrEnd | State::Key, b'"') => State::String { key: true },
            (State::Colon, b':') => State::Value,
            (State::CommaOrEnd, b',') => self.after_comma(),
            (State::Literal(rest), _) if rest.first() == Some(&byte) => match &rest[1..] {
                [] => {
                    self.end_value();
                    return Ok(());
                }
                rest => State::Literal(rest),
            },
            (state, _) => return Err(unexpected(at, expected(state))),
        };
        Ok(())
    }

    fn begin_value(&mut self, byte: u8, at: usize) -> Result<(), ScanError> {
        self.state = match byte {
            b'{' | b'[' => {
                if self.stack.len() == DEPTH_LIMIT {
                    return Err(ScanError::TooDeep { limit: DEPTH_LIMIT });
                }
                self.stack.push(byte == b'{');
                if byte == b'{' { State::KeyOrEnd } else { State::ValueOrEnd }
            }
            b'"' => State::String { key: false },
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Integer),
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'n' => State::Literal(b"ull"),
            _ => return Err(unexpected(at, "a value")),
        };
        Ok(())
    }

    /// Whether a value inside a container is complete.
    fn is_after_value(&self) -> bool {
        match self.state {
            State::CommaOrEnd => true,
            State::Number(number) => number.is_complete() && !self.stack.is_empty(),
            _ => false,
        }
    }

    fn after_comma(&self) -> State {
        if self.stack.last() == Some(&true) { State::Key } else { State::Value }
    }

    fn end_value(&mut self) {
        self.state = if self.stack.is_empty() { State::Done } else { State::CommaOrEnd };
    }

    fn close(&mut self, object: bool, at: usize) -> Result<(), ScanError> {
        if self.stack.pop() != Some(object) {
            return Err(unexpected(at, "the other kind of bracket"));
        }
        self.end_value();
        Ok(())
    }

    fn check_utf8(&mut self, chunk: &[u8]) -> Result<(), ScanError> {
        let mut rest = chunk;
        while let (false, Some((&byte, behind))) = (self.partial.is_empty(), rest.split_first()) {
            self.partial.push(byte);
            rest = behind;
            match std::str::from_utf8(&self.partial) {
                Ok(_) => self.partial.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(ScanError::NotUtf8 { at: self.offset }),
            }
        }
        if simdutf8::basic::from_utf8(rest).is_ok() {
            return Ok(());
        }
        match std::str::from_utf8(rest) {
            Err(error) if error.error_len().is_none() => {
                self.partial.extend_from_slice(&rest[error.valid_up_to()..]);
                Ok(())
            }
            Err(error) => {
                let at = self.offset + chunk.len() - rest.len() + error.valid_up_to();
                Err(ScanError::NotUtf8 { at })
            }
            Ok(_) => Ok(()),
        }
    }
}

const AN_ESCAPE: &str = "an escape sequence";

fn unexpected(at: usize, expected: &'static str) -> ScanError {
    ScanError::Syntax { at, expected }
}

fn expected(state: State) -> &'static str {
    match state {
        State::KeyOrEnd => "a key or '}'",
        State::Key => "a key",
        State::Colon => "':'",
        State::CommaOrEnd => "',' or a closing bracket",
        State::Literal(_) => "true, false or null",
        State::Done => "the end of the text",
        State::Start | State::Value | State::ValueOrEnd | State::String { .. } | State::Number(_) => {
            "a value"
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn check(body: &[u8], split: usize) -> Result<(), ScanError> {
        let mut validator = StreamValidator::default();
        let (first, second) = body.split_at(split.min(body.len()));
        validator.feed(first)?;
        validator.feed(second)?;
        validator.finish()
    }

    fn accepted(body: &[u8]) -> bool {
        let whole = check(body, 0);
        for split in 1..=body.len() {
            let verdict = check(body, split);
            match whole {
                // A sequence that is cut in two is reported where its end is missing.
                Err(ScanError::NotUtf8 { .. }) => assert!(verdict.is_err(), "{body:?} at {split}"),
                _ => assert_eq!(verdict, whole, "{body:?} at {split}"),
            }
        }
        whole.is_ok()
    }

    #[test]
    fn accepts_json_and_nothing_else() {
        for body in [
            r#"{"a":[1,-0.5e+3,true,false,null,{}],"b":"\u00e9\n é 🦀"}"#,
            " [ ] ",
            "0",
            "-1.5E9",
            "\"x\"",
            "",
            "{}\r\n",
        ] {
            assert!(accepted(body.as_bytes()), "{body}");
        }
        for body in [
            "{",
            "}",
            "[1,]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "[1}",
            "{\"a\":1]",
            "01",
            "1.",
            "1e",
            "-",
            "tru",
            "truee",
            "nul",
            "{} {}",
            "{a:1}",
            "{'a':1}",
            "/* */{}",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"a\nb\"",
            " ",
            "\u{feff}{}",
            "NaN",
            "{\"a\":1 \"b\":2}",
            "[1 2]",
            "\u{c}{}",
        ] {
            assert!(!accepted(body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn refuses_other_encodings() {
        for body in [
            br#"{"model":"a"}"#.iter().flat_map(|byte| [*byte, 0]).collect::<Vec<u8>>(),
            br#"{"model":"a"}"#.iter().flat_map(|byte| [0, *byte]).collect(),
            b"\xff\xfe{\0}\0".to_vec(),
            b"{\"a\":\"\xff\"}".to_vec(),
            b"{\"a\":\"\xc3\"}".to_vec(),
            b"\"\xe2\x82".to_vec(),
        ] {
            assert!(!accepted(&body), "{body:?}");
        }
        assert!(matches!(check(&[b'['; 200], 50), Err(ScanError::TooDeep { .. })));
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in "[\\[\\]{}\",:\\\\0-9eE.+\\-a-u \n]{0,24}", split in 0_usize..24) {
            let reference = serde_json::from_str::<Value>(&text);
            // Numbers beyond a float's range are still grammatical.
            let accepted = reference.is_ok() || reference.is_err_and(|error| error.to_string().contains("out of range"));
            let split = (0..=split.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            // serde_json rejects lone surrogates and an empty text.
            if !text.contains("\\u") && !text.is_empty() {
                prop_assert_eq!(check(text.as_bytes(), split).is_ok(), accepted, "{}", text);
                prop_assert_eq!(check(text.as_bytes(), split), check(text.as_bytes(), 0), "{}", text);
            }
        }
    }
}
