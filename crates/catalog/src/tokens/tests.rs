//! Tests of token counting, against the tokenizers of `bpe-openai`.

use super::*;

#[test]
fn each_model_has_its_vocabulary() {
    for older in ["gpt-4", "gpt-4-turbo", "openai/gpt-3.5-turbo", "text-embedding-3-small"] {
        assert!(uses_older_vocabulary(older), "{older}");
    }
    for newer in ["gpt-4o", "gpt-4.1-mini", "o3", "gpt-5", "claude-sonnet-5", ""] {
        assert!(!uses_older_vocabulary(newer), "{newer}");
    }
}

#[test]
fn texts_are_counted_by_the_vocabulary_of_the_model() {
    assert_eq!(count_tokens("gpt-4o", "Hello, world!"), 4);
    assert_eq!(count_tokens("gpt-4", "Hello, world!"), 4);
    assert_eq!(count_tokens("gpt-4o", ""), 0);
    // The newer vocabulary needs fewer tokens for languages other than English.
    let text = "नमस्ते, मेरा नाम जीपीटी है।";
    assert!(count_tokens("gpt-4o", text) < count_tokens("gpt-4", text));
    assert_eq!(["gpt-4o", "gpt-4"].map(vocabulary_is_loaded), [true; 2]);
}

#[test]
fn bytes_are_rounded_up() {
    assert_eq!([0, 1, 4, 5].map(estimate_tokens_from_bytes), [0, 1, 1, 2]);
}

/// Texts in which the splitting into pieces matters: white space of all kinds, contractions, numbers, other scripts, code.
const TEXTS: [&str; 16] = [
    " ",
    "   ",
    "\n\n  \n",
    "a  b   c\t\td \r\n e",
    "trailing spaces   ",
    "  leading spaces",
    "I'm sure they'LL say it isn't we're",
    "1234567890 12,345.67 3.14159",
    "snake_case camelCase SCREAMING_CASE kebab-case",
    "fn main() {\n    println!(\"{}\", 1 + 2);\n}\n",
    "https://example.com/a/b?c=d&e=f#g",
    "Grüße aus Köln — naïve café",
    "東京都は日本の首都です。",
    "Привет, мир! Ελληνικά עברית العربية",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{1f1e9}\u{1f1ea} \u{a0}\u{2003}x\u{3000}",
    "<|endoftext|> <|im_start|>system\n",
];

fn check_against_reference(text: &str) {
    assert_eq!(count_tokens("gpt-4", text), bpe_openai::cl100k_base().count(text) as u64, "{text:?}");
    assert_eq!(count_tokens("gpt-4o", text), bpe_openai::o200k_base().count(text) as u64, "{text:?}");
}

#[test]
fn counts_are_those_of_the_reference() {
    for text in TEXTS {
        check_against_reference(text);
    }
    check_against_reference(&TEXTS.concat());
    check_against_reference(&"a".repeat(10_000));
    check_against_reference(&" \n".repeat(3_000));
    check_against_reference(&"aaab".repeat(2_000));
    check_against_reference(&"\u{30a2}\u{1f600}".repeat(500));
}

proptest::proptest! {
    #[test]
    fn counts_of_any_text_are_those_of_the_reference(text in "(\\PC|\\s|[a-zA-Z0-9' ]{1,8}){0,60}") {
        check_against_reference(&text);
    }
}
