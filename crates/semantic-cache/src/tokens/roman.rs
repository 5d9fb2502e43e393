//! Roman numerals: "Louis XIV", "World War II", "part I".

/// Words after which a single letter is a numeral: "I" is a pronoun elsewhere.
const NUMBERED: [&str; 42] = [
    "act",
    "appendix",
    "article",
    "benedict",
    "book",
    "category",
    "catherine",
    "chapter",
    "charles",
    "class",
    "edward",
    "elizabeth",
    "francis",
    "frederick",
    "george",
    "grade",
    "group",
    "henry",
    "james",
    "leo",
    "level",
    "louis",
    "mary",
    "napoleon",
    "nicholas",
    "part",
    "peter",
    "phase",
    "philip",
    "pius",
    "pope",
    "richard",
    "schedule",
    "section",
    "stage",
    "tier",
    "title",
    "type",
    "vol",
    "volume",
    "war",
    "william",
];

/// The value of a numeral up to 39; `None` if the word is none, or may be another word. `before` is the word before it.
pub fn value(word: &str, before: Option<&str>) -> Option<u32> {
    let is_upper = word.chars().all(|c| c.is_ascii_uppercase());
    let is_numeral = match word.to_lowercase().as_str() {
        "i" | "v" | "x" => is_upper && before.is_some_and(|before| NUMBERED.binary_search(&before).is_ok()),
        "vi" | "xi" => is_upper,
        lower => lower.len() > 1 && (is_upper || word == lower),
    };
    is_numeral.then(|| sum(&word.to_lowercase())).flatten()
}

/// The sum of a numeral that is written in the usual way.
fn sum(numeral: &str) -> Option<u32> {
    let tens = numeral.bytes().take_while(|letter| *letter == b'x').count();
    const ONES: [&str; 10] = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"];
    let ones = ONES.iter().position(|ones| *ones == &numeral[tens..])?;
    (tens < 4).then_some((10 * tens + ones) as u32)
}
