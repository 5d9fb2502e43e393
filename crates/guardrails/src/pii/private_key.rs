//! Private keys in PEM form.

use super::PiiRule;
use super::boundary::run;
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

/// The begin marker. The end marker is optional, because a model may stop before it.
pub const RULE: PiiRule = PiiRule::new(
    PiiKind::PrivateKey,
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    check,
);

const LONGEST_BODY: usize = 16 << 10;
const LONGEST_HEADER_LINE: usize = 256;
const END_MARKER: &str = "-----END ";
const LONGEST_END_MARKER: usize = 80;
/// Shorter runs are words of the text behind a key, unless they close its last line.
const SHORTEST_LINE: usize = 20;

/// The next part of a key's body.
enum Part {
    /// A part with this length.
    Inside(usize),
    /// The end marker, with this length.
    EndMarker(usize),
    Outside,
    Unknown,
}

fn check(found: &Occurrence<'_>) -> Verdict {
    let rest = found.rest();
    let mut end = 0;
    let mut position = 0;
    while position < rest.len().min(LONGEST_BODY) {
        position += space(&rest[position..]);
        if rest[position..].is_empty() || rest[position..] == *"\\" {
            break;
        }
        match next_part(&rest[position..], found.is_end(), end > 0) {
            Part::Inside(length) => position += length,
            Part::EndMarker(length) => return found.part(0..found.matched().len() + position + length),
            Part::Outside => return found.part(0..found.matched().len() + end),
            Part::Unknown => return Verdict::NeedsMore,
        }
        end = position;
    }
    if position < LONGEST_BODY && !found.is_end() {
        return Verdict::NeedsMore;
    }
    found.part(0..found.matched().len() + end)
}

fn next_part(text: &str, is_end: bool, has_body: bool) -> Part {
    if let Some(marker) = end_marker(text, is_end) {
        return marker;
    }
    let (line, is_open) = run(text, is_end, LONGEST_BODY, is_base64);
    if is_open {
        return Part::Unknown;
    }
    if !has_body && line > 0 && text[line..].starts_with([':', '-']) {
        let (header, is_open) = run(text, is_end, LONGEST_HEADER_LINE, |byte| byte != b'\n' && byte != b'\\');
        return if is_open { Part::Unknown } else { Part::Inside(header) };
    }
    if line >= SHORTEST_LINE {
        return Part::Inside(line);
    }
    if line == 0 || !has_body {
        return Part::Outside;
    }
    let has_signs = text[..line].bytes().any(|byte| !byte.is_ascii_alphabetic());
    if has_signs { Part::Inside(line) } else { short_line(&text[line..], is_end, line) }
}

/// A short line of letters belongs to the key if the end marker follows.
fn short_line(following: &str, is_end: bool, length: usize) -> Part {
    let rest = &following[space(following)..];
    let is_cut = rest.is_empty() || rest == "\\";
    match end_marker(rest, is_end) {
        Some(_) => Part::Inside(length),
        None if is_cut && !is_end => Part::Unknown,
        None => Part::Outside,
    }
}

/// The end marker at the start of a text, or that there may be one.
fn end_marker(text: &str, is_end: bool) -> Option<Part> {
    let shown = text.len().min(END_MARKER.len());
    if shown == 0 || !text.is_char_boundary(shown) || !END_MARKER.starts_with(&text[..shown]) {
        return None;
    }
    let label = text.get(END_MARKER.len()..).unwrap_or_default();
    let (length, is_open) = run(label, is_end, LONGEST_END_MARKER, |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
    });
    let (dashes, dashes_open) = run(&label[length..], is_end, 5, |byte| byte == b'-');
    if shown < END_MARKER.len() || is_open || dashes_open {
        return Some(if is_end { Part::EndMarker(shown + length + dashes) } else { Part::Unknown });
    }
    Some(Part::EndMarker(END_MARKER.len() + length + dashes))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The length of white space at the start of a text. Line ends may be written as escapes.
fn space(text: &str) -> usize {
    let mut rest = text;
    while let Some(next) =
        ["\\n", "\\r", "\n", "\r", " ", "\t"].iter().find_map(|space| rest.strip_prefix(space))
    {
        rest = next;
    }
    text.len() - rest.len()
}
