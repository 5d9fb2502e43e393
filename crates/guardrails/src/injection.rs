//! Rules against prompt injection: a score from 0 to 1 and the names of the rules that matched.
//!
//! Rules are matched on normalised text, on forms of it in which letters are disguised, and on text that was encoded.

mod disguise;
mod encoded;
mod matcher;
mod rules;

use std::borrow::Cow;

pub use crate::detector::RuleError;
use crate::normalise::{NormaliseOptions, TagCharacters, normalise};
use disguise::{rotate_by_13, undisguise};
use matcher::RuleMatcher;
use rules::{ENCODED_TEXT, HIDDEN_TEXT, INVISIBLE_CHARACTERS, RULES};

/// Invisible characters that a text may have without being suspicious, as emoji and some scripts do.
const MOST_INVISIBLE: usize = 12;
/// The most that a classifier adds to the score.
const CLASSIFIER_WEIGHT: f32 = 0.9;
/// How steeply the evidence of a classifier grows with its probability. A fifth of the harmless texts that look like
/// attacks have a probability above one half, and some have 0.95.
const CLASSIFIER_STEEPNESS: i32 = 16;

/// The sensitivity of the rules, which sets the score from which on a text counts as an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    Low,
    Medium,
    High,
}

impl Sensitivity {
    /// The score from which on a text counts as an injection.
    pub fn threshold(self) -> f32 {
        match self {
            Self::Low => 0.8,
            Self::Medium => 0.55,
            Self::High => 0.35,
        }
    }

    pub fn is_reached(self, score: f32) -> bool {
        score >= self.threshold()
    }
}

/// The result for one text.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// From 0 to 1.
    pub score: f32,
    /// Names of the rules that matched.
    pub rules: Vec<&'static str>,
}

/// The compiled rules.
pub struct InjectionRules {
    matcher: RuleMatcher,
}

impl InjectionRules {
    pub fn new() -> Result<Self, RuleError> {
        Ok(Self { matcher: RuleMatcher::new().ok_or(RuleError)? })
    }

    /// Assesses one text.
    pub fn assess(&self, text: &str) -> Assessment {
        let mut matched = vec![false; RULES.len()];
        let visible = fold(text, TagCharacters::Remove);
        self.match_text(&visible, &mut matched);
        self.match_hidden(text, &mut matched);
        if let Cow::Owned(undisguised) = undisguise(&visible) {
            self.match_text(&undisguised, &mut matched);
        }
        if self.matcher.has_rotated_words(&visible) {
            self.match_encoded(&rotate_by_13(&visible), &mut matched);
        }
        for decoded in encoded::decode_all(text) {
            self.match_encoded(&fold(&decoded, TagCharacters::Remove), &mut matched);
        }
        summarise(&matched)
    }

    fn match_text(&self, text: &str, matched: &mut [bool]) {
        self.matcher.for_each(text, |rule| matched[rule] = true);
    }

    /// Text that had to be decoded first counts more.
    fn match_encoded(&self, text: &str, matched: &mut [bool]) {
        self.matcher.for_each(text, |rule| {
            matched[rule] = true;
            matched[ENCODED_TEXT] = true;
        });
    }

    /// Text that is written in tag characters, and unusual numbers of invisible characters.
    fn match_hidden(&self, text: &str, matched: &mut [bool]) {
        if text.is_ascii() {
            return;
        }
        let is_tag = |character: &char| ('\u{E0020}'..='\u{E007E}').contains(character);
        let hidden: String = text.chars().filter(is_tag).collect();
        // Flags of regions are spelled in up to six tag characters.
        if hidden.chars().count() > 6 {
            matched[HIDDEN_TEXT] = true;
            self.match_text(&fold(&hidden, TagCharacters::ToAscii), matched);
        }
        let is_invisible = |character: &char| matches!(character, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}' | '\u{AD}');
        matched[INVISIBLE_CHARACTERS] |= text.chars().filter(is_invisible).count() > MOST_INVISIBLE;
    }
}

/// The score of rules together with that of a classifier, if there is one. Both are from 0 to 1.
///
/// A classifier adds evidence and takes none away. Only the upper half of its score counts, and little of it below 0.95,
/// so that less certain texts need a rule as well.
pub fn combine(rules: f32, classifier: Option<f32>) -> f32 {
    let classifier =
        classifier.map_or(0.0, |score| ((score - 0.5) * 2.0).clamp(0.0, 1.0).powi(CLASSIFIER_STEEPNESS));
    1.0 - (1.0 - rules.clamp(0.0, 1.0)) * (1.0 - CLASSIFIER_WEIGHT * classifier)
}

/// Rules are independent evidence: the score is the probability that at least one of them is right.
fn summarise(matched: &[bool]) -> Assessment {
    let found = || RULES.iter().zip(matched).filter(|(_, matched)| **matched).map(|(rule, _)| rule);
    let doubt: f32 = found().map(|rule| 1.0 - rule.weight).product();
    let mut rules: Vec<&'static str> = found().map(|rule| rule.name).collect();
    rules.dedup();
    Assessment { score: 1.0 - doubt, rules }
}

fn fold(text: &str, tags: TagCharacters) -> String {
    normalise(text, NormaliseOptions { fold_case: true, tags }).text().to_owned()
}

#[cfg(test)]
mod tests;
