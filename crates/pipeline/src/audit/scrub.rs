//! Secrets that are known by their value, taken out of texts that are kept.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use domain::resources::provider::Provider;
use domain::secret::Secret;

use super::redact::{HIDDEN, is_sensitive};

/// What is shorter is no secret, and taking it out would spoil what is left.
const SHORTEST: usize = 8;

/// All secrets of the configuration, looked for in one pass.
#[derive(Default)]
pub struct Scrubber {
    finder: Option<AhoCorasick>,
    longest: usize,
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
        let longest = words.iter().map(String::len).max().unwrap_or_default();
        let finder = (!words.is_empty()).then_some(&words).and_then(|words| {
            // The longest wins, so that nothing of a secret is left when another is its beginning.
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(words);
            built.inspect_err(|error| tracing::error!(%error, "secrets cannot be looked for")).ok()
        });
        Self { finder, longest }
    }

    /// The operator's own secrets and those of all providers.
    pub fn of<'a>(secrets: &'a [Secret], providers: impl Iterator<Item = &'a Provider>) -> Self {
        let of_provider = |provider: &'a Provider| {
            let headers = provider.headers.iter().filter(|(name, _)| is_sensitive(name));
            let key = provider.api_key.as_ref().map(Secret::reveal);
            key.into_iter().chain(headers.map(|(_, value)| header_value(value)))
        };
        Self::new(secrets.iter().map(Secret::reveal).chain(providers.flat_map(of_provider)))
    }

    /// A text without any of them, and without `own`.
    pub fn clean<'a>(&self, text: &'a str, own: Option<&str>) -> Cow<'a, str> {
        let mut clean = Cow::Borrowed(text);
        if let Some(own) = own.filter(|own| own.len() >= SHORTEST && text.contains(own)) {
            clean = Cow::Owned(text.replace(own, HIDDEN));
        }
        match &self.finder {
            Some(finder) if finder.is_match(&*clean) => {
                let replaced = finder.replace_all_with_bytes_free(&clean);
                Cow::Owned(replaced)
            }
            _ => clean,
        }
    }

    /// A secret that is cut in two is not found: so much more has to be looked at than is kept.
    pub fn longest(&self) -> usize {
        self.longest
    }
}
