//! A group of patterns with shared automata.

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::pikevm;
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Anchored, HalfMatch, Input, MatchKind, PatternID, PatternSet};
use regex_syntax::hir::Hir;

use super::exact::ExactEngine;
use super::hir::{Approximation, compile, for_prefixes};
use super::prefix::{reverse_prefixes, transitions};
use super::searcher::NextCandidate;
use super::{Candidate, Pattern, SET_SIZE_LIMIT, TooComplex};

/// Bytes that the states of one lazy DFA may take in each cache.
const CACHE_CAPACITY: usize = 4 << 20;

/// Lazy DFAs for one group of patterns.
pub struct Group {
    /// Indexes of the patterns in the set, ascending.
    indexes: Vec<usize>,
    /// Finds the end of the leftmost-first match.
    forward: DFA,
    /// Finds the start of a match from its end.
    reverse: DFA,
    /// Finds all patterns that match at a position.
    overlapping: DFA,
    /// Finds the start of a possible match from the end of the text.
    prefixes: DFA,
    /// Engines for patterns that the DFAs search for in an approximate form.
    exact: Vec<Option<ExactEngine>>,
    /// The longest possible match in bytes, if there is one.
    longest: Option<usize>,
}

/// The mutable parts of a group's automata.
pub struct GroupCaches {
    pub next: NextCandidate,
    forward: Cache,
    reverse: Cache,
    overlapping: Option<Cache>,
    prefixes: Option<Cache>,
    exact: Vec<Option<pikevm::Cache>>,
}

impl Group {
    pub fn build(patterns: &[Pattern], indexes: Vec<usize>) -> Result<Self, Box<dyn std::error::Error>> {
        let members: Vec<&Pattern> = indexes.iter().map(|index| &patterns[*index]).collect();
        let searched: Vec<&Hir> = members.iter().map(|pattern| &pattern.searchable).collect();
        let limited = || thompson::Config::new().nfa_size_limit(Some(SET_SIZE_LIMIT));
        let forward = compile(&searched, limited())?;
        let prefilter =
            Prefilter::from_hirs_prefix(MatchKind::LeftmostFirst, &searched).filter(Prefilter::is_fast);
        let lengths = searched.iter().map(|pattern| pattern.properties().maximum_len());
        Ok(Self {
            forward: DFA::builder()
                .configure(
                    config(MatchKind::LeftmostFirst)
                        .starts_for_each_pattern(true)
                        .specialize_start_states(prefilter.is_some())
                        .prefilter(prefilter),
                )
                .build_from_nfa(forward.clone())?,
            reverse: DFA::builder()
                .configure(config(MatchKind::All).starts_for_each_pattern(true))
                .build_from_nfa(compile(&searched, limited().reverse(true))?)?,
            overlapping: DFA::builder().configure(config(MatchKind::All)).build_from_nfa(forward)?,
            prefixes: DFA::builder()
                .configure(config(MatchKind::All))
                .build_from_nfa(prefix_automaton(&members, limited())?)?,
            exact: members.iter().map(|pattern| ExactEngine::new(pattern)).collect(),
            longest: lengths.into_iter().try_fold(0, |longest, length| Some(longest.max(length?))),
            indexes,
        })
    }

    pub fn create_caches(&self) -> GroupCaches {
        GroupCaches {
            next: NextCandidate::Unknown,
            forward: self.forward.create_cache(),
            reverse: self.reverse.create_cache(),
            overlapping: None,
            prefixes: None,
            exact: self.exact.iter().map(|_| None).collect(),
        }
    }

    /// Marks the bytes that a match can start with.
    pub fn mark_first_bytes(&self, marks: &mut [bool; 256]) {
        let nfa = self.overlapping.get_nfa();
        let mut seen = vec![false; nfa.states().len()];
        let mut open = vec![nfa.start_anchored()];
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id.as_usize()], true) {
                continue;
            }
            let (steps, jumps) = transitions(nfa.state(id));
            steps
                .iter()
                .flat_map(|step| step.start..=step.end)
                .for_each(|byte| marks[usize::from(byte)] = true);
            open.extend(jumps);
        }
    }

    /// The leftmost candidate that starts at a position or after it. The work is subtracted from the budget.
    pub fn find(
        &self,
        caches: &mut GroupCaches,
        text: &str,
        from: usize,
        budget: &mut usize,
    ) -> Result<Option<Candidate>, TooComplex> {
        let input = Input::new(text).range(from..);
        let Some(end) = self.search_forward(&mut caches.forward, &input, budget)? else { return Ok(None) };
        let back = Input::new(text).range(from..end.offset()).anchored(Anchored::Pattern(end.pattern()));
        let start = self.reverse.try_search_rev(&mut caches.reverse, &back).map_err(|_| TooComplex)?;
        let Some(start) = start.map(|start| start.offset()) else { return Ok(None) };
        if self.longest.is_none() {
            *budget = budget.checked_sub(end.offset() - start).ok_or(TooComplex)?;
        }
        Ok(Some(Candidate { pattern: self.indexes[end.pattern().as_usize()], start, end: end.offset() }))
    }

    /// Whether a candidate for the pattern may be no match, so that `end_at` has to be asked.
    pub fn is_approximate(&self, pattern: usize, is_ascii: bool) -> bool {
        let engine = self.member(pattern).and_then(|member| self.exact[member].as_ref());
        engine.is_some_and(|engine| !is_ascii || engine.approximation == Approximation::Everywhere)
    }

    /// The patterns with a candidate at a position, in order of priority.
    pub fn patterns_at(
        &self,
        caches: &mut GroupCaches,
        text: &str,
        start: usize,
        budget: &mut usize,
    ) -> Result<Vec<usize>, TooComplex> {
        if let [single] = self.indexes[..] {
            return Ok(vec![single]);
        }
        if self.longest.is_none() {
            *budget = budget.checked_sub(text.len() - start).ok_or(TooComplex)?;
        }
        let cache = caches.overlapping.get_or_insert_with(|| self.overlapping.create_cache());
        let input = Input::new(text).range(start..).anchored(Anchored::Yes);
        let mut matched = PatternSet::new(self.indexes.len());
        self.overlapping
            .try_which_overlapping_matches(cache, &input, &mut matched)
            .map_err(|_| TooComplex)?;
        Ok(matched.iter().map(|pattern| self.indexes[pattern.as_usize()]).collect())
    }

    /// The end of the pattern's match at a position.
    pub fn end_at(
        &self,
        caches: &mut GroupCaches,
        text: &str,
        pattern: usize,
        start: usize,
        budget: &mut usize,
    ) -> Result<Option<usize>, TooComplex> {
        let Some(member) = self.member(pattern) else { return Ok(None) };
        let input = Input::new(text).range(start..);
        if let Some(engine) = &self.exact[member] {
            if self.longest.is_none() {
                *budget = budget.checked_sub(text.len() - start).ok_or(TooComplex)?;
            }
            return engine.end_at(&mut caches.exact[member], input);
        }
        let input = input.anchored(Anchored::Pattern(PatternID::new_unchecked(member)));
        Ok(self.search_forward(&mut caches.forward, &input, budget)?.map(|end| end.offset()))
    }

    /// The leftmost position, from the given one on, at which a match may start that needs more text.
    pub fn live_start(&self, caches: &mut GroupCaches, text: &str, from: usize) -> Result<usize, TooComplex> {
        // A whole match at the end of the text may depend on the next character.
        let reach = self.longest.unwrap_or(text.len());
        let from = from.max(text.len().saturating_sub(reach));
        let cache = caches.prefixes.get_or_insert_with(|| self.prefixes.create_cache());
        let input = Input::new(text).range(from..).anchored(Anchored::Yes);
        let start = self.prefixes.try_search_rev(cache, &input).map_err(|_| TooComplex)?;
        Ok(start.map_or(text.len(), |start| start.offset()))
    }

    fn member(&self, pattern: usize) -> Option<usize> {
        self.indexes.binary_search(&pattern).ok()
    }

    /// Searches of unbounded patterns are counted: each may read far beyond its match, so that many of them would take
    /// quadratic time.
    fn search_forward(
        &self,
        cache: &mut Cache,
        input: &Input<'_>,
        budget: &mut usize,
    ) -> Result<Option<HalfMatch>, TooComplex> {
        match self.longest {
            Some(_) => self.forward.try_search_fwd(cache, input).map_err(|_| TooComplex),
            None => search_counted(&self.forward, cache, input, budget),
        }
    }
}

fn config(kind: MatchKind) -> regex_automata::hybrid::dfa::Config {
    DFA::config().match_kind(kind).cache_capacity(CACHE_CAPACITY).skip_cache_capacity_check(true)
}

fn prefix_automaton(
    patterns: &[&Pattern],
    config: thompson::Config,
) -> Result<NFA, Box<dyn std::error::Error>> {
    let has_look = |pattern: usize| !patterns[pattern].exact.properties().look_set().is_empty();
    let prepared: Vec<Hir> = patterns.iter().map(|pattern| for_prefixes(&pattern.searchable)).collect();
    let prepared: Vec<&Hir> = prepared.iter().collect();
    Ok(reverse_prefixes(&compile(&prepared, config)?, SET_SIZE_LIMIT, has_look)?)
}

/// A forward search that reads at most as many bytes as the budget has.
fn search_counted(
    dfa: &DFA,
    cache: &mut Cache,
    input: &Input<'_>,
    budget: &mut usize,
) -> Result<Option<HalfMatch>, TooComplex> {
    let mut state = dfa.start_state_forward(cache, input).map_err(|_| TooComplex)?;
    let mut found = None;
    for (at, byte) in input.haystack()[..input.end()].iter().enumerate().skip(input.start()) {
        *budget = budget.checked_sub(1).ok_or(TooComplex)?;
        state = dfa.next_state(cache, state, *byte).map_err(|_| TooComplex)?;
        if state.is_match() {
            // A lazy DFA reports a match one byte late.
            found = Some(HalfMatch::new(dfa.match_pattern(cache, state, 0), at));
        } else if state.is_dead() {
            return Ok(found);
        } else if state.is_quit() {
            return Err(TooComplex);
        }
    }
    state = dfa.next_eoi_state(cache, state).map_err(|_| TooComplex)?;
    if state.is_match() {
        found = Some(HalfMatch::new(dfa.match_pattern(cache, state, 0), input.end()));
    }
    Ok(found)
}
