//! Automata over sets of patterns: candidates in leftmost order, and the part of a text that may still become a match.
//!
//! All searches run on lazy DFAs, so their time is linear in the text. Patterns are divided into groups with automata of
//! bounded size; a search merges the candidates of the groups.

mod exact;
mod group;
mod hir;
mod prefix;
mod searcher;

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use regex_automata::util::pool::Pool;
use regex_syntax::hir::Hir;

use group::{Group, GroupCaches};
use hir::Approximation;
pub use searcher::{Candidate, Searcher};

/// Bytes of compiled states that one pattern may have.
pub const PATTERN_SIZE_LIMIT: usize = 1 << 20;
/// Bytes of compiled states that all patterns of a set may have.
pub const SET_SIZE_LIMIT: usize = 64 << 20;
/// Bytes of compiled states in one group. Larger groups need fewer passes over a text, but have more DFA states.
const GROUP_SIZE: usize = 1 << 20;

/// A set of patterns in order of priority, compiled for searching.
pub struct Automata {
    groups: Arc<[Group]>,
    caches: CachePool,
    first_bytes: [bool; 256],
}

type CacheFactory = Box<dyn Fn() -> Caches + Send + Sync + UnwindSafe + RefUnwindSafe>;
type CachePool = Pool<Caches, CacheFactory>;

/// The mutable state of searches; one for each thread that searches at the same time.
pub struct Caches(Vec<GroupCaches>);

/// The reason why patterns cannot be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The pattern at this index is larger than `PATTERN_SIZE_LIMIT`.
    PatternTooLarge(usize),
    /// The patterns up to this index are larger than `SET_SIZE_LIMIT`.
    SetTooLarge(usize),
}

/// The search was ended because it would take more time than linear in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooComplex;

impl Error for TooComplex {}

impl Display for TooComplex {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("the search would take more time than linear in the text")
    }
}

/// A pattern and the form of it that DFAs search for.
struct Pattern {
    exact: Hir,
    searchable: Hir,
    approximation: Approximation,
}

impl Pattern {
    fn new(exact: &Hir) -> Self {
        let (searchable, approximation) = hir::searchable(exact);
        Self { exact: exact.clone(), searchable, approximation }
    }
}

impl Automata {
    pub fn build(patterns: &[Hir]) -> Result<Self, BuildError> {
        Self::build_in_groups(patterns, GROUP_SIZE)
    }

    fn build_in_groups(patterns: &[Hir], group_size: usize) -> Result<Self, BuildError> {
        let patterns: Vec<Pattern> = patterns.iter().map(Pattern::new).collect();
        let groups: Arc<[Group]> = group_patterns(&patterns, group_size)?
            .into_iter()
            .map(|indexes| {
                let last = indexes.last().copied().unwrap_or_default();
                Group::build(&patterns, indexes).map_err(|_| BuildError::SetTooLarge(last))
            })
            .collect::<Result<_, _>>()?;
        let mut first_bytes = [false; 256];
        groups.iter().for_each(|group| group.mark_first_bytes(&mut first_bytes));
        let factory = {
            let groups = Arc::clone(&groups);
            move || Caches(groups.iter().map(Group::create_caches).collect())
        };
        Ok(Self { groups, caches: Pool::new(Box::new(factory)), first_bytes })
    }

    /// Starts a search over a text.
    pub fn searcher<'s>(&'s self, text: &'s str) -> Searcher<'s> {
        Searcher::new(&self.groups, self.caches.get(), text)
    }

    /// Whether a match can start with this character, or with a character that it composes to with following marks.
    pub fn may_start_with(&self, character: char) -> bool {
        let mut bytes = [0; 4];
        let first = character.encode_utf8(&mut bytes).as_bytes().first().copied().unwrap_or_default();
        self.first_bytes[usize::from(first)] || self.first_bytes[0x80..].contains(&true)
    }
}

/// Divides patterns into groups: neighbours share a group up to its size; unbounded patterns are kept apart, because
/// their searches have to be counted.
fn group_patterns(patterns: &[Pattern], group_size: usize) -> Result<Vec<Vec<usize>>, BuildError> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // The open group of bounded and of unbounded patterns, with its size.
    let mut open: [Option<(usize, usize)>; 2] = [None, None];
    let mut total = 0;
    for (index, pattern) in patterns.iter().enumerate() {
        let size = hir::compiled_size(&pattern.searchable).ok_or(BuildError::PatternTooLarge(index))?;
        total += size;
        if total > SET_SIZE_LIMIT {
            return Err(BuildError::SetTooLarge(index));
        }
        let slot = &mut open[usize::from(pattern.searchable.properties().maximum_len().is_none())];
        match slot {
            Some((group, filled)) if *filled + size <= group_size => {
                *filled += size;
                groups[*group].push(index);
            }
            _ => {
                *slot = Some((groups.len(), size));
                groups.push(vec![index]);
            }
        }
    }
    Ok(groups)
}

#[cfg(test)]
pub(crate) mod tests;
