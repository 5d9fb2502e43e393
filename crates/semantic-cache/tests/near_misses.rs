//! Questions that differ by one word, by its place or by a tense are not the same; those in other words are.

use semantic_cache::veto::check_texts;

/// Both texts of each line, separated by a bar.
fn read(file: &'static str) -> Vec<(&'static str, &'static str)> {
    file.lines().filter_map(|line| line.split_once(" | ")).collect()
}

#[test]
fn near_misses_are_stopped() {
    let pairs = read(include_str!("near_misses.txt"));
    assert!(pairs.len() > 200);
    let passed: Vec<_> =
        pairs.iter().filter(|(a, b)| check_texts(a, b).is_ok() || check_texts(b, a).is_ok()).collect();
    assert!(passed.is_empty(), "{passed:#?}");
}

#[test]
fn paraphrases_pass() {
    let pairs = read(include_str!("paraphrases.txt"));
    assert!(pairs.len() > 40);
    let stopped: Vec<_> = pairs
        .iter()
        .filter_map(|(a, b)| check_texts(a, b).and(check_texts(b, a)).err().map(|veto| (veto, a, b)))
        .collect();
    assert!(stopped.is_empty(), "{stopped:#?}");
}
