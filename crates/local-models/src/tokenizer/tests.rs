//! Tests of the tokenizer.

use super::*;
use crate::random_model::PIECES;

fn pieces(text: &str) -> Vec<&'static str> {
    let tokenizer = Tokenizer::new(&PIECES.join("\n")).expect("vocabulary");
    tokenizer.pieces(text, usize::MAX).into_iter().map(|id| PIECES[id as usize]).collect()
}

#[test]
fn splits_words_into_the_longest_known_pieces() {
    assert_eq!(pieces("hello world"), ["hello", "world"]);
    assert_eq!(pieces("unaffable abc"), ["un", "##aff", "##able", "a", "##b", "##c"]);
    assert_eq!(pieces("hello unaffordable"), ["hello", "[UNK]"]);
    assert_eq!(pieces(""), [""; 0]);
    assert_eq!(pieces(" \n\t "), [""; 0]);
}

#[test]
fn cleans_text_and_removes_case_and_accents() {
    assert_eq!(pieces("HELLO\tWörld"), ["hello", "world"]);
    assert_eq!(pieces("Café cafe\u{301} CAFÉ"), ["cafe", "cafe", "cafe"]);
    assert_eq!(pieces("he\u{0}llo wo\u{200B}rld\u{FFFD}"), ["hello", "world"]);
    assert_eq!(pieces("hello\u{A0}world\r\n"), ["hello", "world"]);
}

#[test]
fn punctuation_and_ideographs_are_words() {
    assert_eq!(pieces("hello,world!."), ["hello", ",", "world", "!", "."]);
    assert_eq!(pieces("hello中国world"), ["hello", "中", "国", "world"]);
    assert_eq!(pieces("hello\u{2014}world"), ["hello", "[UNK]", "world"]);
}

#[test]
fn names_of_special_pieces_are_text() {
    assert_eq!(pieces("[CLS] hello"), ["[", "cl", "##s", "]", "hello"]);
}

#[test]
fn limits_words_and_pieces() {
    let tokenizer = Tokenizer::new(&PIECES.join("\n")).expect("vocabulary");
    assert_eq!(tokenizer.pieces(&"b".repeat(10), usize::MAX), [1]);
    assert_eq!(tokenizer.pieces(&format!("a{}", "b".repeat(99)), usize::MAX).len(), 100);
    assert_eq!(tokenizer.pieces(&format!("a{}", "b".repeat(100)), usize::MAX), [1]);
    assert_eq!(tokenizer.pieces(&"hello ".repeat(1000), 7).len(), 7);
    assert_eq!(tokenizer.pieces("unaffable", 2), [7, 8]);
    assert_eq!(tokenizer.with_marks(&[5]), [2, 5, 3]);
}

#[test]
fn a_vocabulary_without_special_pieces_is_refused() {
    let error = Tokenizer::new("hello\nworld").err().expect("error").to_string();
    assert_eq!(error, "The vocabulary does not contain [CLS].");
}
