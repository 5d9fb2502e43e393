//! Hits and misses of the response cache over a time range.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use domain::money::Nanos;

use super::reports::{Figures, Report, Step};
use super::rollup::Axis;
use super::{CacheMode, Ledger, UsageFilter};
use crate::StoreError;

/// Figures of the response cache. The tokens are those of its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsage {
    pub exact_hits: i64,
    pub semantic_hits: i64,
    /// Calls for which the cache was searched and had no answer.
    pub misses: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// `None` when the hits saved no cost, or it is not known.
    pub saved_cost: Option<Nanos>,
}

impl CacheUsage {
    pub fn hits(&self) -> i64 {
        self.exact_hits + self.semantic_hits
    }

    pub fn total_tokens(&self) -> i64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The share of hits in the searches; 0 without searches.
    pub fn hit_rate(&self) -> f64 {
        let searches = self.hits() + self.misses;
        if searches == 0 { 0.0 } else { self.hits() as f64 / searches as f64 }
    }

    pub fn add(&mut self, more: &Self) {
        self.exact_hits += more.exact_hits;
        self.semantic_hits += more.semantic_hits;
        self.misses += more.misses;
        self.add_answers(more.input_tokens, more.output_tokens, more.saved_cost);
    }

    /// Adds the calls with one cache type; it is empty for answers of providers.
    fn count(&mut self, cache_type: &str, figures: &Figures) {
        self.misses += figures.cache_misses();
        match cache_type {
            "exact" => self.exact_hits += figures.requests(),
            "semantic" => self.semantic_hits += figures.requests(),
            _ => return,
        }
        self.add_answers(figures.input_tokens(), figures.output_tokens(), figures.saved_cost());
    }

    fn add_answers(&mut self, input_tokens: i64, output_tokens: i64, saved_cost: Option<Nanos>) {
        self.input_tokens = self.input_tokens.saturating_add(input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(output_tokens);
        if let Some(saved_cost) = saved_cost {
            *self.saved_cost.get_or_insert_default() += saved_cost;
        }
    }
}

impl Ledger {
    /// Figures of the response cache by number of the interval, which is 0 without `step`. Intervals without hits and
    /// misses are left out. The cache mode of the filter has no effect.
    pub async fn cache_usage(
        &self,
        filter: &UsageFilter,
        step: Option<Step>,
    ) -> Result<BTreeMap<i64, CacheUsage>, StoreError> {
        let filter = UsageFilter { cache: CacheMode::All, ..filter.clone() };
        let report = Report { step, ..Report::of(filter).by(&[Axis::CacheType]) };
        let mut intervals: BTreeMap<i64, CacheUsage> = BTreeMap::new();
        for line in self.report(&report).await? {
            let cache_type = line.names.first().map_or("", String::as_str);
            intervals.entry(line.step).or_default().count(cache_type, &line.figures);
        }
        intervals.retain(|_, usage| usage.hits() + usage.misses > 0);
        Ok(intervals)
    }
}
