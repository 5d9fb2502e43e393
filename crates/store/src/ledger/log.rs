//! The usage log: single calls, newest first.

use domain::clock::Timestamp;
use domain::money::Nanos;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::booking::cost_source;
use super::{Conditions, Ledger, UsageFilter, conditions, search};
use crate::StoreError;
use crate::database::{Row, Value};

/// One call as the usage log shows it.
#[derive(Clone, Debug)]
pub struct UsageRow {
    pub id: String,
    pub request_id: String,
    /// The upstream's id of its answer.
    pub provider_id: String,
    pub timestamp: Timestamp,
    pub model: String,
    pub requested_model: String,
    /// The provider's type.
    pub provider: String,
    /// The provider's instance.
    pub provider_name: String,
    pub endpoint: String,
    pub user_path: String,
    pub auth_key_id: Option<String>,
    pub tenant_id: Option<String>,
    pub session_id: Option<String>,
    pub cache_type: String,
    pub stream: bool,
    pub status: u16,
    pub input_tokens: i64,
    pub cached_input_tokens: i64,
    pub cache_write_input_tokens: i64,
    pub output_tokens: i64,
    pub reasoning_tokens: i64,
    pub total_tokens: i64,
    pub input_cost: Option<Nanos>,
    pub output_cost: Option<Nanos>,
    pub total_cost: Option<Nanos>,
    /// `model_pricing`, `provider_reported` or `none`.
    pub cost_source: String,
    pub estimated: bool,
    pub interrupted: bool,
    pub pricing_version: Option<String>,
    pub caveat: Option<String>,
    /// The upstream's usage object, as it came.
    pub raw_usage: Option<Box<RawValue>>,
    pub duration_us: u64,
    pub first_byte_us: Option<u64>,
}

impl Ledger {
    /// A page of calls and how many there are in all.
    pub async fn log(
        &self,
        filter: &UsageFilter,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<UsageRow>, i64), StoreError> {
        // The columns in the order of `booking::COLUMNS`, which `read` goes by.
        const PAGE: &str = concat!(
            "SELECT at, id, request_id, provider_id, model, requested_model, provider, provider_name, endpoint, \
             user_path, auth_key_id, tenant_id, cache_type, status, stream, estimated, input, cache_read, \
             cache_write_5m, cache_write_1h, audio_input, output, reasoning, audio_output, input_cost, output_cost, \
             cost_source, duration_us, first_byte_us, detail FROM usage WHERE at >= $1 AND at < $2",
            conditions!(),
            search!(),
            " ORDER BY at DESC, id DESC LIMIT $11 OFFSET $12"
        );
        let total = self.matching(filter).await?;
        let conditions = Conditions::new(filter);
        let mut values = conditions.values_with_search(filter.from.micros(), filter.until.micros());
        values.extend([Value::from(limit.max(0)), Value::from(offset.max(0))]);
        let rows = self.database.fetch(PAGE, &values).await?;
        Ok((rows.iter().map(read).collect::<Result<_, _>>()?, total))
    }

    /// Counted from the sums, which outlive the rows: so never from before the oldest row that is left.
    async fn matching(&self, filter: &UsageFilter) -> Result<i64, StoreError> {
        let rows = self.database.fetch("SELECT MIN(at) FROM usage", &[]).await?;
        let Some(oldest) = rows.first().ok_or(StoreError::NotFound)?.get::<Option<i64>>(0)? else {
            return Ok(0);
        };
        let left = UsageFilter { from: filter.from.max(Timestamp(oldest)), ..filter.clone() };
        Ok(self.summary(&left).await?.total_requests)
    }
}

/// What the log shows of a row's detail.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Detail {
    session_id: Option<String>,
    interrupted: bool,
    caveat: Option<String>,
    pricing_version: Option<String>,
    raw_usage: Option<Box<RawValue>>,
}

fn read(row: &Row) -> Result<UsageRow, StoreError> {
    let detail: Option<String> = row.get(29)?;
    let detail: Detail = detail
        .map_or(Ok(Detail::default()), |detail| serde_json::from_str(&detail))
        .map_err(|error| StoreError::Corrupt(format!("a usage row: {error}")))?;
    let mut tokens = [0i64; 8];
    for (index, count) in tokens.iter_mut().enumerate() {
        *count = row.get(16 + index)?;
    }
    let [input, cache_read, cache_write_5m, cache_write_1h, audio_input, output, reasoning, audio_output] =
        tokens;
    let cache_write = cache_write_5m + cache_write_1h;
    let input_tokens = input + cache_read + cache_write + audio_input;
    let output_tokens = output + reasoning + audio_output;
    let (input_cost, output_cost): (Option<i64>, Option<i64>) = (row.get(24)?, row.get(25)?);
    let model: String = row.get(4)?;
    let filled = |text: String| Some(text).filter(|text| !text.is_empty());
    Ok(UsageRow {
        timestamp: Timestamp(row.get(0)?),
        id: row.get(1)?,
        request_id: row.get(2)?,
        provider_id: row.get(3)?,
        requested_model: row.get::<Option<String>>(5)?.unwrap_or_else(|| model.clone()),
        model,
        provider: row.get(6)?,
        provider_name: row.get(7)?,
        endpoint: row.get(8)?,
        user_path: row.get(9)?,
        auth_key_id: filled(row.get(10)?),
        tenant_id: row.get(11)?,
        session_id: detail.session_id,
        cache_type: row.get(12)?,
        status: row.get::<i64>(13)? as u16,
        stream: row.get::<i64>(14)? != 0,
        input_tokens,
        cached_input_tokens: cache_read,
        cache_write_input_tokens: cache_write,
        output_tokens,
        reasoning_tokens: reasoning,
        total_tokens: input_tokens + output_tokens,
        input_cost: input_cost.map(Nanos),
        output_cost: output_cost.map(Nanos),
        total_cost: input_cost.zip(output_cost).map(|(input, output)| Nanos(input) + Nanos(output)),
        cost_source: cost_source(row.get(26)?).as_str().to_owned(),
        estimated: row.get::<i64>(15)? != 0,
        interrupted: detail.interrupted,
        pricing_version: detail.pricing_version,
        caveat: detail.caveat,
        raw_usage: detail.raw_usage,
        duration_us: row.get::<i64>(27)?.max(0) as u64,
        first_byte_us: row.get::<Option<i64>>(28)?.map(|micros| micros.max(0) as u64),
    })
}
