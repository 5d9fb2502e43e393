//! Table tests of word overlap.

use super::word_overlap;

#[test]
fn overlap_is_the_share_of_common_words() {
    let cases = [
        ("", "", 1.0),
        ("a b", "", 0.0),
        ("How do I reset my password?", "how do i reset my PASSWORDS", 1.0),
        ("reset the password", "change the password", 0.5),
        ("What's the time?", "What is the time", 1.0),
        ("one two three", "four five six", 0.0),
        ("the the the cat", "the cat", 1.0),
    ];
    for (a, b, expected) in cases {
        assert!((word_overlap(a, b) - expected).abs() < 1e-6, "{a} / {b}: {}", word_overlap(a, b));
        assert_eq!(word_overlap(a, b), word_overlap(b, a));
    }
}
