//! Usage without a cost because its model has no price.

use std::collections::BTreeMap;

use domain::clock::Timestamp;
use sqlx::SqlStr;

use super::reports::{INPUT, OUTPUT};
use super::rollup::QUARTER_HOUR;
use super::{Conditions, Ledger, UsageFilter};
use crate::StoreError;
use crate::database::{Row, Value, sql};

/// Calls of one model at one provider that consumed tokens and have no cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnpricedUsage {
    pub model: String,
    /// The provider type.
    pub provider: String,
    /// The provider instance.
    pub provider_name: String,
    pub requests: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub last_seen: Timestamp,
}

const GROUPED: &str = "GROUP BY model, provider, provider_name";
const QUARTER_MICROS: i64 = QUARTER_HOUR * 1_000_000;

impl Ledger {
    /// Unpriced usage by number of tokens, highest first. The range of the filter is rounded to whole quarter hours.
    pub async fn unpriced(&self, filter: &UsageFilter) -> Result<Vec<UnpricedUsage>, StoreError> {
        let conditions = Conditions::new(filter);
        let range = [filter.from.seconds(), filter.until.seconds()].map(Value::from);
        let mut found: BTreeMap<(String, String, String), UnpricedUsage> = BTreeMap::new();
        let (text, values) = sums(&conditions, range);
        for row in self.database.fetch(text, &values).await? {
            let mut usage = read(&row)?;
            usage.last_seen = self.newest(filter, &usage).await?;
            add(&mut found, usage);
        }
        let (text, values) = mixed(&conditions, range);
        for row in self.database.fetch(text, &values).await? {
            add(&mut found, read(&row)?);
        }
        let mut found: Vec<UnpricedUsage> = found.into_values().collect();
        found.sort_by_key(|usage| std::cmp::Reverse(usage.input_tokens + usage.output_tokens));
        Ok(found)
    }

    /// The exact time of the latest call while its row exists, otherwise the start of its quarter hour.
    async fn newest(&self, filter: &UsageFilter, usage: &UnpricedUsage) -> Result<Timestamp, StoreError> {
        let bucket = usage.last_seen.micros();
        let own = UsageFilter { model: Some(usage.model.clone()), ..filter.clone() };
        let conditions = Conditions::new(&own);
        let (input, output) = (INPUT.as_str(), OUTPUT.as_str());
        let mut text = format!(
            "SELECT MAX(at) FROM usage WHERE at >= $1 AND at < $2 AND provider = $3 AND provider_name = $4 \
             AND input_cost IS NULL AND {input} + {output} > 0"
        );
        let mut values = vec![Value::from(bucket), bucket.saturating_add(QUARTER_MICROS).into()];
        values.extend([Value::from(&usage.provider), Value::from(&usage.provider_name)]);
        conditions.append(&mut text, &mut values);
        let rows = self.database.fetch(sql(text), &values).await?;
        let newest: Option<i64> = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
        Ok(Timestamp(newest.unwrap_or(bucket)))
    }
}

/// Sums in which no call has a price: all of their tokens count.
fn sums<'a>(conditions: &'a Conditions, range: [Value<'a>; 2]) -> (SqlStr, Vec<Value<'a>>) {
    let (input, output) = (INPUT.as_str(), OUTPUT.as_str());
    let mut text = format!(
        "SELECT model, provider, provider_name, CAST(SUM(unpriced) AS BIGINT), CAST(SUM({input}) AS BIGINT), \
         CAST(SUM({output}) AS BIGINT), MAX(bucket) * 1000000 FROM rollups \
         WHERE bucket >= $1 AND bucket < $2 AND unpriced > 0 AND priced = 0"
    );
    let mut values = range.to_vec();
    conditions.append(&mut text, &mut values);
    (sql(format!("{text} {GROUPED}")), values)
}

/// The rows of sums in which some calls have a price and some do not.
fn mixed<'a>(conditions: &'a Conditions, range: [Value<'a>; 2]) -> (SqlStr, Vec<Value<'a>>) {
    let mut text =
        "WITH mixed AS (SELECT bucket * 1000000 AS start, model AS m, provider AS p, provider_name AS n, \
         user_path AS u, auth_key_id AS a, tenant_id AS t, cache_type AS c FROM rollups \
         WHERE bucket >= $1 AND bucket < $2 AND unpriced > 0 AND priced > 0"
            .to_owned();
    let mut values = range.to_vec();
    conditions.append(&mut text, &mut values);
    let (input, output) = (INPUT.as_str(), OUTPUT.as_str());
    text.push_str(&format!(
        ") SELECT model, provider, provider_name, COUNT(*), CAST(SUM({input}) AS BIGINT), \
         CAST(SUM({output}) AS BIGINT), MAX(at) FROM mixed JOIN usage ON at >= start AND at < start + {QUARTER_MICROS} \
         AND model = m AND provider = p AND provider_name = n AND user_path = u AND auth_key_id = a \
         AND COALESCE(tenant_id, '') = t AND cache_type = c \
         WHERE input_cost IS NULL AND {input} + {output} > 0 {GROUPED}"
    ));
    (sql(text), values)
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
