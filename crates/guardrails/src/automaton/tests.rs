//! Tests of the automata against a reference engine and against the definition of a live position.

use proptest::prelude::*;
use regex_automata::nfa::thompson::pikevm::PikeVM;

use super::*;

fn parse(pattern: &str) -> Hir {
    regex_syntax::parse(pattern).unwrap()
}

fn build(patterns: &[String], group_size: usize) -> Automata {
    let parsed: Vec<Hir> = patterns.iter().map(|pattern| parse(pattern)).collect();
    Automata::build_in_groups(&parsed, group_size).unwrap()
}

fn find_all(automata: &Automata, text: &str) -> Vec<Candidate> {
    let mut searcher = automata.searcher(text);
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(candidate) = searcher.next_candidate(from).unwrap() {
        match searcher.first_accepted(candidate, Some).unwrap() {
            Some(accepted) => {
                from = accepted.end;
                found.push(accepted);
            }
            None => from = candidate.start + text[candidate.start..].chars().next().map_or(1, char::len_utf8),
        }
    }
    found
}

/// Patterns that match at least one character, with and without look-around.
pub(crate) fn pattern(with_look: bool) -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        4 => proptest::sample::select(vec!["a", "b", "ab", "é", "[ab]", "[^a]", r"\w", r"\d", "1"]).prop_map(str::to_owned),
    ];
    let tree = atom.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            proptest::collection::vec(inner.clone(), 2..3)
                .prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner.clone(), 0..3_u32, 0..3_u32)
                .prop_map(|(part, least, more)| format!("(?:{part}){{{least},{}}}", least + more)),
            (inner, 0..2_u32, 0..2_u32)
                .prop_map(|(part, least, more)| format!("(?:{part}){{{least},{}}}?", least + more)),
        ]
    });
    let looks = if with_look { vec!["", "", r"\b", r"(?-u:\b)", "^", r"\B", "$"] } else { vec![""] };
    (proptest::sample::select(looks.clone()), tree, proptest::sample::select(looks))
        .prop_map(|(before, tree, after)| format!("{before}(?:{tree}){after}"))
        .prop_filter("matches no empty text", |pattern| {
            parse(pattern).properties().minimum_len().is_some_and(|least| least > 0)
        })
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    let characters = proptest::sample::select(vec!['a', 'a', 'b', 'b', '1', ' ', 'é', '中', '\n']);
    proptest::collection::vec(characters, 0..24).prop_map(|characters| characters.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn matches_are_those_of_a_reference_engine(
        patterns in proptest::collection::vec(pattern(true), 1..5),
        text in text(),
        group_size in proptest::sample::select(vec![0, 4000, GROUP_SIZE]),
    ) {
        let found = find_all(&build(&patterns, group_size), &text);
        let reference = PikeVM::new_many(&patterns).unwrap();
        let mut cache = reference.create_cache();
        let expected: Vec<Candidate> = reference
            .find_iter(&mut cache, &text)
            .map(|found| Candidate { pattern: found.pattern().as_usize(), start: found.start(), end: found.end() })
            .collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn every_match_at_a_position_is_offered_in_order(patterns in proptest::collection::vec(pattern(true), 1..5), text in text()) {
        let automata = build(&patterns, 4000);
        let mut searcher = automata.searcher(&text);
        let Some(candidate) = searcher.next_candidate(0).unwrap() else { return Ok(()) };
        let mut offered = Vec::new();
        searcher.first_accepted(candidate, |candidate| -> Option<()> {
            offered.push((candidate.pattern, candidate.end));
            None
        }).unwrap();
        let mut expected = Vec::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let reference = PikeVM::new(pattern).unwrap();
            let input = regex_automata::Input::new(&text).range(candidate.start..).anchored(regex_automata::Anchored::Yes);
            let found = reference.find(&mut reference.create_cache(), input);
            expected.extend(found.map(|found| (index, found.end())));
        }
        prop_assert_eq!(offered, expected);
    }

    #[test]
    fn a_position_is_live_if_some_continuation_matches(
        patterns in proptest::collection::vec(pattern(false), 1..4),
        text in proptest::collection::vec(proptest::sample::select(vec!['a', 'b']), 0..6),
        group_size in proptest::sample::select(vec![0, GROUP_SIZE]),
    ) {
        let text: String = text.into_iter().collect();
        let parsed: Vec<Hir> = patterns.iter().map(|pattern| parse(pattern)).collect();
        prop_assume!(parsed.iter().all(|pattern| pattern.properties().maximum_len().is_some_and(|length| length < 12)));
        let live = build(&patterns, group_size).searcher(&text).live_start(0).unwrap();
        let whole: Vec<String> = patterns.iter().map(|pattern| format!("^(?:{pattern})$")).collect();
        let reference = PikeVM::new_many(&whole).unwrap();
        let mut cache = reference.create_cache();
        let mut has_continuation = |start: &str| {
            let mut open = vec![start.to_owned()];
            while let Some(text) = open.pop() {
                if text != start && reference.is_match(&mut cache, &text) {
                    return true;
                }
                if text.chars().count() < start.chars().count() + 5 {
                    open.extend(['a', 'b', '1', 'é'].map(|next| format!("{text}{next}")));
                }
            }
            false
        };
        let expected = (0..text.len()).find(|start| has_continuation(&text[*start..])).unwrap_or(text.len());
        // Continuations longer than five characters are not tried.
        prop_assert!(live <= expected, "live from {live}, expected {expected}");
        let longest = parsed.iter().filter_map(|pattern| pattern.properties().maximum_len()).max();
        if longest.is_some_and(|longest| longest <= 6) {
            prop_assert_eq!(live, expected);
        }
    }
}

#[test]
fn long_repetitions_are_live_up_to_the_longest_match() {
    let automata = build(&["x[a-z]{0,500}!".to_owned()], GROUP_SIZE);
    let text = format!("x{}", "a".repeat(400));
    assert_eq!(automata.searcher(&text).live_start(0), Ok(0));
    let text = format!("x{}", "a".repeat(502));
    assert_eq!(automata.searcher(&text).live_start(0), Ok(text.len()), "no match is that long");
}

#[test]
fn a_whole_match_is_live_only_if_the_next_character_matters() {
    let live =
        |pattern: &str, text: &str| build(&[pattern.to_owned()], GROUP_SIZE).searcher(text).live_start(0);
    assert_eq!(live("key", "a key"), Ok(5));
    assert_eq!(live(r"key\b", "a key"), Ok(2));
    assert_eq!(live("keys?", "a key"), Ok(2));
}

#[test]
fn classes_are_coarser_outside_ascii_only() {
    let (searchable, approximation) = hir::searchable(&parse(r"\d"));
    assert_eq!(approximation, Approximation::OutsideAscii);
    let automata = Automata::build(&[searchable]).unwrap();
    assert_eq!(find_all(&automata, "a1 :/").len(), 1);
    assert_eq!(find_all(&automata, "日本語 текст").len(), 0);
    assert_eq!(find_all(&build(&[r"\d{2}".to_owned()], 0), "٣٤ เ๑๒ 日本").len(), 2);
}

#[test]
fn quadratic_searches_are_ended() {
    let automata = build(&["(?s)a.*z|a".to_owned()], GROUP_SIZE);
    let text = "a".repeat(100_000);
    let mut searcher = automata.searcher(&text);
    let mut from = 0;
    let result = loop {
        match searcher.next_candidate(from) {
            Ok(Some(candidate)) => from = candidate.end,
            other => break other,
        }
    };
    assert_eq!(result, Err(TooComplex));
}

#[test]
fn first_bytes_tell_what_may_start_a_match() {
    let automata = build(&["key-[0-9]".to_owned()], GROUP_SIZE);
    assert!(automata.may_start_with('k') && !automata.may_start_with('e'));
    let automata = build(&["é".to_owned()], GROUP_SIZE);
    assert!(automata.may_start_with('e'), "a following mark may compose it");
}
