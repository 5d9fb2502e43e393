//! What one key consumed: by model and by the quarter hour, from the sums.

use domain::clock::Timestamp;
use domain::money::Nanos;

use super::rollup::QUARTER_HOUR;
use super::{Conditions, Ledger, UsageFilter, conditions};
use crate::StoreError;
use crate::database::Row;

/// Figures that can be added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyFigures {
    pub requests: i64,
    pub errors: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    input_cost: i64,
    output_cost: i64,
    priced: i64,
}

impl KeyFigures {
    pub fn add(&mut self, more: &Self) {
        self.requests += more.requests;
        self.errors += more.errors;
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.input_cost = self.input_cost.saturating_add(more.input_cost);
        self.output_cost = self.output_cost.saturating_add(more.output_cost);
        self.priced += more.priced;
    }

    /// Input and output; none when nothing had a price.
    pub fn cost(&self) -> Option<[Nanos; 2]> {
        (self.priced > 0).then_some([Nanos(self.input_cost), Nanos(self.output_cost)])
    }
}

/// The figures of one model at one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyModel {
    pub model: String,
    /// The provider's type.
    pub provider: String,
    /// The provider's instance.
    pub provider_name: String,
    pub figures: KeyFigures,
}

macro_rules! figures {
    () => {
        "CAST(SUM(requests) AS BIGINT), CAST(SUM(errors) AS BIGINT), \
         CAST(SUM(input + cache_read + cache_write_5m + cache_write_1h + audio_input) AS BIGINT), \
         CAST(SUM(output + reasoning + audio_output) AS BIGINT), CAST(SUM(input_cost) AS BIGINT), \
         CAST(SUM(output_cost) AS BIGINT), CAST(SUM(priced) AS BIGINT)"
    };
}

impl Ledger {
    /// The most called first. Whole quarter hours are counted: no day begins within one.
    pub async fn models_of_key(&self, filter: &UsageFilter) -> Result<Vec<KeyModel>, StoreError> {
        const BY_MODEL: &str = concat!(
            "SELECT model, provider, provider_name, ",
            figures!(),
            " FROM rollups WHERE bucket >= $1 AND bucket < $2",
            conditions!(),
            " GROUP BY model, provider, provider_name ORDER BY SUM(requests) DESC, model, provider_name"
        );
        let conditions = Conditions::new(filter);
        let [from, until] = buckets(filter);
        let rows = self.database.fetch(BY_MODEL, &conditions.values(from, until)).await?;
        let read = |row: &Row| {
            Ok(KeyModel {
                model: row.get(0)?,
                provider: row.get(1)?,
                provider_name: row.get(2)?,
                figures: read_figures(row, 3)?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// The quarter hours in which something was called, by the time they begin at.
    pub async fn quarters_of_key(
        &self,
        filter: &UsageFilter,
    ) -> Result<Vec<(Timestamp, KeyFigures)>, StoreError> {
        const BY_QUARTER: &str = concat!(
            "SELECT bucket, ",
            figures!(),
            " FROM rollups WHERE bucket >= $1 AND bucket < $2",
            conditions!(),
            " GROUP BY bucket ORDER BY bucket"
        );
        let conditions = Conditions::new(filter);
        let [from, until] = buckets(filter);
        let rows = self.database.fetch(BY_QUARTER, &conditions.values(from, until)).await?;
        let read = |row: &Row| Ok((Timestamp::from_seconds(row.get(0)?), read_figures(row, 1)?));
        rows.iter().map(read).collect()
    }
}

/// The quarter hours that begin within the filter's range.
fn buckets(filter: &UsageFilter) -> [i64; 2] {
    const MICROS: i64 = QUARTER_HOUR * 1_000_000;
    [filter.from, filter.until].map(|at| {
        let whole = at.micros().div_euclid(MICROS) + i64::from(at.micros().rem_euclid(MICROS) != 0);
        whole * QUARTER_HOUR
    })
}

fn read_figures(row: &Row, first: usize) -> Result<KeyFigures, StoreError> {
    Ok(KeyFigures {
        requests: row.get(first)?,
        errors: row.get(first + 1)?,
        input_tokens: row.get(first + 2)?,
        output_tokens: row.get(first + 3)?,
        input_cost: row.get(first + 4)?,
        output_cost: row.get(first + 5)?,
        priced: row.get(first + 6)?,
    })
}
