//! Tests of overlaps, with text split at every position.

use proptest::prelude::*;

use super::*;

fn joined(mut overlap: Overlap, pieces: &[&str]) -> String {
    let mut new: String = pieces.iter().map(|piece| overlap.push(piece)).collect();
    new.push_str(&overlap.finish());
    new
}

#[test]
fn repeated_text_is_dropped() {
    let said = "The quick brown fox jumps over";
    for (continuation, new) in [
        (" the lazy dog", " the lazy dog"),
        ("fox jumps over the lazy dog", "fox jumps over the lazy dog"),
        ("brown fox jumps over the lazy dog", " the lazy dog"),
        ("The quick brown fox jumps over the lazy dog", " the lazy dog"),
        ("brown fox jumps over", ""),
        ("The quick brown cat sat", "The quick brown cat sat"),
        ("", ""),
    ] {
        assert_eq!(joined(Overlap::with(said), &[continuation]), new, "{continuation}");
        let letters: Vec<String> = continuation.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(joined(Overlap::with(said), &letters), new, "{continuation}");
    }
}

#[test]
fn a_short_text_must_be_repeated_whole_and_space_need_not_be() {
    assert_eq!(joined(Overlap::with("Hello"), &["He", "llo you"]), " you");
    assert_eq!(joined(Overlap::with("Hello"), &["lo you"]), "lo you");
    assert_eq!(joined(Overlap::with("Hello  "), &["Hello you"]), "you");
    assert_eq!(joined(Overlap::with("Hello\n\n"), &["Hello\n", "\n", "\nyou"]), "\nyou");
    assert_eq!(joined(Overlap::with("  "), &["  you"]), "you");
    assert_eq!(joined(Overlap::with(""), &["you"]), "you");
    assert_eq!(joined(Overlap::with_space_of("Hello "), &[" you"]), "you");
    assert_eq!(joined(Overlap::with_space_of("Hello "), &["you"]), "you");
    assert_eq!(joined(Overlap::with_space_of("Hello"), &["Hello"]), "Hello");
}

#[test]
fn quoted_overlap_is_recognized() {
    let said = "Once upon a time there was a king who ";
    let quoted = "a time there was a king who";
    for (continuation, new) in [
        ("a time there was a king who lived", "lived"),
        ("\na time there was a king who lived", "lived"),
        ("…a time there was a king who lived", "lived"),
        ("\"a time there was a king who lived", "lived"),
        ("lived", "lived"),
        ("  a", "  a"),
    ] {
        let letters: Vec<String> = continuation.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(joined(Overlap::with_quoted(said, quoted), &letters), new, "{continuation}");
    }
    // The requested words may begin with whitespace.
    let said = format!("na na na{}x", " ".repeat(40));
    let quoted = format!("{}x", " ".repeat(24));
    let letters: Vec<String> = format!("{quoted}yz").chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(joined(Overlap::with_quoted(&said, &quoted), &letters), "yz");
    let pieces = ["    "; 9];
    assert_eq!(joined(Overlap::with_quoted("<tag>    ", "<tag>"), &pieces), " ".repeat(36));
}

/// In repetitive text several overlaps match; none is removed unless it was requested.
#[test]
fn short_accidental_overlaps_are_ignored() {
    let row = "|---|---|---|---|---|---|---|";
    let rest = "---|---|---|---|---|---|\n";
    assert_eq!(joined(Overlap::with_quoted(row, "words that do not come"), &[rest]), rest);
    let ones = "1, 1, 1, 1, 1, 1, 1, 1, 1";
    assert_eq!(joined(Overlap::with(ones), &[", 1, 1, 1, 1, 1, 1, 1, 2"]), ", 1, 1, 1, 1, 1, 1, 1, 2");
}

#[test]
fn text_is_released_as_soon_as_possible() {
    let mut overlap = Overlap::with("The quick brown fox jumps over");
    assert_eq!(overlap.push("quick brown"), "");
    assert_eq!(overlap.push(" bear"), "quick brown bear");
    assert_eq!(overlap.push(" sleeps"), " sleeps");
}

/// Reference implementation: the longest prefix of the continuation that is a suffix of the sent text.
fn by_the_rule(said: &str, continuation: &str) -> usize {
    let starts = said.char_indices().map(|(start, _)| start);
    let fits = |start: &usize| {
        let end = &said[*start..];
        (end.chars().count() >= LEAST || *start == 0) && continuation.starts_with(end)
    };
    starts.into_iter().find(fits).map_or(0, |start| said.len() - start)
}

fn in_pieces<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    places.retain(|place| text.is_char_boundary(*place));
    places.extend([0, text.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

proptest! {
    /// A small alphabet produces many near misses.
    #[test]
    fn the_longest_overlap_goes_however_it_is_cut(
        said in "[abß]{0,40}", own in "[abß]{0,40}", back in 0usize..60, cuts in proptest::collection::vec(0usize..200, 0..8),
    ) {
        let back = said.char_indices().rev().nth(back).map_or(0, |(start, _)| start);
        let continuation = format!("{}{own}", &said[back..]);
        let expected = &continuation[by_the_rule(&said, &continuation)..];
        prop_assert_eq!(joined(Overlap::with(&said), &in_pieces(&continuation, &cuts)), expected);
    }

    /// Distinct words are unambiguous: the text is restored for every cut and every repeated length.
    #[test]
    fn a_text_split_anywhere_is_joined(
        length in 1usize..40, cut: prop::sample::Index, again: prop::sample::Index, mode in 0..3, cuts in proptest::collection::vec(0usize..400, 0..8),
    ) {
        let text: String = (0..length).map(|number| format!("{number}ä, ")).collect();
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        let cut = places[cut.index(places.len())];
        let (said, rest) = text.split_at(cut);
        let far: Vec<usize> = places.iter().copied()
            .filter(|place| *place == 0 || said.get(*place..).is_some_and(|end| end.trim_end().chars().count() >= LEAST)).collect();
        let (overlap, continuation) = match mode {
            0 => (Overlap::with(said), rest),
            1 => (Overlap::with(said), &text[far[again.index(far.len())]..]),
            _ => (Overlap::with_space_of(said), &text[said.trim_end().len()..]),
        };
        prop_assert_eq!(format!("{said}{}", joined(overlap, &in_pieces(continuation, &cuts))), text);
    }
}
