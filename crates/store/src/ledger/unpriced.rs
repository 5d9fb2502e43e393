//! Usage without a cost because its model has no price.

use std::collections::{BTreeMap, BTreeSet};

use domain::clock::Timestamp;
use sqlx::SqlStr;

use super::delta::{self, Decoder};
use super::reports::{INPUT, OUTPUT, UNPRICED_ROW};
use super::rollup::{self, QUARTER_HOUR};
use super::{Conditions, Ledger, UsageFilter};
use crate::StoreError;
use crate::database::{Row, Snapshot, Value, sql};

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
        let range = [filter.from.seconds(), filter.until.seconds()];
        let mut found: BTreeMap<(String, String, String), UnpricedUsage> = BTreeMap::new();
        let mut snapshot = self.database.snapshot().await?;
        // Sums are split between the tables and the deltas in these buckets, so that neither shows which calls have no
        // price: their rows do.
        let split = split_buckets(&mut snapshot, &conditions, range).await?;
        let (text, values) = sums(&conditions, range, &split);
        for row in snapshot.fetch(text, &values).await? {
            let mut usage = read(&row)?;
            usage.last_seen = newest(&mut snapshot, filter, &usage).await?;
            add(&mut found, usage);
        }
        let (text, values) = mixed(&conditions, range, &split);
        for row in snapshot.fetch(text, &values).await? {
            add(&mut found, read(&row)?);
        }
        for bucket in split {
            let (text, values) = rows(&conditions, bucket);
            for row in snapshot.fetch(text, &values).await? {
                add(&mut found, read(&row)?);
            }
        }
        snapshot.end().await?;
        let mut found: Vec<UnpricedUsage> = found.into_values().collect();
        found.sort_by_key(|usage| std::cmp::Reverse(usage.input_tokens + usage.output_tokens));
        Ok(found)
    }
}

/// The exact time of the latest call while its row exists, otherwise the start of its quarter hour.
async fn newest(
    snapshot: &mut Snapshot,
    filter: &UsageFilter,
    usage: &UnpricedUsage,
) -> Result<Timestamp, StoreError> {
    let bucket = usage.last_seen.micros();
    let own = UsageFilter { model: Some(usage.model.clone()), ..filter.clone() };
    let conditions = Conditions::new(&own);
    let mut text = format!(
        "SELECT MAX(at) FROM usage WHERE at >= $1 AND at < $2 AND provider = $3 AND provider_name = $4 \
         AND {}",
        *UNPRICED_ROW
    );
    let mut values = vec![Value::from(bucket), bucket.saturating_add(QUARTER_MICROS).into()];
    values.extend([Value::from(&usage.provider), Value::from(&usage.provider_name)]);
    conditions.append(&mut text, &mut values);
    let rows = snapshot.fetch(sql(text), &values).await?;
    let newest: Option<i64> = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
    Ok(Timestamp(newest.unwrap_or(bucket)))
}

/// The buckets in a range, in seconds, that have sums in waiting deltas and calls without a price.
async fn split_buckets(
    snapshot: &mut Snapshot,
    conditions: &Conditions,
    [from, until]: [i64; 2],
) -> Result<Vec<i64>, StoreError> {
    let (mut waiting, mut unpriced) = (BTreeSet::new(), BTreeSet::new());
    let mut sums = Vec::new();
    for bytes in delta::waiting(snapshot, from, until).await? {
        let mut decoder = Decoder::new(&bytes)?;
        while let Some((bucket, texts)) = decoder.next(&mut sums)? {
            if (from..until).contains(&bucket) && conditions.cover(&texts) {
                waiting.insert(bucket);
                if sums.iter().any(|(column, _)| *column == rollup::UNPRICED) {
                    unpriced.insert(bucket);
                }
            }
        }
        tokio::task::yield_now().await;
    }
    const IN_TABLE: &str = "SELECT COUNT(*) FROM rollups WHERE bucket = $1 AND unpriced > 0";
    for bucket in waiting {
        let rows = snapshot.fetch(IN_TABLE, &[bucket.into()]).await?;
        if rows.first().ok_or(StoreError::NotFound)?.get::<i64>(0)? > 0 {
            unpriced.insert(bucket);
        }
    }
    Ok(unpriced.into_iter().collect())
}

/// Sums in which no call has a price: all of their tokens count.
fn sums<'a>(conditions: &'a Conditions, range: [i64; 2], split: &[i64]) -> (SqlStr, Vec<Value<'a>>) {
    let (input, output) = (INPUT.as_str(), OUTPUT.as_str());
    let mut text = format!(
        "SELECT model, provider, provider_name, CAST(SUM(unpriced) AS BIGINT), CAST(SUM({input}) AS BIGINT), \
         CAST(SUM({output}) AS BIGINT), MAX(bucket) * 1000000 FROM rollups \
         WHERE bucket >= $1 AND bucket < $2 AND unpriced > 0 AND priced = 0"
    );
    let mut values = range.map(Value::from).to_vec();
    append_except(&mut text, &mut values, split);
    conditions.append(&mut text, &mut values);
    (sql(format!("{text} {GROUPED}")), values)
}

/// The rows of sums in which some calls have a price and some do not.
fn mixed<'a>(conditions: &'a Conditions, range: [i64; 2], split: &[i64]) -> (SqlStr, Vec<Value<'a>>) {
    let mut text =
        "WITH mixed AS (SELECT bucket * 1000000 AS start, model AS m, provider AS p, provider_name AS n, \
         user_path AS u, auth_key_id AS a, tenant_id AS t, cache_type AS c FROM rollups \
         WHERE bucket >= $1 AND bucket < $2 AND unpriced > 0 AND priced > 0"
            .to_owned();
    let mut values = range.map(Value::from).to_vec();
    append_except(&mut text, &mut values, split);
    conditions.append(&mut text, &mut values);
    let (input, output) = (INPUT.as_str(), OUTPUT.as_str());
    text.push_str(&format!(
        ") SELECT model, provider, provider_name, COUNT(*), CAST(SUM({input}) AS BIGINT), \
         CAST(SUM({output}) AS BIGINT), MAX(at) FROM mixed JOIN usage ON at >= start AND at < start + {QUARTER_MICROS} \
         AND model = m AND provider = p AND provider_name = n AND user_path = u AND auth_key_id = a \
         AND COALESCE(tenant_id, '') = t AND cache_type = c WHERE {} {GROUPED}",
        *UNPRICED_ROW
    ));
    (sql(text), values)
}

/// The calls of a bucket without a price.
fn rows(conditions: &Conditions, bucket: i64) -> (SqlStr, Vec<Value<'_>>) {
    let (input, output) = (INPUT.as_str(), OUTPUT.as_str());
    let mut text = format!(
        "SELECT model, provider, provider_name, COUNT(*), CAST(SUM({input}) AS BIGINT), \
         CAST(SUM({output}) AS BIGINT), MAX(at) FROM usage WHERE at >= $1 AND at < $2 AND {}",
        *UNPRICED_ROW
    );
    let start = bucket.saturating_mul(1_000_000);
    let mut values = vec![Value::from(start), start.saturating_add(QUARTER_MICROS).into()];
    conditions.append(&mut text, &mut values);
    (sql(format!("{text} {GROUPED}")), values)
}

/// Appends the condition that a bucket is none of these.
fn append_except(text: &mut String, values: &mut Vec<Value<'_>>, buckets: &[i64]) {
    if !buckets.is_empty() {
        let places: Vec<String> =
            (1..=buckets.len()).map(|place| format!("${}", values.len() + place)).collect();
        text.push_str(&format!(" AND bucket NOT IN ({})", places.join(", ")));
        values.extend(buckets.iter().map(|bucket| Value::from(*bucket)));
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
