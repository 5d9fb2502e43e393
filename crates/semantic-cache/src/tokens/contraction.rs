//! Contractions: "don't" is "do not", "what's" is "what is"; the possessive ending is removed.

use super::{Token, TokenClass};

/// Contractions that are written without their apostrophe.
const WITHOUT_APOSTROPHE: [(&str, &str); 27] = [
    ("arent", "are not"),
    ("cannot", "can not"),
    ("cant", "can not"),
    ("couldnt", "could not"),
    ("didnt", "did not"),
    ("doesnt", "does not"),
    ("dont", "do not"),
    ("gonna", "going to"),
    ("gotta", "have to"),
    ("hasnt", "has not"),
    ("havent", "have not"),
    ("hows", "how is"),
    ("im", "i am"),
    ("isnt", "is not"),
    ("ive", "i have"),
    ("lets", "let us"),
    ("shouldnt", "should not"),
    ("thats", "that is"),
    ("wanna", "want to"),
    ("wasnt", "was not"),
    ("werent", "were not"),
    ("whats", "what is"),
    ("wheres", "where is"),
    ("whos", "who is"),
    ("wont", "will not"),
    ("wouldnt", "would not"),
    ("youre", "you are"),
];

/// Words after which `'s` is "is" and not a possessive.
const BEFORE_IS: [&str; 13] =
    ["what", "who", "where", "when", "why", "how", "it", "that", "there", "here", "he", "she", "which"];

/// Writes out the contractions of a text.
pub fn expand(tokens: Vec<Token>) -> Vec<Token> {
    let mut expanded = Vec::with_capacity(tokens.len());
    for token in tokens {
        match (token.class == TokenClass::Word).then(|| written_out(&token.text)).flatten() {
            Some(words) => {
                for (at, word) in words.split(' ').enumerate() {
                    expanded.push(Token {
                        text: word.to_owned(),
                        starts_sentence: token.starts_sentence && at == 0,
                        ..token.clone()
                    });
                }
            }
            None => expanded.push(token),
        }
    }
    expanded
}

fn written_out(word: &str) -> Option<String> {
    if let Ok(at) = WITHOUT_APOSTROPHE.binary_search_by_key(&word, |(short, _)| *short) {
        return Some(WITHOUT_APOSTROPHE[at].1.to_owned());
    }
    let (base, ending) = word.rsplit_once('\'')?;
    Some(match (base, ending) {
        ("can", "t") => "can not".to_owned(),
        ("won", "t") => "will not".to_owned(),
        ("shan", "t") => "shall not".to_owned(),
        ("let", "s") => "let us".to_owned(),
        (_, "t") => format!("{} not", base.strip_suffix('n').unwrap_or(base)),
        (_, "re") => format!("{base} are"),
        (_, "ve") => format!("{base} have"),
        (_, "ll") => format!("{base} will"),
        (_, "m") => format!("{base} am"),
        (_, "d") => format!("{base} would"),
        (_, "s") if BEFORE_IS.contains(&base) => format!("{base} is"),
        (_, "s") => base.to_owned(),
        _ => format!("{base}{ending}"),
    })
}
