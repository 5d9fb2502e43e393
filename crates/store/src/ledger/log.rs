//! The usage log: single calls, newest first.

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::receipt::Receipt;
use serde_json::value::RawValue;

use super::booking::bounded_tokens;
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
        const PAGE: &str = concat!(
            "SELECT detail, input_cost, output_cost, cost_source FROM usage WHERE at >= $1 AND at < $2",
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

fn read(row: &Row) -> Result<UsageRow, StoreError> {
    let detail: String = row.get(0)?;
    let receipt: Receipt = serde_json::from_str(&detail)
        .map_err(|error| StoreError::Corrupt(format!("a usage row: {error}")))?;
    let tokens = bounded_tokens(&receipt.usage.tokens);
    let (input_cost, output_cost): (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
    let total_cost = input_cost.zip(output_cost).map(|(input, output)| Nanos(input) + Nanos(output));
    let [input, cache_read, cache_write_5m, cache_write_1h, audio_input, output, reasoning, audio_output] =
        tokens;
    let cache_write = cache_write_5m + cache_write_1h;
    let input_tokens = input + cache_read + cache_write + audio_input;
    let output_tokens = output + reasoning + audio_output;
    Ok(UsageRow {
        id: receipt.id,
        request_id: receipt.request_id,
        provider_id: receipt.provider_id,
        timestamp: receipt.at,
        model: receipt.model,
        requested_model: receipt.requested_model,
        provider: receipt.provider,
        provider_name: receipt.provider_name,
        endpoint: receipt.endpoint,
        user_path: receipt.user_path,
        auth_key_id: receipt.auth_key_id,
        tenant_id: receipt.tenant_id,
        session_id: receipt.session_id,
        cache_type: receipt.cache_type,
        stream: receipt.stream,
        status: receipt.status,
        input_tokens,
        cached_input_tokens: cache_read,
        cache_write_input_tokens: cache_write,
        output_tokens,
        reasoning_tokens: reasoning,
        total_tokens: input_tokens + output_tokens,
        input_cost: input_cost.map(Nanos),
        output_cost: output_cost.map(Nanos),
        total_cost,
        cost_source: row.get(3)?,
        estimated: receipt.usage.estimated,
        interrupted: receipt.interrupted,
        pricing_version: None,
        caveat: receipt.usage.caveat,
        raw_usage: receipt.raw_usage,
        duration_us: receipt.duration_us,
        first_byte_us: receipt.first_byte_us,
    })
}
