//! Reasons why a pattern cannot be used, as messages for the author of a guardrail.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

use super::{MAX_OUTPUT_MATCH, MAX_PATTERN_TEXT, MAX_PATTERNS};

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// The position of the pattern in its list, from 0.
    pub index: usize,
    pub problem: PatternProblem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternProblem {
    /// The text is no regular expression; the message of the parser.
    Syntax(String),
    TextTooLong,
    TooMany,
    /// The compiled pattern takes too much memory.
    TooLarge,
    /// The compiled patterns up to this one take too much memory.
    SetTooLarge,
    MatchesNothing,
    MatchesEmptyText,
    /// A character that no normalised text contains.
    NormalisedAway(char),
    /// The part of the pattern without a maximum length.
    Unbounded(String),
    /// The longest match in bytes.
    MatchTooLong(usize),
}

impl Error for PatternError {}

impl Display for PatternError {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "patterns[{}]: {}", self.index, self.problem)
    }
}

impl Display for PatternProblem {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => write!(out, "not a regular expression: {message}"),
            Self::TextTooLong => write!(out, "longer than {MAX_PATTERN_TEXT} bytes; split it into several patterns"),
            Self::TooMany => write!(out, "more than {MAX_PATTERNS} patterns; use a second guardrail"),
            Self::TooLarge => out.write_str(
                "too large when compiled; lower its repetition counts, or write `[A-Za-z0-9_]` for `\\w` and `[0-9]` \
                 for `\\d`, which cover the letters and digits of all scripts",
            ),
            Self::SetTooLarge => out.write_str(
                "the patterns up to this one are too large together; lower their repetition counts or use a second \
                 guardrail",
            ),
            Self::MatchesNothing => out.write_str("it can never match"),
            Self::MatchesEmptyText => {
                out.write_str("it matches the empty text, that is everywhere; make at least one part required")
            }
            Self::NormalisedAway(character) => write!(
                out,
                "it contains {character:?} (U+{:04X}), which text no longer has after normalisation; write its \
                 normal form (NFKC) or leave it out",
                u32::from(*character)
            ),
            Self::Unbounded(part) => write!(
                out,
                "`{part}` has no maximum length, which streams need; write a bound, for example `{{1,100}}` instead \
                 of `+`"
            ),
            Self::MatchTooLong(length) => write!(
                out,
                "a match may have {length} bytes, and streams allow {MAX_OUTPUT_MATCH}; lower its repetition counts"
            ),
        }
    }
}
