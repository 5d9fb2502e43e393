//! Tests of normalisation: equality with NFKC, alignment with the original, equality of pieces and whole.

use std::borrow::Cow;

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::*;

const PLAIN: NormaliseOptions = NormaliseOptions { fold_case: false, tags: TagCharacters::ToAscii };
const FOLDED: NormaliseOptions = NormaliseOptions { fold_case: true, tags: TagCharacters::ToAscii };

/// Characters that combine, decompose, vanish or stay, with ASCII between them.
const ALPHABET: [&str; 16] =
    ["a", "E", "7", " ", "<", "é", "ß", "ﬁ", "４", "中", "か", "가", "ﷺ", "½", "İ", "ǅ"];
const MARKS: [char; 10] = [
    '\u{301}', '\u{327}', '\u{338}', '\u{3099}', '\u{11A8}', '\u{1161}', '\u{9BE}', '\u{345}', '\u{308}',
    '\u{20E3}',
];
const INVISIBLE: [char; 8] =
    ['\u{200B}', '\u{200D}', '\u{AD}', '\u{202E}', '\u{2066}', '\u{FE0F}', '\u{FEFF}', '\u{E0001}'];
const REPLACED: [char; 4] = ['\u{2011}', '\u{2212}', '\u{E0041}', '\u{E0031}'];

fn mixed_text(with_invisible: bool) -> impl Strategy<Value = String> {
    let rare = if with_invisible { 1 } else { 0 };
    let piece = prop_oneof![
        4 => proptest::sample::select(&ALPHABET[..]).prop_map(str::to_owned),
        2 => proptest::sample::select(&MARKS[..]).prop_map(String::from),
        rare => proptest::sample::select(&INVISIBLE[..]).prop_map(String::from),
        rare => proptest::sample::select(&REPLACED[..]).prop_map(String::from),
        1 => any::<char>().prop_filter("needs no removal", move |character| {
            with_invisible || characters::replaced(*character, TagCharacters::ToAscii) == Some(*character)
        }).prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn normalise_in_pieces(pieces: &[&str], options: NormaliseOptions) -> (String, Alignment) {
    let mut normaliser = Normaliser::new(options);
    let mut buffer = NormalisedBuffer::default();
    for piece in pieces {
        normaliser.push(piece, &mut buffer);
    }
    normaliser.finish(&mut buffer);
    buffer.into_parts()
}

fn split_at_characters(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
    let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut chosen: Vec<usize> = cuts.iter().map(|cut| bounds[cut.index(bounds.len())]).collect();
    chosen.extend([0, text.len()]);
    chosen.sort_unstable();
    chosen.windows(2).map(|pair| text[pair[0]..pair[1]].to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn visible_text_becomes_nfkc(text in mixed_text(false)) {
        let expected: String = text.nfkc().collect();
        let normalised = normalise(&text, PLAIN);
        prop_assert_eq!(normalised.text(), expected);
    }

    #[test]
    fn normal_text_stays_as_it_is(text in mixed_text(true), fold_case: bool) {
        let options = NormaliseOptions { fold_case, tags: TagCharacters::ToAscii };
        let once = normalise(&text, options).text().to_owned();
        let twice = normalise(&once, options);
        prop_assert_eq!(twice.text(), &once);
    }

    #[test]
    fn pieces_and_whole_are_equal(
        text in mixed_text(true),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        fold_case: bool,
    ) {
        let options = NormaliseOptions { fold_case, tags: TagCharacters::ToAscii };
        let pieces = split_at_characters(&text, &cuts);
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        prop_assert_eq!(normalise_in_pieces(&pieces, options), normalise_in_pieces(&[&text], options));
        let (incremental, _) = normalise_in_pieces(&pieces, options);
        let whole = normalise(&text, options);
        prop_assert_eq!(whole.text(), incremental);
    }

    #[test]
    fn each_character_points_to_its_original(text in mixed_text(true), fold_case: bool) {
        let options = NormaliseOptions { fold_case, tags: TagCharacters::ToAscii };
        let normalised = normalise(&text, options);
        let mut previous_end = 0;
        let mut start = 0;
        while start < normalised.text().len() {
            let width = normalised.text()[start..].chars().next().map_or(0, char::len_utf8);
            let end = normalised.segment_end(start + width);
            let original = normalised.original_range(start..end);
            prop_assert!(original.start >= previous_end && original.end > original.start);
            let part = normalise(&text[original.clone()], options);
            prop_assert_eq!(part.text(), &normalised.text()[start..end]);
            let skipped = normalise(&text[previous_end..original.start], options);
            prop_assert_eq!(skipped.text(), "");
            previous_end = original.end;
            start = end;
        }
    }

    #[test]
    fn dropping_text_keeps_positions(text in mixed_text(true), cut: prop::sample::Index) {
        let mut buffer = NormalisedBuffer::default();
        let mut normaliser = Normaliser::new(PLAIN);
        normaliser.push(&text, &mut buffer);
        normaliser.finish(&mut buffer);
        let bounds: Vec<usize> = buffer.text().char_indices().map(|(at, _)| at).collect();
        prop_assume!(!bounds.is_empty());
        let cut = bounds[cut.index(bounds.len())];
        let length = buffer.text().len();
        let expected = buffer.original_range(cut..length);
        buffer.drop_front(cut);
        prop_assert_eq!(buffer.original_range(0..length - cut), expected);
    }
}

#[test]
fn ascii_and_normal_text_are_borrowed() {
    for text in ["", "plain text, 42", "naïve café", "日本語のテキスト", "Привет, мир"] {
        let normalised = normalise(text, PLAIN);
        assert!(matches!(normalised.text, Cow::Borrowed(_)), "{text}");
        assert_eq!(normalised.original_range(0..text.len()), 0..text.len());
    }
    assert!(matches!(normalise("all lower", FOLDED).text, Cow::Borrowed(_)));
}

#[test]
fn invisible_characters_do_not_hide_a_value() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let normalised = normalise(text, PLAIN);
        assert_eq!(normalised.text(), expected);
        assert_eq!(normalised.original_range(0..expected.len()), 0..text.len());
    }
    check("jo\u{200B}hn\u{AD}@\u{202E}example.com", "john@example.com");
    check("４１１１－１１１１", "4111-1111");
    check("078\u{2011}05\u{2013}1120", "078-05-1120");
    check("\u{E0073}\u{E0065}\u{E0063}\u{E0072}\u{E0065}\u{E0074}", "secret");
    check("ｓｋ－ｐｒｏｊ", "sk-proj");
}

#[test]
fn tag_characters_can_be_removed_instead() {
    let options = NormaliseOptions { tags: TagCharacters::Remove, ..PLAIN };
    assert_eq!(normalise("41\u{E0041}11", options).text(), "4111");
}

#[test]
fn case_folding_is_aligned_with_the_original() {
    let normalised = normalise("GROẞE Straße", FOLDED);
    assert_eq!(normalised.text(), "grosse strasse");
    assert_eq!(normalised.original_range(7..14), 8..15);
}

#[test]
fn part_of_a_ligature_yields_the_whole() {
    let text = "oﬃce";
    let normalised = normalise(text, PLAIN);
    assert_eq!(normalised.text(), "office");
    assert_eq!(normalised.original_range(1..2), 1..4);
    assert_eq!(normalised.segment_end(2), 4);
    assert_eq!(normalised.segment_end(4), 4);
}

#[test]
fn only_characters_that_may_combine_stay_open() {
    let mut normaliser = Normaliser::new(PLAIN);
    let mut buffer = NormalisedBuffer::default();
    normaliser.push("total 5", &mut buffer);
    assert_eq!((buffer.text(), normaliser.open_segment().as_str()), ("total 5", ""));
    normaliser.push(" caf", &mut buffer);
    normaliser.push("e", &mut buffer);
    assert_eq!((buffer.text(), normaliser.open_segment().as_str()), ("total 5 caf", "e"));
    normaliser.push("\u{301}", &mut buffer);
    normaliser.push("!", &mut buffer);
    assert_eq!((buffer.text(), normaliser.open_segment().as_str()), ("total 5 café!", ""));
    assert_eq!(buffer.original_range(11..13), 11..14);
}

#[test]
fn stacks_of_marks_are_cut() {
    let text = format!("e{}", "\u{301}".repeat(10_000));
    let mut normaliser = Normaliser::new(PLAIN);
    let mut buffer = NormalisedBuffer::default();
    normaliser.push(&text, &mut buffer);
    assert!(buffer.text().len() + 2 * 32 >= text.len() - 1, "held no more than one segment");
}
