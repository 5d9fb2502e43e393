//! Totals over a time range.

use domain::money::Nanos;

use super::reports::{Figures, Report};
use super::{Ledger, UsageFilter};
use crate::StoreError;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageSummary {
    pub total_requests: i64,
    pub total_input_tokens: i64,
    pub total_output_tokens: i64,
    pub total_tokens: i64,
    pub total_cached_input_tokens: i64,
    pub total_cache_write_input_tokens: i64,
    pub total_reasoning_tokens: i64,
    /// `None` when nothing in the range had a price.
    pub total_input_cost: Option<Nanos>,
    pub total_output_cost: Option<Nanos>,
    pub total_cost: Option<Nanos>,
    /// The cost that prompt caches of providers saved.
    pub total_prompt_cache_savings: Option<Nanos>,
}

impl Ledger {
    pub async fn summary(&self, filter: &UsageFilter) -> Result<UsageSummary, StoreError> {
        let lines = self.report(&Report::of(filter.clone())).await?;
        let figures = lines.into_iter().next().map_or_else(Figures::default, |line| line.figures);
        Ok(UsageSummary {
            total_requests: figures.requests(),
            total_input_tokens: figures.input_tokens(),
            total_output_tokens: figures.output_tokens(),
            total_tokens: figures.total_tokens(),
            total_cached_input_tokens: figures.cached_input_tokens(),
            total_cache_write_input_tokens: figures.cache_write_input_tokens(),
            total_reasoning_tokens: figures.reasoning_tokens(),
            total_input_cost: figures.input_cost(),
            total_output_cost: figures.output_cost(),
            total_cost: figures.total_cost(),
            total_prompt_cache_savings: figures.prompt_cache_savings(),
        })
    }
}
