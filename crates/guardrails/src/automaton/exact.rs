//! The exact engine of a pattern that DFAs search for in an approximate form.

use std::sync::OnceLock;

use regex_automata::nfa::thompson::pikevm::{Cache, PikeVM};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_automata::{Anchored, Input};
use regex_syntax::hir::Hir;

use super::hir::Approximation;
use super::{Pattern, SET_SIZE_LIMIT, TooComplex};

/// Confirms candidates of one pattern. It is compiled when the first candidate is found, because most never have one.
pub struct ExactEngine {
    pub approximation: Approximation,
    pattern: Hir,
    engine: OnceLock<Option<PikeVM>>,
}

impl ExactEngine {
    /// An engine, or nothing if the searchable form of the pattern is exact.
    pub fn new(pattern: &Pattern) -> Option<Self> {
        let approximation = pattern.approximation;
        (approximation != Approximation::Exact).then(|| Self {
            approximation,
            pattern: pattern.exact.clone(),
            engine: OnceLock::new(),
        })
    }

    /// The end of the match at the start of the input.
    pub fn end_at(&self, cache: &mut Option<Cache>, input: Input<'_>) -> Result<Option<usize>, TooComplex> {
        let engine = self.engine.get_or_init(|| compile(&self.pattern)).as_ref().ok_or(TooComplex)?;
        let cache = cache.get_or_insert_with(|| engine.create_cache());
        let mut slots = [None; 2];
        let found = engine.search_slots(cache, &input.anchored(Anchored::Yes), &mut slots);
        Ok(found.and(slots[1]).map(|end| end.get()))
    }
}

fn compile(pattern: &Hir) -> Option<PikeVM> {
    let config = Config::new().nfa_size_limit(Some(SET_SIZE_LIMIT)).which_captures(WhichCaptures::Implicit);
    PikeVM::new_from_nfa(Compiler::new().configure(config).build_from_hir(pattern).ok()?).ok()
}
