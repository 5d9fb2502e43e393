//! The veto on the shipped question pairs, without embeddings: what it stops and what it lets pass at any similarity.

use semantic_cache::veto::check_texts;

const PAIRS: &str = include_str!("../../../suites/semantic/pairs.tsv");
const NATURAL: &str = include_str!("../../../suites/semantic/natural.tsv");

/// Label, class and both texts of each pair.
fn read(file: &'static str) -> Vec<[&'static str; 4]> {
    let mut lines = file.lines();
    assert_eq!(lines.next(), Some("label\tclass\ttext_a\ttext_b"));
    let fields = |line: &'static str| <[&str; 4]>::try_from(line.split('\t').collect::<Vec<_>>()).ok();
    let pairs: Option<Vec<_>> = lines.map(fields).collect();
    pairs.unwrap_or_default()
}

/// Share of the pairs with a label that pass the veto, and the pairs themselves.
fn passed(pairs: &[[&'static str; 4]], label: &str) -> (f64, Vec<[&'static str; 4]>) {
    let labelled: Vec<_> = pairs.iter().filter(|pair| pair[0] == label).collect();
    let passed: Vec<_> =
        labelled.iter().filter(|pair| check_texts(pair[2], pair[3]).is_ok()).map(|p| **p).collect();
    (passed.len() as f64 / labelled.len() as f64, passed)
}

#[test]
fn the_set_is_large_and_distinct() {
    let pairs = read(PAIRS);
    let count = |label: &str| pairs.iter().filter(|pair| pair[0] == label).count();
    assert!(count("duplicate") >= 500 && count("near_miss") >= 600);
    assert_eq!(count("duplicate") + count("near_miss"), pairs.len());
    let mut texts: Vec<_> = pairs.iter().map(|pair| (pair[2], pair[3])).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), pairs.len(), "a pair is listed twice");
    assert!(pairs.iter().all(|pair| pair[2] != pair[3]));
}

#[test]
fn near_misses_are_stopped_and_duplicates_pass() {
    for file in [PAIRS, NATURAL] {
        let pairs = read(file);
        let (false_share, wrong) = passed(&pairs, "near_miss");
        assert!(false_share <= 0.015, "{false_share} of the near misses pass: {wrong:#?}");
        let (share, _) = passed(&pairs, "duplicate");
        assert!(share >= 0.7, "only {share} of the duplicates pass");
    }
}
