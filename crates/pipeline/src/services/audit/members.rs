//! Redacts the members of a JSON body whose names mark them as secrets. The text may be truncated anywhere.

use std::borrow::Cow;

use wire::json;

use super::redact::HIDDEN;

/// Names in lower case, with `_` for `-`. Words that are common in conversations (`key`, `token`) are left out.
const NAMES: [&str; 13] = [
    "api_key",
    "apikey",
    "x_api_key",
    "authorization",
    "password",
    "passwd",
    "secret",
    "client_secret",
    "webhook_secret",
    "access_token",
    "refresh_token",
    "id_token",
    "private_key",
];

/// Replaces the value of each such member with `***` if it is a string, an array or an object.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(quote) = text[at..].find('"').map(|offset| at + offset) {
        let end = end_of_string(text, quote);
        let inside = text.get(quote + 1..end.saturating_sub(1)).unwrap_or_default();
        at = end;
        let Some(value) = value_of(text, end).filter(|_| is_secret(inside)) else { continue };
        at = end_of_value(text, value);
        if at > value {
            clean.push_str(&text[kept..value]);
            clean.push('"');
            clean.push_str(HIDDEN);
            clean.push('"');
            kept = at;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[kept..]);
    Cow::Owned(clean)
}

fn is_secret(name: &str) -> bool {
    let longest = NAMES.iter().map(|name| name.len()).max().unwrap_or_default();
    name.len() <= longest && NAMES.contains(&&*name.to_ascii_lowercase().replace('-', "_"))
}

/// The offset of the value, if the string that ends at `after` is the name of a member.
fn value_of(text: &str, after: usize) -> Option<usize> {
    let rest = text[after..].trim_start().strip_prefix(':')?.trim_start();
    (!rest.is_empty()).then(|| text.len() - rest.len())
}

/// The offset after the closing quote, or the end of the text.
fn end_of_string(text: &str, quote: usize) -> usize {
    json::string_extent(text.as_bytes(), quote + 1).map_or(text.len(), |(end, _)| end + 1)
}

/// The offset after a string, an array or an object. Returns `start` for numbers and literals, which are not redacted.
fn end_of_value(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, start);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(text, at),
            b'{' | b'[' => (depth, at) = (depth + 1, at + 1),
            b'}' | b']' => (depth, at) = (depth.saturating_sub(1), at + 1),
            _ if depth == 0 => return at,
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_with_secret_names_are_masked() {
        for (text, expected) in [
            (r#"{"api_key": "abc", "n": 1}"#, r#"{"api_key": "***", "n": 1}"#),
            (r#"{"a":{"Authorization":"Bearer x\"y"}}"#, r#"{"a":{"Authorization":"***"}}"#),
            (r#"{"x-api-key":["a","b"],"password":{"p":"}"}}"#, r#"{"x-api-key":"***","password":"***"}"#),
            (r#"{"secret": "cut off in the mid"#, r#"{"secret": "***""#),
            (r#"{"password": 5, "secret": null}"#, r#"{"password": 5, "secret": null}"#),
            (
                r#"{"text": "api_key", "token": "Hi", "key": "k"}"#,
                r#"{"text": "api_key", "token": "Hi", "key": "k"}"#,
            ),
            (r#"["secret", "password"]"#, r#"["secret", "password"]"#),
            ("data: {\"api_key\":\"x\"}\n\n", "data: {\"api_key\":\"***\"}\n\n"),
            (r#"{"é\"#, r#"{"é\"#),
            ("", ""),
        ] {
            assert_eq!(redact(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[\\\\\"{}\\[\\]:,é a]{0,12}(\"secret\")?[\\\\\"{}\\[\\]:,é a]{0,20}") {
            let _ = redact(&text);
        }
    }
}
