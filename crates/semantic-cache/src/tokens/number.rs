//! Numbers: digits, number words, ordinals, and values with a unit.

use super::{Token, TokenClass, roman};

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const ORDINALS: [&str; 20] = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
];
/// Multipliers as words and as endings of digits.
const MULTIPLIERS: [(&str, f64); 9] = [
    ("hundred", 1e2),
    ("thousand", 1e3),
    ("million", 1e6),
    ("billion", 1e9),
    ("trillion", 1e12),
    ("k", 1e3),
    ("mn", 1e6),
    ("bn", 1e9),
    ("lakh", 1e5),
];

/// Adds a chunk of letters and digits as a word, a number, or a number with its unit.
pub fn push_word(word: &str, starts_sentence: bool, tokens: &mut Vec<Token>) {
    let digits_end =
        word.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | ':'))).unwrap_or(word.len());
    let (digits, ending) = word.split_at(digits_end);
    if digits.is_empty() || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        push_letters(word, starts_sentence, tokens);
        return;
    }
    let mut push = |text: &str, class| tokens.push(Token::new(text, class, starts_sentence));
    if let Some(unit) = unit_by_case(ending) {
        push(&plain(digits), TokenClass::Number);
        return push(unit, TokenClass::Word);
    }
    let ending = ending.to_lowercase();
    match ending.as_str() {
        "" => push(&plain(digits), TokenClass::Number),
        "st" | "nd" | "rd" | "th" => push(&format!("{}th", plain(digits)), TokenClass::Number),
        "s" if is_decade(digits) => push(&format!("{digits}s"), TokenClass::Number),
        "s" => push(&plain(digits), TokenClass::Number),
        _ => match (multiplier(&ending), digits.parse::<f64>()) {
            (Some(factor), Ok(value)) => push(&text_of(value * factor), TokenClass::Number),
            _ if ending.chars().all(char::is_alphabetic) && ending.len() < 8 => {
                push(&plain(digits), TokenClass::Number);
                push(&ending, TokenClass::Word);
            }
            _ => push(word, TokenClass::Identifier),
        },
    }
}

/// Adds a chunk that begins with a letter.
fn push_letters(word: &str, starts_sentence: bool, tokens: &mut Vec<Token>) {
    let before = tokens.last();
    let follows_number = before.is_some_and(|token| token.class == TokenClass::Number);
    let token = match unit_by_case(word).filter(|_| follows_number) {
        Some(unit) => Token::new(unit, TokenClass::Word, starts_sentence),
        None => match roman::value(word, before.map(|token| &*token.text)) {
            Some(value) => Token::new(&value.to_string(), TokenClass::Number, starts_sentence),
            None => Token::new(word, TokenClass::Word, starts_sentence),
        },
    };
    tokens.push(token);
}

/// The unit of an abbreviation that means another one with other capitals: bits and bytes, milli and mega.
fn unit_by_case(word: &str) -> Option<&'static str> {
    Some(match word {
        "Kb" => "kilobit",
        "Mb" => "megabit",
        "Gb" => "gigabit",
        "Tb" => "terabit",
        "mW" => "milliwatt",
        "MW" => "megawatt",
        "mV" => "millivolt",
        "MV" => "megavolt",
        "mA" => "milliampere",
        "mJ" => "millijoule",
        "MJ" => "megajoule",
        _ => return None,
    })
}

/// Whether digits before an "s" name a decade: "the 1990s", "the 90s".
fn is_decade(digits: &str) -> bool {
    matches!(digits.len(), 2 | 4)
        && digits.ends_with('0')
        && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Digits without separators of thousands and without needless zeros.
fn plain(digits: &str) -> String {
    let without_commas = digits.replace(',', "");
    match without_commas.parse::<f64>() {
        Ok(value) if value.abs() < 1e15 => text_of(value),
        _ => without_commas,
    }
}

fn text_of(value: f64) -> String {
    // Products such as 1.1 * 1000 are not exact.
    let rounded = (value * 1e6).round() / 1e6;
    format!("{rounded}")
}

fn multiplier(word: &str) -> Option<f64> {
    let word = word.strip_suffix('s').filter(|singular| singular.len() > 2).unwrap_or(word);
    MULTIPLIERS.iter().find(|(name, _)| *name == word).map(|(_, factor)| *factor)
}

/// Value of a number word below one hundred.
fn small(word: &str) -> Option<f64> {
    let ones = ONES.iter().position(|name| *name == word);
    let tens = TENS.iter().position(|name| *name == word).map(|n| (n + 2) * 10);
    ones.or(tens).map(|value| value as f64)
}

/// Replaces number words by numbers: "twenty five thousand" is `25000`, "the second floor" has a `2th`.
pub fn join_numbers(tokens: Vec<Token>) -> Vec<Token> {
    let mut joined: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if let Some((text, class, used)) = read_number(&tokens, at, joined.last()) {
            joined.push(Token { text, class, ..tokens[at].clone() });
            at += used;
        } else {
            joined.push(tokens[at].clone());
            at += 1;
        }
    }
    joined
}

/// The number that starts at this token: its text, its class and the number of tokens that it takes.
fn read_number(tokens: &[Token], at: usize, before: Option<&Token>) -> Option<(String, TokenClass, usize)> {
    let first = &tokens[at];
    if first.class == TokenClass::Word {
        match first.text.as_str() {
            "second" if before.is_some_and(|t| matches!(t.class, TokenClass::Number) || t.text == "per") => {
                return None;
            }
            "twice" => return Some(("2".to_owned(), TokenClass::Number, 1)),
            "dozen" => return Some(("12".to_owned(), TokenClass::Number, 1)),
            "half" => return Some(("0.5".to_owned(), TokenClass::Number, 1)),
            word => {
                if let Some(n) = ORDINALS.iter().position(|name| *name == word) {
                    return Some((format!("{}th", n + 1), TokenClass::Number, 1));
                }
            }
        }
    }
    let mut sum = match first.class {
        TokenClass::Number => first.text.parse::<f64>().ok()?,
        TokenClass::Word => small(&first.text)?,
        _ => return None,
    };
    let (mut total, mut used) = (0.0, 1);
    while let Some(next) = tokens.get(at + used).filter(|t| t.class == TokenClass::Word) {
        if let Some(factor) = multiplier(&next.text).filter(|_| next.text.len() > 1) {
            sum *= factor;
            if factor > 100.0 {
                total += sum;
                sum = 0.0;
            }
        } else if let Some(ones) =
            small(&next.text).filter(|ones| *ones < 10.0 && sum >= 20.0 && sum % 10.0 == 0.0)
        {
            sum += ones;
        } else {
            break;
        }
        used += 1;
    }
    if first.class == TokenClass::Number && used == 1 {
        return None;
    }
    let class = if first.text == "one" && used == 1 { TokenClass::One } else { TokenClass::Number };
    Some((text_of(total + sum), class, used))
}
