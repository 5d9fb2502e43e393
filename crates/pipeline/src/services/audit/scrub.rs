//! Removes known secret values from text.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use bytes::Bytes;
use domain::fault::{Fault, FaultCode};
use domain::resources::provider::Provider;
use domain::secret::Secret;

use super::masker::{Masker, SecretSet};
use super::redact::{HIDDEN, is_sensitive};

/// Shorter values are not searched for: they are hardly secrets, and removing them would garble the text.
const SHORTEST: usize = 8;

/// Searches for all secrets of the configuration in one pass.
#[derive(Default)]
pub struct Scrubber {
    finder: Option<AhoCorasick>,
    set: Option<SecretSet>,
}

impl Scrubber {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words: Vec<String> = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.len() >= SHORTEST) {
            // In JSON the secret may be escaped.
            let quoted = serde_json::to_string(secret).unwrap_or_default();
            words.push(quoted.trim_matches('"').to_owned());
            words.push(secret.to_owned());
        }
        words.sort();
        words.dedup();
        let finder = (!words.is_empty()).then_some(&words).and_then(|words| {
            // The longest match wins, so that nothing of a secret is left if another one is its prefix.
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(words);
            built.inspect_err(|error| tracing::error!(%error, "secret scrubber could not be built")).ok()
        });
        let set = finder.clone().map(|finder| SecretSet::new(finder, words));
        Self { finder, set }
    }

    /// Creates a masker for a body that passes in chunks.
    pub fn masker(&self) -> Masker {
        Masker::new(self.set.clone())
    }

    pub fn finds_in(&self, text: &[u8]) -> bool {
        self.finder.as_ref().is_some_and(|finder| finder.is_match(text))
    }

    /// Creates a scrubber for the operator's own secrets and those of all providers.
    pub fn of<'a>(secrets: &'a [Secret], providers: impl Iterator<Item = &'a Provider>) -> Self {
        let of_provider = |provider: &'a Provider| {
            let headers = provider.headers.iter().filter(|(name, _)| is_sensitive(name));
            let key = provider.api_key.as_ref().map(Secret::reveal);
            key.into_iter().chain(headers.map(|(_, value)| value.as_str()))
        };
        Self::new(secrets.iter().map(Secret::reveal).chain(providers.flat_map(of_provider)))
    }

    /// Replaces all known secrets, and the caller's `own` one, with `***`.
    pub fn clean<'a>(&self, text: &'a str, own: Option<&str>) -> Cow<'a, str> {
        let own = own.filter(|own| own.len() >= SHORTEST);
        // A secret may be hidden by JSON escapes: then the unescaped text is kept.
        let hides = |plain: &String| {
            own.is_some_and(|own| plain.contains(own))
                || self.finder.as_ref().is_some_and(|finder| finder.is_match(plain))
        };
        let mut clean = plainly(text).filter(hides).map_or(Cow::Borrowed(text), Cow::Owned);
        if let Some(own) = own.filter(|own| clean.contains(*own)) {
            clean = Cow::Owned(clean.replace(own, HIDDEN));
        }
        match &self.finder {
            Some(finder) if finder.is_match(&*clean) => {
                let mut replaced = String::with_capacity(clean.len());
                finder.replace_all_with(&clean, &mut replaced, |_, _, out| {
                    out.push_str(HIDDEN);
                    true
                });
                Cow::Owned(replaced)
            }
            _ => clean,
        }
    }
}

/// Decodes JSON escapes of characters that need none; `None` if there are none.
fn plainly(text: &str) -> Option<String> {
    // Most texts have no backslash and are not copied.
    text.find('\\')?;
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        plain.push_str(before);
        let (letter, length) = match escape.as_bytes().get(1) {
            Some(b'/') => (Some('/'), 2),
            Some(b'u') => (escape.get(2..6).and_then(letter), 6),
            _ => (None, 2),
        };
        match letter {
            // These characters keep a short escape, as JSON requires one.
            Some(letter @ ('"' | '\\')) => plain.extend(['\\', letter]),
            Some(letter) => plain.push(letter),
            None => plain.push_str(escape.get(..2).unwrap_or("\\")),
        }
        // A backslash at the end or before a multi-byte character is not an escape.
        let length = if letter.is_some() { length } else { escape.get(..2).map_or(1, str::len) };
        rest = &escape[length..];
    }
    plain.push_str(rest);
    (plain.len() < text.len()).then_some(plain)
}

/// The character of four hexadecimal digits, unless it is a control character.
fn letter(digits: &str) -> Option<char> {
    let code = u32::from_str_radix(digits, 16).ok()?;
    char::from_u32(code).filter(|letter| !letter.is_control())
}

impl Scrubber {
    /// Removes secrets from a provider's error, which may repeat what it was sent.
    pub fn scrub(&self, fault: &mut Fault) {
        if let Cow::Owned(clean) = self.clean(&fault.message, None) {
            fault.message = clean;
        }
        if let FaultCode::Provider(text) | FaultCode::ProviderQuota(text) = &mut fault.code
            && let Cow::Owned(clean) = self.clean(text, None)
        {
            *text = clean.into();
        }
        if let Some(Cow::Owned(clean)) = fault.param.as_deref().map(|param| self.clean(param, None)) {
            fault.param = Some(clean);
        }
    }

    /// Masks each secret with asterisks of the same number: `Content-Length` may have been sent already.
    pub fn mask(&self, bytes: Bytes) -> Bytes {
        let Some(finder) = self.finder.as_ref().filter(|finder| finder.is_match(&bytes)) else {
            return bytes;
        };
        let mut masked = bytes.to_vec();
        for found in finder.find_iter(&bytes) {
            masked[found.range()].fill(b'*');
        }
        masked.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_secrets_are_masked() {
        let scrubber = Scrubber::new(["sk-12345678", "with/slash", "geländer"]);
        for (text, expected) in [
            (r#"{"a":"sk\u002d12345678"}"#, r#"{"a":"***"}"#),
            (r#"{"a":"\u0073k-1234567\u0038 \n é"}"#, r#"{"a":"*** \n é"}"#),
            (r#"{"a":"with\/slash"}"#, r#"{"a":"***"}"#),
            (r#"{"a":"\u006fwn-secret-key"}"#, r#"{"a":"***"}"#),
            (r#"{"a":"\u0041 \u0022 \\u002d \u00"}"#, r#"{"a":"\u0041 \u0022 \\u002d \u00"}"#),
            (r#"{"a":"é\é sk\u002d12345678"}"#, r#"{"a":"é\é ***"}"#),
            (r#"{"a":"gel\u00e4nder \u0022x"}"#, r#"{"a":"*** \"x"}"#),
            (r#"{"a":"sk\\u002d12345678"}"#, r#"{"a":"sk\\u002d12345678"}"#),
            ("ends in \\", "ends in \\"),
            ("é\\é\\u00é", "é\\é\\u00é"),
        ] {
            assert_eq!(scrubber.clean(text, Some("own-secret-key")), expected, "{text}");
        }
    }

    #[test]
    fn masking_keeps_the_length() {
        let scrubber = Scrubber::new(["sk-12345678"]);
        let masked = scrubber.mask(Bytes::from_static(b"{\"said\": \"sk-12345678\"}"));
        assert_eq!(masked, "{\"said\": \"***********\"}");
        assert_eq!(scrubber.mask(Bytes::from_static(b"nothing")), "nothing");
    }

    #[test]
    fn secrets_are_masked_at_every_position() {
        let scrubber = Scrubber::new(["sk-12345678", "sk-12345678-long", "quo\"te\\d", "short"]);
        for (text, expected) in [
            ("key sk-12345678.", "key ***."),
            ("sk-12345678-longer", "***er"),
            ("sk-1234567", "sk-1234567"),
            (r#"{"a":"quo\"te\\d"}"#, r#"{"a":"***"}"#),
            ("a short word", "a short word"),
            ("my own-secret-key and sk-12345678", "my *** and ***"),
        ] {
            assert_eq!(scrubber.clean(text, Some("own-secret-key")), expected, "{text}");
        }
        assert!(matches!(Scrubber::default().clean("text", None), Cow::Borrowed("text")));
    }
}
