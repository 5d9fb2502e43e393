//! Numbers of digits, by the lengths of their groups and the separators between them.

mod europe;
mod world;

use super::super::boundary::{Boundary, after, is_clear_before};
use super::super::checksum::digits;
use super::super::context::has_word_before;
use crate::detector::{Occurrence, Verdict};
pub use europe::france;
pub use world::{chilean_check, chinese_check};

/// Eight to eighteen digits with single separators. A number may end before the match does.
pub const PATTERN: &str = r"(?-u:\b)[0-9](?:[ .-]?[0-9]){7,17}";
pub const SLASHED_PATTERN: &str = r"(?-u:\b)[0-9]{6}/[0-9]{4}";

/// A country's numbers that are checked in the same way.
pub struct NumberFormat {
    /// The country's code of two letters.
    pub country: &'static str,
    /// The forms of the numbers: lengths of groups with their separators, such as `3.3.3-2`.
    forms: &'static [&'static str],
    is_valid: fn(&[u8]) -> bool,
    /// Words of which one has to stand before the number. Empty if form and checksum are strong enough.
    words: &'static [&'static str],
}

const fn strong(
    country: &'static str,
    forms: &'static [&'static str],
    is_valid: fn(&[u8]) -> bool,
) -> NumberFormat {
    NumberFormat { country, forms, is_valid, words: &[] }
}

const fn weak(
    country: &'static str,
    forms: &'static [&'static str],
    is_valid: fn(&[u8]) -> bool,
    words: &'static [&'static str],
) -> NumberFormat {
    NumberFormat { country, forms, is_valid, words }
}

const GERMAN_TAX: &[&str] = &["steuer", "idnr", "id-nr", "tax id", "tin"];
const DUTCH: &[&str] = &["bsn", "burgerservice", "sofi", "citizen service"];
const SWEDISH: &[&str] = &["personnummer", "person nr", "personnr", "personal number", "samordningsnummer"];
const AADHAAR: &[&str] = &["aadhaar", "aadhar", "adhaar", "uidai", "uid", "आधार"];
const PORTUGUESE: &[&str] = &["nif", "contribuinte", "número fiscal"];
const CANADIAN: &[&str] = &["sin", "social insurance", "assurance sociale", "nas"];
const AUSTRALIAN: &[&str] = &["tfn", "tax file"];
const JAPANESE: &[&str] = &["my number", "mynumber", "individual number", "マイナンバー", "個人番号"];
const CHILEAN: &[&str] = &["rut", "run"];

pub const FORMATS: &[NumberFormat] = &[
    strong("BR", &["3.3.3-2"], world::brazil),
    weak("BR", &["11"], world::brazil, &["cpf"]),
    weak("DE", &["11", "2 3 3 3"], europe::germany, GERMAN_TAX),
    strong("FR", &["15"], europe::france_compact),
    strong("FR", &["13 2", "1 2 2 2 3 3 2"], europe::france),
    weak("NL", &["9", "4.2.3", "3 3 3"], europe::netherlands, DUTCH),
    weak("PL", &["11"], europe::poland, &["pesel"]),
    strong("SE", &["6-4", "8-4"], europe::sweden),
    weak("SE", &["10", "12"], europe::sweden, SWEDISH),
    strong("BE", &["2.2.2-3.2", "11"], europe::belgium),
    strong("CH", &["3.4.4.2", "13"], europe::switzerland),
    weak("DK", &["6-4"], europe::denmark, &["cpr", "personnummer"]),
    weak("DK", &["10"], europe::denmark, &["cpr"]),
    strong("NO", &["11", "6 5"], europe::norway),
    weak("PT", &["9", "3 3 3"], europe::portugal, PORTUGUESE),
    weak("RO", &["13"], europe::romania, &["cnp", "cod numeric"]),
    weak("BG", &["10"], europe::bulgaria, &["егн", "egn"]),
    strong("CZ", &["6/4"], europe::czechia),
    weak("CZ", &["10"], europe::czechia, &["rodné", "rodne"]),
    weak("TR", &["11"], europe::turkey, &["kimlik", "tckn", "tc no"]),
    weak("HR", &["11"], europe::croatia, &["oib"]),
    weak("EE", &["11"], europe::baltics, &["isikukood", "personal code", "id-kood"]),
    weak("LT", &["11"], europe::baltics, &["asmens kod", "personal code"]),
    weak("GR", &["11"], europe::greece, &["amka", "αμκα"]),
    weak("IN", &["12", "4 4 4", "4-4-4"], world::india, AADHAAR),
    strong("KR", &["6-7"], world::korea),
    strong("CN", &["18"], world::china),
    strong("ZA", &["13", "6 4 3"], world::south_africa),
    strong("AR", &["2-8-1"], world::argentina),
    weak("AR", &["11"], world::argentina, &["cuit", "cuil"]),
    strong("CL", &["2.3.3-1", "1.3.3-1"], world::chile),
    weak("CL", &["8-1", "7-1"], world::chile, CHILEAN),
    weak("CA", &["3-3-3", "3 3 3", "9"], world::canada, CANADIAN),
    weak("AU", &["3 3 3", "9"], world::australia, AUSTRALIAN),
    weak("JP", &["12", "4 4 4", "4-4-4"], world::japan, JAPANESE),
    strong("TH", &["1-4-5-2-1"], world::thailand),
    weak("TH", &["13"], world::thailand, &["บัตรประชาชน", "thai id", "national id"]),
    strong("US", &["3-2-4"], world::united_states_taxpayer),
];

pub fn check(found: &Occurrence<'_>) -> Verdict {
    if !is_clear_before(found) {
        return Verdict::Invalid;
    }
    let boundary = after(found.rest(), found.is_end());
    if boundary == Boundary::Unknown {
        return Verdict::NeedsMore;
    }
    let text = found.matched();
    let is_separator = |byte: &u8| !byte.is_ascii_digit();
    let cuts = text.bytes().enumerate().filter(|(_, byte)| is_separator(byte)).map(|(position, _)| position);
    let mut ends: Vec<usize> = cuts.collect();
    ends.extend((boundary == Boundary::Clear).then_some(text.len()));
    // Longest first: a number may be followed by other digits behind a space.
    for end in ends.into_iter().rev().filter(|end| is_end_of_number(text, *end)) {
        let number = &text[..end];
        let form = form_of(number);
        let digits = digits(number);
        let is_valid = |format: &&NumberFormat| {
            format.forms.contains(&form.as_str())
                && (format.is_valid)(&digits)
                && (format.words.is_empty() || has_word_before(found, format.words))
        };
        if FORMATS.iter().any(|format| is_valid(&format)) {
            return found.part(0..end);
        }
    }
    Verdict::Invalid
}

/// Whether a number may end here: at the end of the match, or before a space.
fn is_end_of_number(text: &str, end: usize) -> bool {
    matches!(text.as_bytes().get(end), None | Some(b' '))
}

/// The lengths of the groups with their separators.
fn form_of(number: &str) -> String {
    let mut form = String::new();
    let mut rest = number;
    while !rest.is_empty() {
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        form += &length.to_string();
        form.extend(rest[length..].chars().next());
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    form
}
