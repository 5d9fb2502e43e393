//! Finds a key by a byte search, without scanning the text before it.

use memchr::memchr2;
use memchr::memmem::Finder;

/// Position of the value of the next occurrence of a key at or after `from`, at any depth. `key` includes the quotes: a
/// quote inside a JSON string is escaped, so that this text followed by a colon can only be a key.
pub fn find_key(data: &[u8], from: usize, key: &Finder<'_>) -> Option<usize> {
    let mut at = from;
    loop {
        at += key.find(&data[at..])? + key.needle().len();
        if let Some(value) = value_after(&data[at..]) {
            return Some(data.len() - value.len());
        }
    }
}

/// The first member with this key, if it is a string without escapes.
pub fn find_plain_string<'a>(data: &'a [u8], key: &Finder<'_>) -> Option<&'a str> {
    let text = data[find_key(data, 0, key)?..].strip_prefix(b"\"")?;
    let (text, end) = text.split_at(memchr2(b'"', b'\\', text)?);
    if end.starts_with(b"\"") { std::str::from_utf8(text).ok() } else { None }
}

/// The text from the value on, if `rest` follows a key.
pub fn value_after(rest: &[u8]) -> Option<&[u8]> {
    rest.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_name_before_a_colon() {
        let data = br#"{"a":"id","b":["id"],"c":{"id" : 5},"id":6}"#;
        let key = Finder::new(b"\"id\"");
        let first = find_key(data, 0, &key).unwrap();
        assert_eq!(&data[first..=first], b"5");
        let second = find_key(data, first, &key).unwrap();
        assert_eq!(&data[second..=second], b"6");
        assert_eq!(find_key(data, second, &key), None);
    }

    #[test]
    fn a_plain_string_is_borrowed() {
        let find = |data: &'static str| find_plain_string(data.as_bytes(), &Finder::new(b"\"id\""));
        assert_eq!(find(r#"{"id": "a-1","x":"}"}"#), Some("a-1"));
        assert_eq!(find(r#"{"id":""}"#), Some(""));
        for other in [r#"{"id":"a\n"}"#, r#"{"id":5}"#, r#"{"id":"cut"#, r#"{"x":"id"}"#] {
            assert_eq!(find(other), None, "{other}");
        }
    }
}
