//! Texts with values of every kind, vendor and country, and with matches of patterns.

use ::guardrails::detector::Detector;
use ::guardrails::kind::{Label, PiiKind};

#[path = "../../../../../guardrails/tests/figures/samples/api_keys.rs"]
mod api_keys;
#[path = "../../../../../guardrails/tests/figures/samples/national.rs"]
mod national;
#[path = "../../../../../guardrails/tests/figures/other_api_keys.rs"]
mod other_api_keys;
#[path = "../../../../../guardrails/tests/figures/samples/random.rs"]
mod random;
#[path = "../../../../../guardrails/tests/figures/samples/values.rs"]
mod values;

pub use random::Random;
use values::Value;

/// Values that may be drawn until one is found as a whole: a few random ones are also the start of something else.
const DRAWS: usize = 40;
/// The longest value whose splits are all tried.
const LONGEST: usize = 420;

/// A text with one value in it.
#[derive(Clone, Debug)]
pub struct Sample {
    pub name: String,
    pub before: String,
    pub value: String,
    pub after: String,
    pub replacement: String,
}

impl Sample {
    pub fn text(&self) -> String {
        format!("{}{}{}", self.before, self.value, self.after)
    }

    pub fn redacted(&self) -> String {
        format!("{}{}{}", self.before, self.replacement, self.after)
    }
}

/// One value of each kind, for which all splits are tried.
pub fn of_kinds(detector: &Detector, random: &mut Random) -> Vec<Sample> {
    PiiKind::ALL
        .into_iter()
        .map(|kind| sample(detector, kind, kind.name(), random, &|random| values::value(kind, random)))
        .collect()
}

/// Keys of each vendor, and numbers of each country.
pub fn of_vendors_and_countries(detector: &Detector, random: &mut Random) -> Vec<Sample> {
    let vendors = api_keys::FORMS.iter().chain(other_api_keys::FORMS).map(|(vendor, form)| {
        sample(detector, PiiKind::ApiKey, vendor, random, &|random| Value::new(api_keys::fill(form, random)))
    });
    let mut samples: Vec<Sample> = vendors.collect();
    for (country, make) in national::COUNTRIES {
        samples.push(sample(detector, PiiKind::NationalId, country, random, &make));
    }
    samples
}

/// Draws a value that is found as it is. The sentence ends with a word, because a text may also end in a value.
fn sample(
    detector: &Detector,
    kind: PiiKind,
    name: &str,
    random: &mut Random,
    make: &dyn Fn(&mut Random) -> Value,
) -> Sample {
    let is_block = kind == PiiKind::PrivateKey;
    let (start, end) = if is_block { ("Schlüssel:\n", "\nBye") } else { ("Über ", ", ok?") };
    for _ in 0..DRAWS {
        let Value { text: value, words } = make(random);
        let before = format!("{start}{}", words.first().copied().unwrap_or_default());
        let replacement = format!("[{}]", kind.placeholder_name());
        let sample = Sample { name: name.to_owned(), before, value, after: end.to_owned(), replacement };
        if sample.value.len() <= LONGEST && is_found(detector, &sample, kind) {
            return sample;
        }
    }
    panic!("no value of {name} is found");
}

fn is_found(detector: &Detector, sample: &Sample, kind: PiiKind) -> bool {
    let range = sample.before.len()..sample.before.len() + sample.value.len();
    let findings = detector.find_all(&sample.text(), "").unwrap();
    matches!(&findings[..], [found] if found.label == Label::Pii(kind) && found.range == range)
}

/// Patterns of `regex_block` with optional and repeated parts, alternatives, classes and word boundaries.
pub const PATTERNS: [&str; 8] = [
    "(?i)secret-[a-z]{2,8}",
    r"\bproject (?:x|y)ray\b",
    "(?:foo)?bar-[0-9]{3}",
    r"top\s{1,3}secret",
    "geh[eé]im(?:nis)?",
    "<[a-z]{1,20}>",
    "(?:ab){2,6}c",
    "[A-Z]{2}[0-9]{4,6}",
];

/// Matches of the patterns, after text that starts like one.
pub fn of_patterns() -> Vec<Sample> {
    let matches = [
        ("secSECRET-1 secret-? ", "SECRET-Alpha", " secret-"),
        ("my project x, ", "project yray", "."),
        ("foofoo", "foobar-123", "4 foobar-"),
        ("top sec top \n", "top \n secret", " top"),
        ("gehei? ", "geh\u{e9}imnis", "se"),
        ("<a <b1> ", "<abcdefghij>", "> <"),
        ("abab-", "abababc", "ababab"),
        ("A1 AB12 ", "XY123456", "7"),
    ];
    let sample = |(before, value, after): (&str, &str, &str)| Sample {
        name: format!("pattern for {value:?}"),
        before: before.to_owned(),
        value: value.to_owned(),
        after: after.to_owned(),
        replacement: "[REDACTED]".to_owned(),
    };
    matches.map(sample).to_vec()
}
