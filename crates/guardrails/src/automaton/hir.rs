//! Transformations of the syntax tree of patterns before they are compiled.

use regex_automata::nfa::thompson::{Compiler, Config, NFA, WhichCaptures};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

use super::PATTERN_SIZE_LIMIT;

/// Longer repetitions are unbounded in the automaton of prefixes, where each count would be a state of its own.
const LONGEST_COUNTED_REPETITION: u32 = 64;
/// Classes with more ranges are made coarser.
const MOST_RANGES: usize = 8;

/// The size of a compiled pattern in bytes, or nothing if it exceeds `PATTERN_SIZE_LIMIT`.
pub fn compiled_size(pattern: &Hir) -> Option<usize> {
    compile(&[pattern], Config::new().nfa_size_limit(Some(PATTERN_SIZE_LIMIT)))
        .ok()
        .map(|nfa| nfa.memory_usage())
}

pub fn compile(
    patterns: &[&Hir],
    config: Config,
) -> Result<NFA, Box<regex_automata::nfa::thompson::BuildError>> {
    let config = config.which_captures(WhichCaptures::None);
    Compiler::new().configure(config).build_many_from_hir(patterns).map_err(Box::new)
}

/// The pattern in a form that DFAs can search for, and whether that form matches in more places than the pattern.
///
/// A DFA cannot decide Unicode word boundaries on text that is not ASCII, and large Unicode classes such as `\w` make
/// large automata. The former are left out and the latter made coarser outside ASCII.
pub fn searchable(pattern: &Hir) -> (Hir, Approximation) {
    let mut approximation = Approximation::Exact;
    let searchable = rebuild(pattern, &mut |part| match part.kind() {
        HirKind::Look(look) if is_unicode(*look) => {
            approximation = Approximation::Everywhere;
            Some(Hir::empty())
        }
        HirKind::Class(Class::Unicode(class)) if class.ranges().len() > MOST_RANGES => {
            approximation = approximation.max(Approximation::OutsideAscii);
            Some(Hir::class(Class::Unicode(coarser(class))))
        }
        _ => None,
    });
    (searchable, approximation)
}

/// The places where the searchable form of a pattern may match although the pattern does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approximation {
    Exact,
    OutsideAscii,
    Everywhere,
}

/// A searchable pattern without look-around and with long repetitions unbounded, for the automaton of its prefixes.
pub fn for_prefixes(pattern: &Hir) -> Hir {
    rebuild(pattern, &mut |part| match part.kind() {
        HirKind::Look(_) => Some(Hir::empty()),
        HirKind::Repetition(repetition)
            if repetition.max.is_none_or(|max| max > LONGEST_COUNTED_REPETITION) =>
        {
            let sub = Box::new(for_prefixes(&repetition.sub));
            Some(Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub }))
        }
        _ => None,
    })
}

/// The class with the smallest gaps outside ASCII closed, until few ranges are left.
fn coarser(class: &ClassUnicode) -> ClassUnicode {
    let mut ranges: Vec<ClassUnicodeRange> = class.ranges().to_vec();
    let gap = |pair: &[ClassUnicodeRange]| match pair {
        [first, second] if !first.end().is_ascii() => u32::from(second.start()) - u32::from(first.end()),
        _ => u32::MAX,
    };
    let mut gaps: Vec<u32> = ranges.windows(2).map(gap).collect();
    gaps.sort_unstable();
    let closed = gaps.get(ranges.len().saturating_sub(MOST_RANGES)).copied().unwrap_or(u32::MAX);
    ranges.dedup_by(|second, first| {
        let is_closed = gap(&[*first, *second]) < closed;
        if is_closed {
            *first = ClassUnicodeRange::new(first.start(), second.end());
        }
        is_closed
    });
    ClassUnicode::new(ranges)
}

fn is_unicode(look: Look) -> bool {
    matches!(
        look,
        Look::WordUnicode
            | Look::WordUnicodeNegate
            | Look::WordStartUnicode
            | Look::WordEndUnicode
            | Look::WordStartHalfUnicode
            | Look::WordEndHalfUnicode
    )
}

/// Rebuilds a pattern without captures. Recursion is bounded by the nesting limit of the parser.
fn rebuild(pattern: &Hir, replace: &mut dyn FnMut(&Hir) -> Option<Hir>) -> Hir {
    if let Some(replacement) = replace(pattern) {
        return replacement;
    }
    match pattern.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => pattern.clone(),
        HirKind::Capture(capture) => rebuild(&capture.sub, replace),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(|part| rebuild(part, replace)).collect()),
        HirKind::Alternation(parts) => {
            Hir::alternation(parts.iter().map(|part| rebuild(part, replace)).collect())
        }
        HirKind::Repetition(repetition) => {
            let sub = Box::new(rebuild(&repetition.sub, replace));
            Hir::repetition(Repetition { sub, ..repetition.clone() })
        }
    }
}
