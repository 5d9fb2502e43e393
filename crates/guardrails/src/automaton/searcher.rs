//! A search over one text: merges the candidates of all groups in order of position and priority.

use regex_automata::util::pool::PoolGuard;

use super::group::Group;
use super::{CacheFactory, Caches, TooComplex};

/// Bytes that counted searches may read for each byte of the text.
const BUDGET_PER_BYTE: usize = 64;
const LEAST_BUDGET: usize = 64 << 10;

/// A place where a pattern may match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The index of the pattern in the set.
    pub pattern: usize,
    pub start: usize,
    pub end: usize,
}

/// A search over one text.
pub struct Searcher<'s> {
    groups: &'s [Group],
    caches: PoolGuard<'s, Caches, CacheFactory>,
    text: &'s str,
    is_ascii: bool,
    budget: usize,
}

/// The next candidate of a group in the text that is searched.
#[derive(Clone, Copy, Default)]
pub enum NextCandidate {
    #[default]
    Unknown,
    Found(Candidate),
    Exhausted,
}

impl<'s> Searcher<'s> {
    pub(super) fn new(
        groups: &'s [Group],
        mut caches: PoolGuard<'s, Caches, CacheFactory>,
        text: &'s str,
    ) -> Self {
        caches.0.iter_mut().for_each(|caches| caches.next = NextCandidate::Unknown);
        Self {
            groups,
            caches,
            text,
            is_ascii: text.is_ascii(),
            budget: text.len() * BUDGET_PER_BYTE + LEAST_BUDGET,
        }
    }

    /// The candidate with the leftmost start, from a position on; of several, the one of the highest priority.
    pub fn next_candidate(&mut self, from: usize) -> Result<Option<Candidate>, TooComplex> {
        let mut best: Option<Candidate> = None;
        for (group, caches) in self.groups.iter().zip(&mut self.caches.0) {
            let is_current = match caches.next {
                NextCandidate::Unknown => false,
                NextCandidate::Found(candidate) => candidate.start >= from,
                NextCandidate::Exhausted => true,
            };
            if !is_current {
                let found = group.find(caches, self.text, from, &mut self.budget)?;
                caches.next = found.map_or(NextCandidate::Exhausted, NextCandidate::Found);
            }
            if let NextCandidate::Found(candidate) = caches.next
                && best.is_none_or(|best| (candidate.start, candidate.pattern) < (best.start, best.pattern))
            {
                best = Some(candidate);
            }
        }
        Ok(best)
    }

    /// All matches that start where a candidate does, in order of priority, the candidate itself included.
    ///
    /// `accept` is called with each of them until it returns something.
    pub fn first_accepted<T>(
        &mut self,
        candidate: Candidate,
        mut accept: impl FnMut(Candidate) -> Option<T>,
    ) -> Result<Option<T>, TooComplex> {
        if let Some(exact) = self.exact(candidate)?
            && let Some(accepted) = accept(exact)
        {
            return Ok(Some(accepted));
        }
        for pattern in self.others_at(candidate)? {
            let other = Candidate { pattern, ..candidate };
            if let Some(end) = self.end_at(other)?
                && let Some(accepted) = accept(Candidate { end, ..other })
            {
                return Ok(Some(accepted));
            }
        }
        Ok(None)
    }

    /// The leftmost position, from the given one on, at which a match may start that needs more text.
    pub fn live_start(&mut self, from: usize) -> Result<usize, TooComplex> {
        let mut live = self.text.len();
        for (group, caches) in self.groups.iter().zip(&mut self.caches.0) {
            live = live.min(group.live_start(caches, self.text, from)?);
        }
        Ok(live)
    }

    fn exact(&mut self, candidate: Candidate) -> Result<Option<Candidate>, TooComplex> {
        if self.groups.iter().any(|group| group.is_approximate(candidate.pattern, self.is_ascii)) {
            return Ok(self.end_at(candidate)?.map(|end| Candidate { end, ..candidate }));
        }
        Ok(Some(candidate))
    }

    fn others_at(&mut self, candidate: Candidate) -> Result<Vec<usize>, TooComplex> {
        let mut patterns = Vec::new();
        for (group, caches) in self.groups.iter().zip(&mut self.caches.0) {
            if matches!(caches.next, NextCandidate::Found(next) if next.start == candidate.start) {
                patterns.extend(group.patterns_at(caches, self.text, candidate.start, &mut self.budget)?);
            }
        }
        patterns.retain(|pattern| *pattern != candidate.pattern);
        patterns.sort_unstable();
        Ok(patterns)
    }

    fn end_at(&mut self, candidate: Candidate) -> Result<Option<usize>, TooComplex> {
        for (group, caches) in self.groups.iter().zip(&mut self.caches.0) {
            let end =
                group.end_at(caches, self.text, candidate.pattern, candidate.start, &mut self.budget)?;
            if end.is_some() {
                return Ok(end);
            }
        }
        Ok(None)
    }
}
