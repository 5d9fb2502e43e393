//! Function names: Gemini allows fewer characters than other formats.
//!
//! A name begins with a letter or underscore, followed by letters, digits and `_.:-`, 64 characters in all. Other bytes
//! are escaped as `:XX`, so that the original name can be restored from the model's call without a table.

use std::borrow::Cow;

const LONGEST: usize = 64;
/// Prefix for names whose first character is not allowed in first position.
const LEAD: &str = "_::";

pub fn sent(name: &str) -> Cow<'_, str> {
    let bytes = name.as_bytes();
    let first = bytes.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let plain = first && (0..bytes.len()).all(|at| is_plain(bytes, at));
    if plain && bytes.len() <= LONGEST {
        return Cow::Borrowed(name);
    }
    let mut written = if first { String::new() } else { LEAD.to_owned() };
    for (at, byte) in bytes.iter().enumerate() {
        if is_plain(bytes, at) {
            written.push(char::from(*byte));
        } else {
            written.push_str(&format!(":{byte:02X}"));
        }
    }
    Cow::Owned(shortened(written))
}

pub fn restored(name: &str) -> Cow<'_, str> {
    let Some(found) = name.find(':') else { return Cow::Borrowed(name) };
    let (mut bytes, mut at) = match name.strip_prefix(LEAD) {
        Some(_) => (Vec::new(), LEAD.len()),
        None => (name.as_bytes()[..found].to_vec(), found),
    };
    let written = name.as_bytes();
    while at < written.len() {
        match escaped(&written[at..]) {
            Some(byte) => {
                bytes.push(byte);
                at += 3;
            }
            None => {
                bytes.push(written[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Whether the byte needs no escape. A colon is kept only if it cannot be read as the start of an escape or of the
/// prefix.
fn is_plain(bytes: &[u8], at: usize) -> bool {
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(byte);
    match bytes.get(at) {
        Some(b':') => {
            escaped(&bytes[at..]).is_none()
                && bytes.get(at + 1).is_none_or(|next| legal(next) && *next != b':')
        }
        Some(byte) => legal(byte),
        None => true,
    }
}

fn escaped(bytes: &[u8]) -> Option<u8> {
    let [b':', high, low, ..] = bytes else { return None };
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}

/// Truncates a name that is too long and appends a hash of the full name, to keep names distinct.
fn shortened(name: String) -> String {
    if name.len() <= LONGEST {
        return name;
    }
    let print =
        name.bytes().fold(0x811c_9dc5_u32, |print, byte| (print ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{}_{print:08x}", &name[..LONGEST - 9])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn valid_names_are_unchanged_and_others_escaped() {
        for name in ["read_file", "a.b-c", "ns:tool", "_x"] {
            assert_eq!(sent(name), name);
        }
        assert_eq!(sent("mcp/read file"), "mcp:2Fread:20file");
        assert_eq!(sent("3d"), "_::3d");
        let long = "x".repeat(80);
        assert_eq!(sent(&long).len(), 64);
        assert_ne!(sent(&long), sent(&"x".repeat(81)));
    }

    proptest! {
        #[test]
        fn escaped_names_round_trip(name in "[a-zA-Z0-9_:./ é-]{1,14}") {
            let sent = sent(&name);
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
            prop_assert!(sent.bytes().all(legal) && sent.len() <= 64);
            prop_assert!(sent.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
            prop_assert_eq!(restored(&sent), name.as_str());
        }
    }
}
