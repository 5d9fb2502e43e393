//! Dates of birth: dates behind a word that says so.

use std::borrow::Cow;
use std::ops::Range;

use super::PiiRule;
use super::boundary::{Boundary, after, is_clear_before};
use super::calendar::is_date;
use super::context::{has_name_before, has_word_before};
use crate::detector::{Occurrence, Verdict};
use crate::kind::PiiKind;

const WORDS: [&str; 40] = [
    "born",
    "birth",
    "birthday",
    "birthdate",
    "date of birth",
    "dob",
    "d.o.b",
    "b-day",
    "geboren",
    "geburtsdatum",
    "geburtstag",
    "geb.",
    "né le",
    "née le",
    "né(e) le",
    "naissance",
    "anniversaire",
    "nacido",
    "nacida",
    "nací",
    "nació",
    "nacimiento",
    "cumpleaños",
    "nato",
    "nata",
    "nascita",
    "compleanno",
    "nascido",
    "nascida",
    "nasceu",
    "nascimento",
    "geboortedatum",
    "verjaardag",
    "urodzony",
    "urodzona",
    "urodzenia",
    "född",
    "födelsedatum",
    "生年月日",
    "出生",
];

/// Months in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish and Swedish: the starts of their names.
const MONTHS: [&[&str]; 12] = [
    &["jan", "jän", "ene", "gen", "styc"],
    &["feb", "fév", "fev", "lut"],
    &["mar", "mär", "maar", "mrt"],
    &["apr", "avr", "abr", "kwie"],
    &["may", "mai", "may", "mag", "mei", "maj"],
    &["jun", "juin", "giu", "czer"],
    &["jul", "juil", "lug", "lip"],
    &["aug", "aoû", "ago", "sier"],
    &["sep", "set", "wrz"],
    &["oct", "okt", "ott", "out", "paź"],
    &["nov", "lis"],
    &["dec", "dez", "déc", "dic", "gru"],
];

pub fn rules() -> [PiiRule; 4] {
    let month = r"[A-Za-z\u{C0}-\u{17F}]{3,12}\.?";
    let day = r"(?:[0-9]{1,2}(?:st|nd|rd|th|\.|º)?)";
    let named = format!(
        r"(?-u:\b)(?:{day} (?:de |of )?{month}(?: de|,)? [0-9]{{4}}|{month} {day},? [0-9]{{4}}|[0-9]{{1,2}}[-/]{month}[-/][0-9]{{4}})(?-u:\b)"
    );
    [
        PiiRule::new(
            PiiKind::DateOfBirth,
            r"(?-u:\b)(?:[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.] ?[0-9]{1,2}[-/.] ?(?:[0-9]{4}|[0-9]{2}))(?-u:\b)",
            check_numbers,
        ),
        PiiRule::new(PiiKind::DateOfBirth, r"(?-u:\b)(?:19|20)[0-9]{6}(?-u:\b)", check_compact),
        PiiRule::new(
            PiiKind::DateOfBirth,
            r"[0-9]{4} ?[年년] ?[0-9]{1,2} ?[月월] ?[0-9]{1,2} ?[日일]",
            check_numbers,
        ),
        PiiRule { kind: PiiKind::DateOfBirth, pattern: Cow::Owned(named), check: check_named },
    ]
}

fn check_numbers(found: &Occurrence<'_>) -> Verdict {
    let numbers: Vec<u32> = numbers(found.matched());
    // Versions such as 1.4.24 look like dates with short years.
    let has_short_year = numbers.iter().all(|number| *number < 100);
    let is_birth = match numbers[..] {
        _ if has_short_year && !has_name_before(found, &WORDS) => false,
        [year, month, day] if year >= 1900 => is_birth_date(year, month, day),
        [first, second, year] => {
            // Two digits may be a year of either century.
            let year = if year < 100 { 1900 + year } else { year };
            is_birth_date(year, second, first) || is_birth_date(year, first, second)
        }
        _ => false,
    };
    decide(found, is_birth)
}

/// A date without separators, such as 19850304, directly behind the word.
fn check_compact(found: &Occurrence<'_>) -> Verdict {
    let number = |range: Range<usize>| found.matched()[range].parse().unwrap_or_default();
    let is_birth = is_birth_date(number(0..4), number(4..6), number(6..8)) && has_name_before(found, &WORDS);
    decide(found, is_birth)
}

fn check_named(found: &Occurrence<'_>) -> Verdict {
    let text = found.matched().to_lowercase();
    let words = text.split(|character: char| !character.is_alphabetic());
    let month = words
        .filter(|word| word.chars().count() >= 3)
        .find_map(|word| MONTHS.iter().position(|starts| starts.iter().any(|start| word.starts_with(start))));
    let is_birth = match (month, &numbers(&text)[..]) {
        (Some(month), [day, year]) => {
            is_birth_date(*year, u32::try_from(month + 1).unwrap_or_default(), *day)
        }
        _ => false,
    };
    decide(found, is_birth)
}

fn numbers(text: &str) -> Vec<u32> {
    text.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn is_birth_date(year: u32, month: u32, day: u32) -> bool {
    let small = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    (1900..=2035).contains(&year) && is_date(year, small(month), small(day))
}

fn decide(found: &Occurrence<'_>, is_birth: bool) -> Verdict {
    if !is_birth || !is_clear_before(found) || !has_word_before(found, &WORDS) {
        return Verdict::Invalid;
    }
    match after(found.rest(), found.is_end()) {
        Boundary::Unknown => Verdict::NeedsMore,
        Boundary::Joined => Verdict::Invalid,
        Boundary::Clear => found.whole(),
    }
}
