//! Properties of single characters that normalisation depends on.

use std::iter::once;
use std::sync::LazyLock;

use unicode_normalization::char::{canonical_combining_class, compose, decompose_compatible};
use unicode_normalization::{IsNormalized, is_nfkc_quick};

use super::TagCharacters;

/// The character that takes part in normalisation, or nothing for an invisible one.
pub fn replaced(character: char, tags: TagCharacters) -> Option<char> {
    match character {
        '\u{0}'..='\u{7F}' => Some(character),
        '\u{E0020}'..='\u{E007E}' if tags == TagCharacters::ToAscii => {
            char::from_u32(u32::from(character) - 0xE0000)
        }
        _ if is_invisible(character) => None,
        // NFKC keeps hyphens apart, but models write them into phone numbers and identifiers as they like.
        '\u{2010}'..='\u{2013}' | '\u{2212}' => Some('-'),
        _ => Some(character),
    }
}

/// Zero-width characters, bidirectional controls, tag characters, variation selectors, soft hyphens and fillers: the
/// characters that Unicode calls default ignorable.
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFF8}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Whether NFKC keeps the character wherever it stands, except that a following mark may combine with it.
pub fn is_normal(character: char) -> bool {
    is_common_letter(character)
        || is_nfkc_quick(once(character)) == IsNormalized::Yes && canonical_combining_class(character) == 0
}

/// Whether normalisation without case folding keeps the character wherever it stands.
pub fn is_stable(character: char) -> bool {
    is_common_letter(character)
        || replaced(character, TagCharacters::ToAscii) == Some(character) && is_normal(character)
}

/// Most letters of texts, for which no table has to be searched: ASCII, Latin, Greek, Cyrillic, kana, Han and Hangul.
fn is_common_letter(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{7F}' | '\u{C0}'..='\u{131}' | '\u{391}'..='\u{3CE}' | '\u{400}'..='\u{482}'
        | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// Whether the character belongs to the segment of the one before: its normal form may combine or be reordered with it.
pub fn continues_segment(character: char) -> bool {
    if character.is_ascii() {
        return false;
    }
    let mut first = None;
    decompose_compatible(character, |part| first = first.or(Some(part)));
    let first = first.unwrap_or(character);
    canonical_combining_class(first) != 0 || is_nfkc_quick(once(first)) == IsNormalized::Maybe
}

/// Whether no following character can combine with this one, so that its segment is complete.
pub fn ends_segment(character: char) -> bool {
    match character {
        '\u{0}'..='\u{7F}' => COMBINING_ASCII.get(character as usize).is_some_and(|combines| !combines),
        // Ideographs and symbols, emoji among them.
        '\u{3100}'..='\u{ABFF}' | '\u{1F000}'..='\u{3FFFF}' => is_normal(character),
        _ => false,
    }
}

/// The ASCII characters that some combining mark composes with. All those marks are in one block.
static COMBINING_ASCII: LazyLock<[bool; 128]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let base = char::from(u8::try_from(code).unwrap_or_default());
        ('\u{300}'..='\u{36F}').any(|mark| compose(base, mark).is_some())
    })
});

/// Case folding of a decomposed character. The way over upper case joins variants such as `ß` and `ss`, `ς` and `σ`.
pub fn fold(character: char) -> impl Iterator<Item = char> {
    character.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

pub fn is_changed_by_fold(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_uppercase() } else { !fold(character).eq(once(character)) }
}

#[cfg(test)]
mod tests {
    use unicode_normalization::char::decompose_canonical;

    use super::*;

    #[test]
    fn nothing_composes_with_a_character_that_ends_a_segment() {
        let mut pairs = 0;
        for composite in '\u{80}'..=char::MAX {
            let mut parts = Vec::new();
            decompose_canonical(composite, |part| parts.push(part));
            let Some((second, first)) = parts.split_last().filter(|(_, first)| !first.is_empty()) else {
                continue;
            };
            let first = first[1..].iter().try_fold(first[0], |first, next| compose(first, *next));
            if let Some(first) = first.filter(|first| compose(*first, *second) == Some(composite)) {
                assert!(!ends_segment(first), "{first:?} with {second:?}");
                pairs += 1;
            }
        }
        assert!(pairs > 10_000, "the composites of Unicode: {pairs}");
        assert!(ends_segment('5') && ends_segment(' ') && ends_segment('中') && ends_segment('🙂'));
        assert!(!ends_segment('e') && !ends_segment('<') && !ends_segment('か') && !ends_segment('ﬁ'));
    }

    #[test]
    fn common_letters_are_stable() {
        for letter in ('\u{80}'..=char::MAX).filter(|character| is_common_letter(*character)) {
            assert_eq!(replaced(letter, TagCharacters::ToAscii), Some(letter));
            assert_eq!(is_nfkc_quick(once(letter)), IsNormalized::Yes, "{letter:?}");
            assert_eq!(canonical_combining_class(letter), 0);
        }
    }

    #[test]
    fn folding_joins_variants_of_a_letter() {
        let folded = |text: &str| text.chars().flat_map(fold).collect::<String>();
        assert_eq!(folded("STRASSE"), folded("straße"));
        assert_eq!(folded("STRAẞE"), folded("straße"));
        assert_eq!(folded("ΣΟΦΟΣ"), folded("σοφος"));
        assert_eq!(folded("σοφοσ"), folded("σοφος"));
    }
}
