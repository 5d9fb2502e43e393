//! Boundaries of values: whether a value stands alone or is a part of something longer.

use crate::detector::Occurrence;

/// The relation of a value to the text behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    Clear,
    Joined,
    /// More text has to arrive.
    Unknown,
}

/// Whether the value stands alone on its left side.
pub fn is_clear_before(found: &Occurrence<'_>) -> bool {
    let (_, before) = found.context();
    let mut previous = before.chars().rev();
    match previous.next() {
        Some(last) if is_word(last) => false,
        Some('-' | '/') => !previous.next().is_some_and(is_word),
        Some('.' | ':' | '+' | '@' | '=' | '%') => !previous.next().is_some_and(|last| last.is_ascii_digit()),
        _ => true,
    }
}

/// The boundary between a value and the text behind it.
pub fn after(rest: &str, is_end: bool) -> Boundary {
    let undecided = if is_end { Boundary::Clear } else { Boundary::Unknown };
    let mut following = rest.chars();
    match following.next() {
        None => undecided,
        Some(next) if is_word(next) => Boundary::Joined,
        Some(joint @ ('-' | '.' | '/' | ':' | '+' | '@')) => match following.next() {
            None => undecided,
            Some(next) if next.is_ascii_digit() || joint == '-' && is_word(next) => Boundary::Joined,
            Some(_) => Boundary::Clear,
        },
        Some(_) => Boundary::Clear,
    }
}

/// The length of the run of ASCII characters that have a property, up to a limit, and whether more may arrive.
pub fn run(text: &str, is_end: bool, limit: usize, is_member: impl Fn(u8) -> bool) -> (usize, bool) {
    let length = text.bytes().take(limit).take_while(|byte| byte.is_ascii() && is_member(*byte)).count();
    (length, length == text.len() && length < limit && !is_end)
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
