//! JSON web tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::PiiRule;
use super::boundary::run;
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

/// The start of a header, `{"` in base64url.
pub const RULE: PiiRule = PiiRule::new(PiiKind::Jwt, r"(?-u:\b)eyJ[A-Za-z0-9_-]{9}", check);

const LONGEST_HEADER: usize = 1024;
const LONGEST_PART: usize = 8192;

fn check(found: &Occurrence<'_>) -> Verdict {
    let text = found.from(0);
    let (header, is_open) = run(text, found.is_end(), LONGEST_HEADER, is_base64url);
    if is_open {
        return Verdict::NeedsMore;
    }
    if !is_header(&text[..header]) {
        return Verdict::Invalid;
    }
    let mut end = header;
    // The payload and the signature of a signed token, or the four further parts of an encrypted one.
    for part in 0..4 {
        match text.as_bytes().get(end) {
            None if !found.is_end() => return Verdict::NeedsMore,
            Some(b'.') => {}
            _ if part == 0 => return Verdict::Invalid,
            _ => break,
        }
        let (length, is_open) = run(&text[end + 1..], found.is_end(), LONGEST_PART, is_base64url);
        if is_open {
            return Verdict::NeedsMore;
        }
        if length == 0 {
            break;
        }
        end += 1 + length;
    }
    if end == header { Verdict::Invalid } else { found.part(0..end) }
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Whether the text is a JSON object that names an algorithm or a type.
fn is_header(text: &str) -> bool {
    let Ok(decoded) = URL_SAFE_NO_PAD.decode(text) else { return false };
    let has = |name: &[u8]| memchr::memmem::find(&decoded, name).is_some();
    decoded.ends_with(b"}") && (has(br#""alg""#) || has(br#""typ""#) || has(br#""enc""#))
}
