//! Redaction inside of JSON that arrives in fragments, such as the arguments of tool calls.
//!
//! Strings are decoded, redacted and written as they were, except for what is replaced. Keys are inspected and not
//! rewritten. A number with a finding becomes a string. Text that is no JSON is redacted as plain text.

mod escape;
mod position;
mod raw_text;
mod string_token;

use std::sync::Arc;

use domain::json::quote;

use crate::detector::{Detector, TooComplex};
use crate::kind::Label;
use crate::placeholder::Masker;
use crate::redact::{apply, redact};
use crate::stream::{MAX_HELD, StreamError, StreamRedactor};
use position::{JsonPosition, is_structural, is_white_space};
use string_token::StringToken;

/// Bytes of a number or a literal. Longer ones are redacted as plain text.
const LONGEST_BARE: usize = 1024;

/// Redacts one JSON text that arrives in fragments.
pub struct JsonStringRedactor {
    detector: Arc<Detector>,
    /// Bytes that may be held back.
    held_limit: usize,
    position: JsonPosition,
    token: Token,
    /// The last key, in which context words for the value may stand.
    key: String,
    key_findings: Vec<Label>,
}

/// The token that the text is in.
enum Token {
    Between,
    String(Box<StringToken>),
    /// A number or a literal as far as it has arrived, with the white space behind it.
    Bare(String),
    /// Text that is no JSON, up to the end.
    Plain(Box<StreamRedactor>),
}

/// A JSON text with its values redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedJson {
    pub text: String,
    /// Findings in keys, which were not rewritten.
    pub key_findings: Vec<Label>,
}

/// Redacts a whole JSON text.
pub fn redact_json(
    detector: &Arc<Detector>,
    json: &str,
    masker: &mut Masker,
) -> Result<RedactedJson, TooComplex> {
    let mut redactor = JsonStringRedactor::new(Arc::clone(detector));
    // The text is in memory already, so that nothing is gained by a limit.
    redactor.held_limit = usize::MAX;
    let mut text = String::with_capacity(json.len());
    let pushed = redactor.push(json, masker, &mut text);
    pushed.and_then(|()| redactor.finish(masker, &mut text)).map_err(|_| TooComplex)?;
    Ok(RedactedJson { text, key_findings: redactor.key_findings })
}

impl JsonStringRedactor {
    pub fn new(detector: Arc<Detector>) -> Self {
        Self {
            detector,
            held_limit: MAX_HELD,
            position: JsonPosition::default(),
            token: Token::Between,
            key: String::new(),
            key_findings: Vec::new(),
        }
    }

    /// Appends a fragment and writes what is decided to the output.
    pub fn push(
        &mut self,
        fragment: &str,
        masker: &mut Masker,
        output: &mut String,
    ) -> Result<(), StreamError> {
        let mut rest = fragment;
        while !rest.is_empty() {
            let length = match &mut self.token {
                Token::Between => self.push_between(rest, output),
                Token::Bare(_) => self.push_bare(rest, masker, output)?,
                Token::String(string) => {
                    let (length, is_closed) = string.push(rest, masker, output, &mut self.key_findings)?;
                    if is_closed {
                        self.close_string(masker, output)?;
                    }
                    length
                }
                Token::Plain(redactor) => {
                    redactor.push(rest, masker, output)?;
                    rest.len()
                }
            };
            rest = &rest[length..];
        }
        Ok(())
    }

    /// Decides about all held text: the JSON ends here.
    pub fn finish(&mut self, masker: &mut Masker, output: &mut String) -> Result<(), StreamError> {
        match std::mem::replace(&mut self.token, Token::Between) {
            Token::Between => Ok(()),
            Token::Bare(token) => self.write_bare(&token, masker, output),
            Token::String(mut string) => string.finish(masker, output, &mut self.key_findings),
            Token::Plain(mut redactor) => redactor.finish(masker, output),
        }
    }

    /// Findings in keys, which were not rewritten.
    pub fn key_findings(&self) -> &[Label] {
        &self.key_findings
    }

    fn push_between(&mut self, text: &str, output: &mut String) -> usize {
        let is_between = |byte: &u8| is_structural(*byte) || is_white_space(*byte);
        let length = text.bytes().take_while(is_between).count();
        text[..length].bytes().for_each(|byte| self.position.advance(byte));
        output.push_str(&text[..length]);
        match text.as_bytes().get(length) {
            Some(b'"') => {
                output.push('"');
                let is_key = self.position.is_key();
                let lead = if is_key { "" } else { &self.key };
                self.token = Token::String(Box::new(StringToken::new(self.redactor(lead), is_key)));
                length + 1
            }
            Some(_) => {
                self.token = Token::Bare(String::new());
                length
            }
            None => length,
        }
    }

    fn push_bare(
        &mut self,
        text: &str,
        masker: &mut Masker,
        output: &mut String,
    ) -> Result<usize, StreamError> {
        let Token::Bare(token) = &mut self.token else { return Ok(0) };
        let end = text.bytes().position(|byte| is_structural(byte) || byte == b'"');
        let length = end.unwrap_or(text.len());
        token.push_str(&text[..length]);
        let is_json = token.len() <= LONGEST_BARE
            && is_start_of_literal(token)
            && (end.is_none() || self.position.is_inside());
        if is_json && end.is_none() {
            return Ok(length);
        }
        let token = std::mem::take(token);
        if is_json {
            self.token = Token::Between;
            self.write_bare(&token, masker, output)?;
        } else {
            let mut redactor = self.redactor(&self.key);
            redactor.push(&token, masker, output)?;
            self.token = Token::Plain(Box::new(redactor));
        }
        Ok(length)
    }

    /// Writes a number or a literal, as a string if something in it is redacted.
    fn write_bare(&self, token: &str, masker: &mut Masker, output: &mut String) -> Result<(), StreamError> {
        let literal = token.trim_end_matches(|last| u8::try_from(last).is_ok_and(is_white_space));
        let edits = redact(&self.detector, literal, &self.key, masker)?;
        if edits.is_empty() {
            output.push_str(literal);
        } else {
            output.push_str(&quote(&apply(literal, &edits)));
        }
        output.push_str(&token[literal.len()..]);
        Ok(())
    }

    fn close_string(&mut self, masker: &mut Masker, output: &mut String) -> Result<(), StreamError> {
        if let Token::String(mut string) = std::mem::replace(&mut self.token, Token::Between) {
            string.finish(masker, output, &mut self.key_findings)?;
            output.push('"');
            if let Some(key) = string.into_key() {
                self.key = separate_words(&key);
            }
        }
        Ok(())
    }

    fn redactor(&self, lead: &str) -> StreamRedactor {
        StreamRedactor::with_lead(Arc::clone(&self.detector), lead).with_held_limit(self.held_limit)
    }
}

/// Whether a text may become a number or a literal, with white space behind it.
fn is_start_of_literal(text: &str) -> bool {
    let literal = text.trim_end_matches(|last| u8::try_from(last).is_ok_and(is_white_space));
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    literal.bytes().all(is_number) || ["true", "false", "null"].iter().any(|word| word.starts_with(literal))
}

/// A key with spaces between the words of a compound: `userSsn` becomes `user Ssn`.
fn separate_words(key: &str) -> String {
    let mut words = String::with_capacity(key.len() + 4);
    let mut was_lower = false;
    for character in key.chars() {
        if was_lower && character.is_uppercase() {
            words.push(' ');
        }
        was_lower = character.is_lowercase();
        words.push(character);
    }
    words
}

#[cfg(test)]
mod tests;
