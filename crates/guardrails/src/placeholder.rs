//! Placeholders for redacted values: fixed, by kind, or reversible with a map that belongs to one call.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, LazyLock};

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::kind::{Label, PiiKind};

/// Characters of a code: 25 bits. A code is longer if two values of one call would have the same.
const CODE_LENGTH: usize = 5;
const CODE_ALPHABET: [u8; 32] = *b"abcdefghijklmnopqrstuvwxyz234567";
/// The replacement for a match of a configured pattern that has no replacement of its own.
const REDACTED: &str = "[REDACTED]";

/// The key of a caller's scope. The same value gets the same placeholder in all calls with the same key.
#[derive(Clone)]
pub struct ScopeKey(Arc<LazyLock<Hmac<Sha256>, DeriveKey>>);

type DeriveKey = Box<dyn FnOnce() -> Hmac<Sha256> + Send>;

impl ScopeKey {
    pub fn new(key: &[u8; 32]) -> Self {
        let key = *key;
        Self::derived(move || key)
    }

    /// A key that is derived when the first placeholder needs it: most calls have none.
    pub fn derived(derive: impl FnOnce() -> [u8; 32] + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(move || {
            let mut block = [0; 64];
            block[..32].copy_from_slice(&derive());
            Hmac::new((&block).into())
        }))))
    }

    /// The whole code of a value; a placeholder takes a part from its start.
    fn code(&self, kind: PiiKind, value: &str) -> String {
        let mac = Hmac::clone(&self.0).chain_update(kind.name()).chain_update([0]).chain_update(value);
        let bytes = mac.finalize().into_bytes();
        bytes.iter().map(|byte| char::from(CODE_ALPHABET[usize::from(byte % 32)])).collect()
    }
}

/// The form of replacements.
#[derive(Clone)]
pub enum MaskStyle {
    /// The same text for all matches.
    Fixed(String),
    /// `[EMAIL]`
    Kind,
    /// `[EMAIL_k7f3q]`, which can be restored.
    Reversible(ScopeKey),
}

/// Makes the replacements for the findings of one call and counts them.
pub struct Masker {
    style: MaskStyle,
    map: PlaceholderMap,
    counts: BTreeMap<Label, usize>,
}

/// The reversible placeholders of one call and the values behind them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PlaceholderMap {
    values: BTreeMap<String, String>,
    placeholders: HashMap<(PiiKind, String), String>,
}

/// Shows the placeholders without their values, which must not reach logs.
impl Debug for PlaceholderMap {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.values.keys()).finish()
    }
}

impl Masker {
    pub fn new(style: MaskStyle) -> Self {
        Self { style, map: PlaceholderMap::default(), counts: BTreeMap::new() }
    }

    /// The replacement for a value.
    pub fn mask(&mut self, label: Label, value: &str) -> Cow<'_, str> {
        self.count(label);
        match (&self.style, label) {
            (MaskStyle::Fixed(replacement), _) => Cow::Borrowed(replacement),
            (MaskStyle::Kind | MaskStyle::Reversible(_), Label::Pattern(_)) => Cow::Borrowed(REDACTED),
            (MaskStyle::Kind, Label::Pii(kind)) => Cow::Owned(format!("[{}]", kind.placeholder_name())),
            (MaskStyle::Reversible(key), Label::Pii(kind)) => {
                Cow::Borrowed(self.map.placeholder(key, kind, value))
            }
        }
    }

    /// Counts a finding that is not replaced.
    pub fn count(&mut self, label: Label) {
        *self.counts.entry(label).or_default() += 1;
    }

    /// The findings, by their labels.
    pub fn counts(&self) -> &BTreeMap<Label, usize> {
        &self.counts
    }

    pub fn map(&self) -> &PlaceholderMap {
        &self.map
    }

    /// Exchanges the map, so that several maskers of one call can use the same one.
    pub fn swap_map(&mut self, map: &mut PlaceholderMap) {
        std::mem::swap(&mut self.map, map);
    }

    pub fn into_map(self) -> PlaceholderMap {
        self.map
    }
}

impl PlaceholderMap {
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value behind a placeholder.
    pub fn value(&self, placeholder: &str) -> Option<&str> {
        self.values.get(placeholder).map(String::as_str)
    }

    /// Whether a placeholder starts with this text and is longer.
    pub fn has_longer(&self, start: &str) -> bool {
        let mut following =
            self.values.range::<str, _>((std::ops::Bound::Excluded(start), std::ops::Bound::Unbounded));
        following.next().is_some_and(|(placeholder, _)| placeholder.starts_with(start))
    }

    fn placeholder(&mut self, key: &ScopeKey, kind: PiiKind, value: &str) -> &str {
        let values = &mut self.values;
        self.placeholders.entry((kind, value.to_owned())).or_insert_with_key(|(kind, value)| {
            let code = key.code(*kind, value);
            let placeholder = |length: usize| format!("[{}_{}]", kind.placeholder_name(), &code[..length]);
            let mut lengths = CODE_LENGTH..code.len();
            let free = lengths.find(|length| !values.contains_key(&placeholder(*length)));
            let placeholder = placeholder(free.unwrap_or(code.len()));
            values.insert(placeholder.clone(), value.clone());
            placeholder
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMAIL: Label = Label::Pii(PiiKind::Email);

    fn masker(key: u8) -> Masker {
        Masker::new(MaskStyle::Reversible(ScopeKey::new(&[key; 32])))
    }

    #[test]
    fn styles_make_different_replacements() {
        assert_eq!(Masker::new(MaskStyle::Kind).mask(EMAIL, "a@b.example"), "[EMAIL]");
        assert_eq!(Masker::new(MaskStyle::Kind).mask(Label::Pattern(3), "x"), "[REDACTED]");
        assert_eq!(Masker::new(MaskStyle::Fixed("***".into())).mask(EMAIL, "a@b.example"), "***");
    }

    #[test]
    fn findings_are_counted_by_label() {
        let mut masker = Masker::new(MaskStyle::Kind);
        for label in [EMAIL, Label::Pattern(2), EMAIL] {
            masker.mask(label, "x");
        }
        assert_eq!(masker.counts().iter().collect::<Vec<_>>(), [(&Label::Pattern(2), &1), (&EMAIL, &2)]);
    }

    #[test]
    fn values_are_not_shown_in_debug_output() {
        let mut masker = masker(1);
        let placeholder = masker.mask(EMAIL, "a@b.example").into_owned();
        let shown = format!("{:?}", masker.into_map());
        assert!(shown.contains(&placeholder) && !shown.contains("a@b.example"), "{shown}");
    }

    #[test]
    fn reversible_placeholders_are_stable_within_a_scope() {
        let first = masker(1).mask(EMAIL, "a@b.example").into_owned();
        assert_eq!(first.len(), "[EMAIL_k7f3q]".len());
        assert!(first.starts_with("[EMAIL_") && first.ends_with(']'));
        let mut later = masker(1);
        later.mask(EMAIL, "other@b.example");
        assert_eq!(later.mask(EMAIL, "a@b.example"), first);
        assert_eq!(later.map().value(&first), Some("a@b.example"));
        assert_ne!(masker(2).mask(EMAIL, "a@b.example"), first, "another scope");
        let phone = later.mask(Label::Pii(PiiKind::Phone), "a@b.example").into_owned();
        assert_ne!(phone[7..], first[7..], "the kind is part of the code");
    }

    #[test]
    fn values_with_the_same_code_get_longer_ones() {
        let mut masker = masker(1);
        let mut seen = std::collections::BTreeSet::new();
        let numbers = 0..20_000;
        for number in numbers.clone() {
            seen.insert(masker.mask(EMAIL, &format!("{number}@b.example")).into_owned());
        }
        assert_eq!(seen.len(), numbers.len(), "20,000 values have about six collisions of 25 bits");
        assert!(seen.iter().any(|placeholder| placeholder.len() > 13));
    }
}
