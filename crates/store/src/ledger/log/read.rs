//! Decodes stored usage rows.

use domain::clock::Timestamp;
use domain::money::Nanos;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::UsageRow;
use crate::StoreError;
use crate::database::Row;
use crate::ledger::booking::cost_source;

/// The fields of a row's detail that the log shows.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Detail {
    session_id: Option<String>,
    interrupted: bool,
    caveat: Option<String>,
    pricing_version: Option<String>,
    raw_usage: Option<Box<RawValue>>,
}

/// Decodes a row with the columns in the order of `booking::COLUMNS`.
pub(super) fn read(row: &Row) -> Result<UsageRow, StoreError> {
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
        run_id: row.get(30)?,
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
