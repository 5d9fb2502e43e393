//! What was consumed and has no cost, because nobody said what it costs.

use std::collections::BTreeMap;

use domain::clock::Timestamp;

use super::{Conditions, Ledger, UsageFilter, conditions};
use crate::StoreError;
use crate::database::{Row, Value};

/// Calls of one model at one provider that consumed tokens and have no cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnpricedUsage {
    pub model: String,
    /// The provider's type.
    pub provider: String,
    /// The provider's instance.
    pub provider_name: String,
    pub requests: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub last_seen: Timestamp,
}

macro_rules! input {
    () => {
        "input + cache_read + cache_write_5m + cache_write_1h + audio_input"
    };
}
macro_rules! output {
    () => {
        "output + reasoning + audio_output"
    };
}

/// Sums in which nothing has a price: all of their tokens count.
const SUMS: &str = concat!(
    "SELECT model, provider, provider_name, CAST(SUM(unpriced) AS BIGINT), CAST(SUM(",
    input!(),
    ") AS BIGINT), CAST(SUM(",
    output!(),
    ") AS BIGINT), MAX(bucket) * 1000000 FROM rollups WHERE bucket >= $1 AND bucket < $2 AND unpriced > 0 AND priced = 0",
    conditions!(),
    " GROUP BY model, provider, provider_name"
);

/// The rows behind sums in which some calls have a price and some have none.
const ROWS: &str = concat!(
    "WITH mixed AS (SELECT bucket * 1000000 AS start, model AS m, provider AS p, provider_name AS n, user_path AS u, \
     auth_key_id AS a, tenant_id AS t, cache_type AS c FROM rollups \
     WHERE bucket >= $1 AND bucket < $2 AND unpriced > 0 AND priced > 0",
    conditions!(),
    ") SELECT model, provider, provider_name, COUNT(*), CAST(SUM(",
    input!(),
    ") AS BIGINT), CAST(SUM(",
    output!(),
    ") AS BIGINT), MAX(at) FROM mixed JOIN usage ON at >= start AND at < start + 900000000 AND model = m AND provider = p \
     AND provider_name = n AND user_path = u AND auth_key_id = a AND COALESCE(tenant_id, '') = t AND cache_type = c \
     WHERE input_cost IS NULL AND ",
    input!(),
    " + ",
    output!(),
    " > 0 GROUP BY model, provider, provider_name"
);

/// The newest such call of a quarter hour.
const NEWEST: &str = concat!(
    "SELECT MAX(at) FROM usage WHERE at >= $1 AND at < $2",
    conditions!(),
    " AND input_cost IS NULL AND provider = $10 AND provider_name = $11 AND ",
    input!(),
    " + ",
    output!(),
    " > 0"
);

const QUARTER_MICROS: i64 = 900_000_000;

impl Ledger {
    /// By tokens, most first. The filter's range is taken in whole quarter hours.
    pub async fn unpriced(&self, filter: &UsageFilter) -> Result<Vec<UnpricedUsage>, StoreError> {
        let conditions = Conditions::new(filter);
        let (from, until) = (filter.from.seconds(), filter.until.seconds());
        let values = conditions.values(from, until);
        let mut found: BTreeMap<(String, String, String), UnpricedUsage> = BTreeMap::new();
        for row in self.database.fetch(SUMS, &values).await? {
            let mut usage = read(&row)?;
            usage.last_seen = self.newest(filter, &usage).await?;
            add(&mut found, usage);
        }
        for row in self.database.fetch(ROWS, &values).await? {
            add(&mut found, read(&row)?);
        }
        let mut found: Vec<UnpricedUsage> = found.into_values().collect();
        found.sort_by_key(|usage| std::cmp::Reverse(usage.input_tokens + usage.output_tokens));
        Ok(found)
    }

    /// To the instant, as long as the row is there.
    async fn newest(&self, filter: &UsageFilter, usage: &UnpricedUsage) -> Result<Timestamp, StoreError> {
        let bucket = usage.last_seen.micros();
        let own = UsageFilter { model: Some(usage.model.clone()), ..filter.clone() };
        let conditions = Conditions::new(&own);
        let mut values = conditions.values(bucket, bucket.saturating_add(QUARTER_MICROS)).to_vec();
        values.extend([Value::from(&usage.provider), Value::from(&usage.provider_name)]);
        let rows = self.database.fetch(NEWEST, &values).await?;
        let newest: Option<i64> = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
        Ok(Timestamp(newest.unwrap_or(bucket)))
    }
}

fn add(found: &mut BTreeMap<(String, String, String), UnpricedUsage>, usage: UnpricedUsage) {
    let key = (usage.model.clone(), usage.provider.clone(), usage.provider_name.clone());
    match found.get_mut(&key) {
        None => drop(found.insert(key, usage)),
        Some(known) => {
            known.requests += usage.requests;
            known.input_tokens += usage.input_tokens;
            known.output_tokens += usage.output_tokens;
            known.last_seen = known.last_seen.max(usage.last_seen);
        }
    }
}

fn read(row: &Row) -> Result<UnpricedUsage, StoreError> {
    Ok(UnpricedUsage {
        model: row.get(0)?,
        provider: row.get(1)?,
        provider_name: row.get(2)?,
        requests: row.get(3)?,
        input_tokens: row.get(4)?,
        output_tokens: row.get(5)?,
        last_seen: Timestamp(row.get(6)?),
    })
}
