//! Secrets that are known by their value, taken out of texts that are kept.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use bytes::Bytes;
use domain::fault::Fault;
use domain::resources::provider::Provider;
use domain::secret::Secret;

use super::masker::{Masker, SecretSet};
use super::redact::{HIDDEN, is_sensitive};

/// What is shorter is no secret, and taking it out would spoil what is left.
const SHORTEST: usize = 8;

/// All secrets of the configuration, looked for in one pass.
#[derive(Default)]
pub struct Scrubber {
    finder: Option<AhoCorasick>,
    set: Option<SecretSet>,
}

impl Scrubber {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words: Vec<String> = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.len() >= SHORTEST) {
            // In JSON it may stand with escapes.
            let quoted = serde_json::to_string(secret).unwrap_or_default();
            words.push(quoted.trim_matches('"').to_owned());
            words.push(secret.to_owned());
        }
        words.sort();
        words.dedup();
        let finder = (!words.is_empty()).then_some(&words).and_then(|words| {
            // The longest wins, so that nothing of a secret is left when another is its beginning.
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(words);
            built.inspect_err(|error| tracing::error!(%error, "secrets cannot be looked for")).ok()
        });
        let set = finder.clone().map(|finder| SecretSet::new(finder, words));
        Self { finder, set }
    }

    /// Masks secrets in a body that passes in chunks.
    pub fn masker(&self) -> Masker {
        Masker::new(self.set.clone())
    }

    pub fn finds_in(&self, text: &[u8]) -> bool {
        self.finder.as_ref().is_some_and(|finder| finder.is_match(text))
    }

    /// The operator's own secrets and those of all providers.
    pub fn of<'a>(secrets: &'a [Secret], providers: impl Iterator<Item = &'a Provider>) -> Self {
        let of_provider = |provider: &'a Provider| {
            let headers = provider.headers.iter().filter(|(name, _)| is_sensitive(name));
            let key = provider.api_key.as_ref().map(Secret::reveal);
            key.into_iter().chain(headers.map(|(_, value)| value.as_str()))
        };
        Self::new(secrets.iter().map(Secret::reveal).chain(providers.flat_map(of_provider)))
    }

    /// A text without any of them, and without `own`.
    pub fn clean<'a>(&self, text: &'a str, own: Option<&str>) -> Cow<'a, str> {
        let own = own.filter(|own| own.len() >= SHORTEST);
        // A letter may be written as an escape: then the text is kept as it reads.
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

/// JSON as it reads, where visible letters are written as escapes that they do not need; none when there are none.
fn plainly(text: &str) -> Option<String> {
    // Most texts have none, and are not copied.
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
            // These stand in JSON with a short escape.
            Some(letter @ ('"' | '\\')) => plain.extend(['\\', letter]),
            Some(letter) => plain.push(letter),
            None => plain.push_str(escape.get(..2).unwrap_or("\\")),
        }
        // What is no escape is a backslash before a letter of several bytes, or at the end.
        let length = if letter.is_some() { length } else { escape.get(..2).map_or(1, str::len) };
        rest = &escape[length..];
    }
    plain.push_str(rest);
    (plain.len() < text.len()).then_some(plain)
}

/// What four hexadecimal digits stand for, if that can be seen.
fn letter(digits: &str) -> Option<char> {
    let code = u32::from_str_radix(digits, 16).ok()?;
    char::from_u32(code).filter(|letter| !letter.is_control())
}

impl Scrubber {
    /// A provider's refusal, which may repeat what it was sent.
    pub fn scrub(&self, fault: &mut Fault) {
        if let Cow::Owned(clean) = self.clean(&fault.message, None) {
            fault.message = clean;
        }
        if let Cow::Owned(clean) = self.clean(&fault.code, None) {
            fault.code = Cow::Owned(clean);
        }
        if let Some(Cow::Owned(clean)) = fault.param.as_deref().map(|param| self.clean(param, None)) {
            fault.param = Some(clean);
        }
    }

    /// The same bytes with as many stars in the place of each secret: their number may have been announced.
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
    fn escapes_hide_nothing() {
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
    fn a_masked_body_is_as_long_as_it_was() {
        let scrubber = Scrubber::new(["sk-12345678"]);
        let masked = scrubber.mask(Bytes::from_static(b"{\"said\": \"sk-12345678\"}"));
        assert_eq!(masked, "{\"said\": \"***********\"}");
        assert_eq!(scrubber.mask(Bytes::from_static(b"nothing")), "nothing");
    }

    #[test]
    fn secrets_are_taken_out_wherever_they_stand() {
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
