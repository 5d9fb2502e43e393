//! Patterns of guardrail configurations: checked, limited in size, and compiled for a linear-time search.

mod problem;
mod syntax;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use crate::automaton::BuildError;
use crate::detector::{Detector, Finding, Rule, TooComplex};
use crate::kind::Label;
pub use problem::{PatternError, PatternProblem};

/// Patterns in one set.
pub const MAX_PATTERNS: usize = 2_000;
/// Bytes of the text of one pattern.
pub const MAX_PATTERN_TEXT: usize = 4_096;
/// Bytes that a match of a pattern for output may have.
pub const MAX_OUTPUT_MATCH: usize = 8_192;
const NESTING_LIMIT: u32 = 64;

/// The texts that a set of patterns is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternUse {
    /// Whole texts only.
    Input,
    /// Streams, too: the length of each match must be bounded, because text that may become a match is held back.
    Output,
}

/// A compiled set of patterns. The order of the patterns is their priority.
pub struct PatternSet {
    detector: Detector,
}

impl PatternSet {
    /// Compiles patterns, or names the first one that cannot be used and the reason.
    pub fn compile<P: AsRef<str>>(patterns: &[P], usage: PatternUse) -> Result<Self, PatternError> {
        if patterns.len() > MAX_PATTERNS {
            return Err(PatternError { index: MAX_PATTERNS, problem: PatternProblem::TooMany });
        }
        let numbered = patterns.iter().map(AsRef::as_ref).enumerate();
        let parsed: Vec<Hir> = numbered
            .map(|(index, pattern)| parse(pattern, usage).map_err(|problem| PatternError { index, problem }))
            .collect::<Result<_, _>>()?;
        let rules = (0..patterns.len())
            .map(|index| Rule { label: Label::Pattern(index), check: |found| found.whole() });
        let detector = Detector::build(&parsed, rules.collect()).map_err(|error| match error {
            BuildError::PatternTooLarge(index) => PatternError { index, problem: PatternProblem::TooLarge },
            BuildError::SetTooLarge(index) => PatternError { index, problem: PatternProblem::SetTooLarge },
        })?;
        Ok(Self { detector })
    }

    /// Whether a pattern matches in a text.
    pub fn is_match(&self, text: &str) -> Result<bool, TooComplex> {
        self.detector.is_match(text, "")
    }

    /// All matches in a text, from left to right, without overlaps.
    pub fn find_all(&self, text: &str) -> Result<Vec<Finding>, TooComplex> {
        self.detector.find_all(text, "")
    }

    pub fn detector(&self) -> &Detector {
        &self.detector
    }

    pub fn into_detector(self) -> Detector {
        self.detector
    }
}

fn parse(pattern: &str, usage: PatternUse) -> Result<Hir, PatternProblem> {
    if pattern.len() > MAX_PATTERN_TEXT {
        return Err(PatternProblem::TextTooLong);
    }
    let parsed = ParserBuilder::new().nest_limit(NESTING_LIMIT).build().parse(pattern);
    let parsed = parsed.map_err(|error| PatternProblem::Syntax(syntax::describe(&error)))?;
    let properties = parsed.properties();
    if properties.minimum_len().is_none() {
        return Err(PatternProblem::MatchesNothing);
    }
    if properties.minimum_len() == Some(0) {
        return Err(PatternProblem::MatchesEmptyText);
    }
    if let Some(character) = syntax::unmatchable_character(&parsed) {
        return Err(PatternProblem::NormalisedAway(character));
    }
    if usage == PatternUse::Output {
        match properties.maximum_len() {
            None => return Err(PatternProblem::Unbounded(syntax::unbounded_part(pattern))),
            Some(length) if length > MAX_OUTPUT_MATCH => return Err(PatternProblem::MatchTooLong(length)),
            Some(_) => {}
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests;
