//! Questions about the syntax of a pattern.

use regex_syntax::ast::{self, Ast, RepetitionKind, RepetitionRange};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::normalise::is_preserved;

/// Larger classes are not searched for characters that normalisation preserves.
const LARGEST_CHECKED_CLASS: u32 = 64;

/// The parser's message without the drawing of the pattern.
pub fn describe(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => {
            format!("{} at position {}", error.kind(), error.span().start.offset)
        }
        regex_syntax::Error::Translate(error) => {
            format!("{} at position {}", error.kind(), error.span().start.offset)
        }
        other => other.to_string(),
    }
}

/// The first repetition without a maximum, as it is written.
pub fn unbounded_part(pattern: &str) -> String {
    let parsed = ast::parse::Parser::new().parse(pattern);
    let found = parsed.ok().and_then(|parsed| ast::visit(&parsed, UnboundedRepetition(None)).ok().flatten());
    found.and_then(|span| pattern.get(span.start.offset..span.end.offset)).unwrap_or(pattern).to_owned()
}

struct UnboundedRepetition(Option<ast::Span>);

impl ast::Visitor for UnboundedRepetition {
    type Output = Option<ast::Span>;
    type Err = ();

    fn finish(self) -> Result<Self::Output, ()> {
        Ok(self.0)
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), ()> {
        if let Ast::Repetition(repetition) = part {
            let is_unbounded = matches!(
                repetition.op.kind,
                RepetitionKind::ZeroOrMore
                    | RepetitionKind::OneOrMore
                    | RepetitionKind::Range(RepetitionRange::AtLeast(_))
            );
            if is_unbounded && self.0.is_none() {
                self.0 = Some(repetition.span);
            }
        }
        Ok(())
    }
}

/// A character that the pattern requires and that normalisation replaces or removes.
pub fn unmatchable_character(pattern: &Hir) -> Option<char> {
    match pattern.kind() {
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            text.chars().find(|character| !is_preserved(*character))
        }
        HirKind::Class(Class::Unicode(class)) => {
            let size = class.iter().fold(0, |size: u32, range| size.saturating_add(range.len() as u32));
            let mut members = class.iter().flat_map(|range| range.start()..=range.end());
            let first = class.iter().next().map(|range| range.start());
            first.filter(|_| size <= LARGEST_CHECKED_CLASS && !members.any(is_preserved))
        }
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => None,
        HirKind::Repetition(repetition) => {
            (repetition.min > 0).then(|| unmatchable_character(&repetition.sub)).flatten()
        }
        HirKind::Capture(capture) => unmatchable_character(&capture.sub),
        HirKind::Concat(parts) => parts.iter().find_map(unmatchable_character),
        // One branch that can match is enough.
        HirKind::Alternation(parts) => {
            let mut characters = parts.iter().map(unmatchable_character);
            let first = characters.next().flatten()?;
            characters.all(|character| character.is_some()).then_some(first)
        }
    }
}
