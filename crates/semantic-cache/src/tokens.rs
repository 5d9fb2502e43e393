//! Tokens of a text: words, numbers, symbols and identifiers, with contractions written out.

mod contraction;
mod identifier;
mod number;
mod roman;
mod sign;

use unicode_normalization::UnicodeNormalization;

pub use number::join_numbers;
use sign::Sign;

/// Class of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenClass {
    Word,
    /// A number in normal form: `1,000` is `1000`, `third` is `3th`.
    Number,
    /// The word "one", which is a number or a pronoun.
    One,
    /// A mathematical symbol.
    Symbol,
    /// An address, a path, a name in code: compared as it is.
    Identifier,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// In lower case, but for identifiers.
    pub text: String,
    pub class: TokenClass,
    pub is_capitalised: bool,
    /// All letters are capitals, and there are at least two.
    pub is_acronym: bool,
    pub starts_sentence: bool,
}

impl Token {
    fn new(text: &str, class: TokenClass, starts_sentence: bool) -> Self {
        let is_identifier = class == TokenClass::Identifier;
        let is_acronym =
            text.chars().filter(|c| c.is_uppercase()).count() > 1 && text.chars().all(|c| !c.is_lowercase());
        Self {
            text: if is_identifier { text.to_owned() } else { text.to_lowercase() },
            class,
            is_capitalised: text.starts_with(char::is_uppercase),
            is_acronym,
            starts_sentence,
        }
    }

    pub fn is_word(&self, text: &str) -> bool {
        self.class == TokenClass::Word && self.text == text
    }
}

/// A text in compatibility normal form, with straight quotation marks and hyphens.
pub fn normalise(text: &str) -> String {
    text.nfkc()
        .map(|c| match c {
            '\u{2018}' | '\u{2019}' | '\u{201B}' | '\u{2032}' | '\u{B4}' => '\'',
            '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{AB}' | '\u{BB}' | '\u{2033}' => '"',
            '\u{2010}'..='\u{2012}' | '\u{2212}' => '-',
            '\u{2013}'..='\u{2015}' => ' ',
            '\u{D7}' => '*',
            '\u{F7}' => '/',
            c => c,
        })
        .collect()
}

/// Splits a normalised text into tokens.
pub fn tokenise(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut starts_sentence = true;
    for chunk in text.split_whitespace() {
        let before = tokens.len();
        match identifier::read(chunk) {
            Some(name) => tokens.push(Token::new(&name, TokenClass::Identifier, starts_sentence)),
            None => split_chunk(chunk, starts_sentence, &mut tokens),
        }
        if tokens.len() > before || chunk.len() > 1 {
            starts_sentence = false;
        }
        if chunk.trim_end_matches(['"', '\'', ')']).ends_with(['.', '?', '!', ':', ';']) {
            starts_sentence = true;
        }
    }
    contraction::expand(tokens)
}

/// Splits a chunk between spaces into words, numbers and symbols.
fn split_chunk(chunk: &str, starts_sentence: bool, tokens: &mut Vec<Token>) {
    let letters: Vec<char> = chunk.chars().collect();
    let mut at = 0;
    let mut is_start = starts_sentence;
    while at < letters.len() {
        let from = at;
        let letter = letters[at];
        at += 1;
        if letter.is_alphanumeric() {
            while at < letters.len() && joins(&letters, at) {
                at += 1;
            }
            let word: String = letters[from..at].iter().collect();
            number::push_word(&word, is_start, tokens);
            is_start = false;
            continue;
        }
        match sign::read(&letters, from) {
            Some(Sign::Word(word)) => tokens.push(Token::new(word, TokenClass::Word, false)),
            Some(Sign::Symbol(symbol)) => {
                tokens.push(Token::new(symbol.encode_utf8(&mut [0; 4]), TokenClass::Symbol, false));
            }
            None => {}
        }
    }
}

/// Whether the character at this position belongs to the word or number before it.
fn joins(letters: &[char], at: usize) -> bool {
    let (before, next) = (letters[at - 1], letters.get(at + 1));
    match letters[at] {
        c if c.is_alphanumeric() => true,
        '\'' => before.is_alphabetic() && next.is_some_and(|c| c.is_alphabetic()),
        '.' | ',' | ':' => before.is_ascii_digit() && next.is_some_and(char::is_ascii_digit),
        // Letters with marks that have no composed form.
        c => unicode_normalization::char::is_combining_mark(c),
    }
}
