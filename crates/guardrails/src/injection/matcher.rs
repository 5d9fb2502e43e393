//! Matches all rules in one pass over a text.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::pool::Pool;
use regex_automata::{Input, MatchKind, PatternSet};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use super::rules::{ROTATED_WORDS, RULES};

/// The gap that `~` stands for.
const GAP: &str = "[ \t\r\n.,;:!?'\"*_()\\[\\]<>|/\\\\`#’‘“”…—-]{0,4}";
const CACHE_CAPACITY: usize = 8 << 20;

type CachePool = Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>>;

/// One DFA over all rules, and one over the words that show that a text is rotated.
pub struct RuleMatcher {
    rules: PatternMatcher,
    /// The rule of each pattern.
    indexes: Vec<usize>,
    rotated: PatternMatcher,
}

impl RuleMatcher {
    /// Compiles the rules, or returns nothing if one of them is not a pattern.
    pub fn new() -> Option<Self> {
        let with_pattern = || RULES.iter().enumerate().filter(|(_, rule)| !rule.pattern.is_empty());
        let patterns: Vec<&str> = with_pattern().map(|(_, rule)| rule.pattern).collect();
        Some(Self {
            rules: PatternMatcher::new(&patterns)?,
            indexes: with_pattern().map(|(index, _)| index).collect(),
            rotated: PatternMatcher::new(&[ROTATED_WORDS])?,
        })
    }

    /// Calls a function with each rule that matches in a text.
    pub fn for_each(&self, text: &str, mut visit: impl FnMut(usize)) {
        for pattern in self.rules.matching(text, false).iter() {
            visit(self.indexes[pattern.as_usize()]);
        }
    }

    /// Whether a text has words that ROT13 makes of those of injections.
    pub fn has_rotated_words(&self, text: &str) -> bool {
        !self.rotated.matching(text, true).is_empty()
    }
}

struct PatternMatcher {
    dfa: Arc<DFA>,
    caches: CachePool,
}

impl PatternMatcher {
    fn new(patterns: &[&str]) -> Option<Self> {
        let parsed: Vec<Hir> = patterns.iter().map(|pattern| parse(pattern)).collect::<Option<_>>()?;
        let config = thompson::Config::new().which_captures(thompson::WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(config).build_many_from_hir(&parsed).ok()?;
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .cache_capacity(CACHE_CAPACITY)
            .skip_cache_capacity_check(true);
        let dfa = Arc::new(DFA::builder().configure(config).build_from_nfa(nfa).ok()?);
        let factory = {
            let dfa = Arc::clone(&dfa);
            move || dfa.create_cache()
        };
        Some(Self { dfa, caches: Pool::new(Box::new(factory)) })
    }

    /// The patterns that match anywhere in a text; any one of them if the first is enough.
    fn matching(&self, text: &str, is_first_enough: bool) -> PatternSet {
        let mut matched = PatternSet::new(self.dfa.pattern_len());
        let input = Input::new(text).earliest(is_first_enough);
        // The DFA has no bytes to quit at and never gives up, so that it cannot fail.
        let _ = self.dfa.try_which_overlapping_matches(&mut self.caches.get(), &input, &mut matched);
        matched
    }
}

fn parse(pattern: &str) -> Option<Hir> {
    let pattern = pattern.replace('~', GAP).replace(r"\b", r"(?-u:\b)");
    ParserBuilder::new().build().parse(&pattern).ok()
}
