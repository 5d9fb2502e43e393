//! Totals over a range of time: sums where whole quarter hours are covered, rows at the edges.

use domain::clock::Timestamp;
use domain::money::Nanos;

use super::rollup::QUARTER_HOUR;
use super::{Conditions, Ledger, UsageFilter, conditions, search};
use crate::StoreError;
use crate::database::Row;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageSummary {
    pub total_requests: i64,
    pub total_input_tokens: i64,
    pub total_output_tokens: i64,
    pub total_tokens: i64,
    pub total_cached_input_tokens: i64,
    pub total_cache_write_input_tokens: i64,
    pub total_reasoning_tokens: i64,
    /// None when nothing in the range had a price.
    pub total_input_cost: Option<Nanos>,
    pub total_output_cost: Option<Nanos>,
    pub total_cost: Option<Nanos>,
}

macro_rules! sums {
    ($requests:literal, $priced:literal) => {
        concat!(
            "SELECT ",
            $requests,
            ", CAST(COALESCE(SUM(input + cache_read + cache_write_5m + cache_write_1h + audio_input), 0) AS BIGINT), \
             CAST(COALESCE(SUM(output + reasoning + audio_output), 0) AS BIGINT), \
             CAST(COALESCE(SUM(cache_read), 0) AS BIGINT), \
             CAST(COALESCE(SUM(cache_write_5m + cache_write_1h), 0) AS BIGINT), \
             CAST(COALESCE(SUM(reasoning), 0) AS BIGINT), CAST(COALESCE(SUM(input_cost), 0) AS BIGINT), \
             CAST(COALESCE(SUM(output_cost), 0) AS BIGINT), ",
            $priced
        )
    };
}

const FROM_ROLLUPS: &str = concat!(
    sums!("CAST(COALESCE(SUM(requests), 0) AS BIGINT)", "CAST(COALESCE(SUM(priced), 0) AS BIGINT)"),
    " FROM rollups WHERE bucket >= $1 AND bucket < $2",
    conditions!()
);
const FROM_ROWS: &str = concat!(
    sums!("COUNT(*)", "COUNT(input_cost)"),
    " FROM usage WHERE at >= $1 AND at < $2",
    conditions!(),
    search!()
);

/// One range of time, cut where quarter hours begin.
#[derive(Debug, PartialEq)]
pub(crate) enum Part {
    Rows(i64, i64),
    Rollups(i64, i64),
}

impl Ledger {
    pub async fn summary(&self, filter: &UsageFilter) -> Result<UsageSummary, StoreError> {
        let conditions = Conditions::new(filter);
        let parts = if conditions.search.is_empty() {
            cut(filter.from, filter.until)
        } else {
            vec![Part::Rows(filter.from.micros(), filter.until.micros())]
        };
        let mut totals = [0i64; 9];
        for part in parts {
            let rows = match part {
                Part::Rows(from, until) => {
                    self.database.fetch(FROM_ROWS, &conditions.values_with_search(from, until)).await?
                }
                Part::Rollups(from, until) => {
                    self.database.fetch(FROM_ROLLUPS, &conditions.values(from, until)).await?
                }
            };
            add(&mut totals, rows.first())?;
        }
        Ok(summarise(totals))
    }
}

pub(crate) fn cut(from: Timestamp, until: Timestamp) -> Vec<Part> {
    const MICROS: i64 = QUARTER_HOUR * 1_000_000;
    let (from, until) = (from.micros(), until.micros());
    if until <= from {
        return Vec::new();
    }
    let first = from.div_euclid(MICROS) + i64::from(from.rem_euclid(MICROS) != 0);
    let last = until.div_euclid(MICROS);
    if first >= last {
        return vec![Part::Rows(from, until)];
    }
    let mut parts = vec![Part::Rollups(first * QUARTER_HOUR, last * QUARTER_HOUR)];
    let (start, end) = (first.saturating_mul(MICROS), last.saturating_mul(MICROS));
    if from < start {
        parts.push(Part::Rows(from, start));
    }
    if end < until {
        parts.push(Part::Rows(end, until));
    }
    parts
}

fn add(totals: &mut [i64; 9], row: Option<&Row>) -> Result<(), StoreError> {
    let row = row.ok_or(StoreError::NotFound)?;
    for (index, total) in totals.iter_mut().enumerate() {
        *total = total.saturating_add(row.get(index)?);
    }
    Ok(())
}

fn summarise(totals: [i64; 9]) -> UsageSummary {
    let [requests, input, output, cached, cache_write, reasoning, input_cost, output_cost, priced] = totals;
    let cost = |nanos: i64| (priced > 0).then_some(Nanos(nanos));
    UsageSummary {
        total_requests: requests,
        total_input_tokens: input,
        total_output_tokens: output,
        total_tokens: input.saturating_add(output),
        total_cached_input_tokens: cached,
        total_cache_write_input_tokens: cache_write,
        total_reasoning_tokens: reasoning,
        total_input_cost: cost(input_cost),
        total_output_cost: cost(output_cost),
        total_cost: cost(input_cost.saturating_add(output_cost)),
    }
}
