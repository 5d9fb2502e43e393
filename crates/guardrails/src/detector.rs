//! Detection of values in text: candidates of the automata, checked by rules in order of priority.

mod occurrence;

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use regex_syntax::hir::Hir;

pub use crate::automaton::TooComplex;
use crate::automaton::{Automata, BuildError, Searcher};
use crate::kind::Label;
use crate::normalise::{NormaliseOptions, Normalised, normalise};
pub(crate) use occurrence::{CONTEXT_LENGTH, Occurrence, Verdict};

/// The normalisation of texts before they are searched. Case is kept, because it matters in keys and addresses.
pub(crate) const NORMALISATION: NormaliseOptions =
    NormaliseOptions { fold_case: false, tags: crate::normalise::TagCharacters::ToAscii };

/// A set of rules, compiled for searching in whole texts and in streams.
pub struct Detector {
    automata: Automata,
    rules: Vec<Rule>,
}

/// The label of a pattern's findings, and the check that decides whether an occurrence is one.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    pub label: Label,
    pub check: fn(&Occurrence<'_>) -> Verdict,
}

/// A value that was found, by its position in the original text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub label: Label,
    pub range: Range<usize>,
}

/// Rules of this crate could not be compiled, which is a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleError;

impl Error for RuleError {}

impl Display for RuleError {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("the rules of the guardrails cannot be compiled")
    }
}

/// Text before the searched one that context words may stand in, such as the key of a JSON member.
pub type PrecedingText<'a> = &'a str;

/// The result of a search for the next finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A finding, by its position in the normalised text.
    Found(Label, Range<usize>),
    /// An occurrence at this position cannot be decided without more text.
    NeedsMore(usize),
    /// Nothing starts before the limit of the search.
    Clear,
}

impl Detector {
    /// Compiles patterns with their rules, in order of priority.
    pub(crate) fn build(patterns: &[Hir], rules: Vec<Rule>) -> Result<Self, BuildError> {
        Ok(Self { automata: Automata::build(patterns)?, rules })
    }

    /// All findings in a text, from left to right, without overlaps.
    pub fn find_all(&self, text: &str, lead: PrecedingText<'_>) -> Result<Vec<Finding>, TooComplex> {
        let mut findings = Vec::new();
        self.for_each(&normalise(text, NORMALISATION), lead, |finding| {
            findings.push(finding);
            true
        })?;
        Ok(findings)
    }

    /// Whether anything is found in a text.
    pub fn is_match(&self, text: &str, lead: PrecedingText<'_>) -> Result<bool, TooComplex> {
        let mut is_match = false;
        self.for_each(&normalise(text, NORMALISATION), lead, |_| {
            is_match = true;
            false
        })?;
        Ok(is_match)
    }

    /// Calls a function with each finding until it returns false.
    fn for_each(
        &self,
        normalised: &Normalised<'_>,
        lead: PrecedingText<'_>,
        mut visit: impl FnMut(Finding) -> bool,
    ) -> Result<(), TooComplex> {
        let text = normalised.text();
        let mut searcher = self.automata.searcher(text);
        let mut from = 0;
        loop {
            let span = SearchSpan { text, from, limit: text.len(), is_end: true, lead };
            let Step::Found(label, range) = self.next_finding(&mut searcher, &span)? else { return Ok(()) };
            from = normalised.segment_end(range.end);
            if !visit(Finding { label, range: normalised.original_range(range) }) {
                return Ok(());
            }
        }
    }

    /// Starts a search over normalised text.
    pub(crate) fn searcher<'s>(&'s self, text: &'s str) -> Searcher<'s> {
        self.automata.searcher(text)
    }

    /// Whether a finding can start with this character or with one that following marks make of it.
    pub(crate) fn may_start_with(&self, character: char) -> bool {
        self.automata.may_start_with(character)
    }

    /// The next finding that starts within a span of normalised text.
    pub(crate) fn next_finding(
        &self,
        searcher: &mut Searcher<'_>,
        span: &SearchSpan<'_>,
    ) -> Result<Step, TooComplex> {
        let mut from = span.from;
        while let Some(candidate) = searcher.next_candidate(from)? {
            if candidate.start >= span.limit {
                break;
            }
            let step = searcher.first_accepted(candidate, |candidate| {
                let rule = self.rules.get(candidate.pattern)?;
                match (rule.check)(&Occurrence::new(span, candidate.start..candidate.end)) {
                    Verdict::Valid(range) => Some(Step::Found(rule.label, range)),
                    Verdict::NeedsMore => Some(Step::NeedsMore(candidate.start)),
                    Verdict::Invalid => None,
                }
            })?;
            if let Some(step) = step {
                return Ok(step);
            }
            from = next_character(span.text, candidate.start);
        }
        Ok(Step::Clear)
    }
}

/// A part of a normalised text that is searched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchSpan<'a> {
    pub text: &'a str,
    /// Findings start here or later.
    pub from: usize,
    /// Findings start before this position.
    pub limit: usize,
    /// Whether no more text follows.
    pub is_end: bool,
    pub lead: PrecedingText<'a>,
}

fn next_character(text: &str, position: usize) -> usize {
    let width = text.get(position..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    position + width
}
