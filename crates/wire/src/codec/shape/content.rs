//! Searches of a body's bytes for content that no top-level member shows. A substring search is many times faster than
//! parsing, and may only err towards more: a name in a text counts, too.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::names;
use super::quoted_names::QuotedNames;

static EXTERNAL_CONTEXT: QuotedNames = QuotedNames::new(&names::EXTERNAL_CONTEXT);
static IMAGES: QuotedNames = QuotedNames::new(&names::IMAGES);
static FINDERS: LazyLock<Finders> = LazyLock::new(Finders::default);

/// Prepared searches: to prepare one takes longer than to search a short body.
struct Finders {
    audio: Finder<'static>,
    cache_control: Finder<'static>,
    ttl: Finder<'static>,
    json_schema: Finder<'static>,
    escape: Finder<'static>,
}

impl Default for Finders {
    fn default() -> Self {
        Self {
            audio: Finder::new("audio"),
            cache_control: Finder::new("cache_control"),
            ttl: Finder::new("ttl"),
            json_schema: Finder::new("\"json_schema\""),
            escape: Finder::new("\\u00"),
        }
    }
}

/// A body, or a part of one, whose content is searched.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a>(&'a [u8]);

impl<'a> Content<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// The number of image parts, at most. `None` if the provider may read input that is not in these bytes, such as files,
    /// stored objects and the results of its own tools, or if a name may be hidden from the search.
    pub fn images_of_whole_input(self) -> Option<u64> {
        let mut images = 0;
        for at in memchr::memchr_iter(b'"', self.0) {
            let rest = &self.0[at..];
            if EXTERNAL_CONTEXT.begin(rest) {
                return None;
            }
            images += u64::from(IMAGES.begin(rest));
        }
        (!self.hides_names()).then_some(images)
    }

    pub fn has_images(self) -> bool {
        memchr::memchr_iter(b'"', self.0).any(|at| IMAGES.begin(&self.0[at..]))
    }

    pub fn audio(self) -> bool {
        self.mentions(&FINDERS.audio)
    }

    /// Whether the request asks for its prompt to be written to the provider's prompt cache.
    pub fn cache_write(self) -> bool {
        self.mentions(&FINDERS.cache_control)
    }

    /// Whether the request sets a lifetime for the cached prompt.
    pub fn cache_lifetime(self) -> bool {
        self.mentions(&FINDERS.ttl)
    }

    pub fn json_schema(self) -> bool {
        self.mentions(&FINDERS.json_schema)
    }

    fn mentions(self, word: &Finder<'_>) -> bool {
        word.find(self.0).is_some()
    }

    /// Whether a letter, digit or underscore is written as a `\u00XX` escape. That could hide a name from the searches
    /// above, and no ordinary encoder does it.
    fn hides_names(self) -> bool {
        FINDERS.escape.find_iter(self.0).any(|at| {
            let code = self.0.get(at + 4..at + 6).and_then(|code| std::str::from_utf8(code).ok());
            let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
            code.is_some_and(|code| code.is_ascii_alphanumeric() || code == b'_')
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_letters_are_seen_and_other_escapes_are_not() {
        let hides_names = |body: &'static str| Content::of(body.as_bytes()).hides_names();
        assert!(hides_names(r#"{"\u0069mage_url":1}"#));
        assert!(hides_names(r#"{"file\u005fid":1}"#));
        assert!(!hides_names(r#"{"a":"\u003cb\u003e \u00e9 \u0022 \u00"}"#));
    }
}
