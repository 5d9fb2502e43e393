//! Response types of the audit log.

use std::collections::BTreeMap;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::receipt::Attempt;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use store::{AuditData, AuditEntry, AuditStats};
use utoipa::ToSchema;

use crate::admin::record;

#[derive(Serialize, ToSchema)]
pub struct AuditEntryView {
    pub id: String,
    pub timestamp: String,
    pub duration_ms: f64,
    /// Time to the first byte sent to the client.
    pub ttft_ms: Option<f64>,
    /// The gateway's own share of the time to the first byte.
    pub overhead_us: i64,
    pub requested_model: String,
    /// The model that served the call, as its provider names it.
    pub resolved_model: Option<String>,
    /// The provider's type.
    pub provider: Option<String>,
    /// The provider's instance.
    pub provider_name: Option<String>,
    pub alias_used: bool,
    pub workflow_version_id: Option<String>,
    pub cache_type: String,
    /// 499 when the client disconnected.
    pub status_code: u16,
    pub request_id: String,
    pub auth_key_id: Option<String>,
    /// master_key or api_key; null when the caller is unknown
    pub auth_method: Option<String>,
    pub tenant_id: Option<String>,
    pub client_ip: String,
    pub method: String,
    pub path: String,
    pub user_path: String,
    pub session_id: Option<String>,
    pub response_id: Option<String>,
    pub previous_response_id: Option<String>,
    pub stream: bool,
    pub error_type: Option<String>,
    pub error_code: Option<String>,
    /// True when the gateway stopped before the call ended.
    pub interrupted: bool,
    pub attempts: Vec<AttemptView>,
    #[schema(value_type = Vec<Object>)]
    pub guardrails: Vec<serde_json::Value>,
    pub usage: Option<AuditUsageView>,
    pub data: AuditDataView,
}

#[derive(Serialize, ToSchema)]
pub struct AttemptView {
    pub provider_name: String,
    pub model: String,
    /// 0 when no response was received.
    pub status: u16,
    pub error: Option<String>,
    pub duration_ms: f64,
}

#[derive(Serialize, ToSchema)]
pub struct AuditUsageView {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub cache_write_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
    pub total_tokens: u64,
    pub total_cost: Option<f64>,
    pub cost_source: &'static str,
    pub estimated: bool,
}

#[derive(Serialize, ToSchema)]
pub struct AuditDataView {
    pub user_agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The reason for refusing a key, which was not sent to the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub request_headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub response_headers: BTreeMap<String, String>,
    /// JSON if the body is JSON, else text; a stream is shown as its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub request_body: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub response_body: Option<Box<RawValue>>,
    pub request_truncated: bool,
    pub response_truncated: bool,
    /// True when the body was not valid text and invalid parts were replaced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_lossy: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub response_lossy: bool,
}

#[derive(Serialize, ToSchema)]
pub struct AuditStatsView {
    pub count: u64,
    pub errors: u64,
    pub by_status: BTreeMap<u16, u64>,
    pub by_provider: BTreeMap<String, u64>,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub bucket_seconds: i64,
    /// Only buckets with entries.
    pub buckets: Vec<AuditBucketView>,
    /// True when the figures cover only the newest entries.
    pub truncated: bool,
}

#[derive(Serialize, ToSchema)]
pub struct AuditBucketView {
    pub start: String,
    pub count: u64,
    pub errors: u64,
}

pub fn entry(entry: AuditEntry) -> AuditEntryView {
    let filled = |text: String| Some(text).filter(|text| !text.is_empty());
    let mut data = entry.data;
    let attempts = std::mem::take(&mut data.attempts).into_iter().map(attempt).collect();
    AuditEntryView {
        timestamp: record::time(entry.at),
        duration_ms: ms(entry.duration_us),
        ttft_ms: entry.first_byte_us.map(ms),
        overhead_us: entry.overhead_us,
        requested_model: entry.requested_model,
        resolved_model: filled(entry.model),
        provider: filled(entry.provider),
        provider_name: filled(entry.provider_name),
        alias_used: data.alias_used,
        workflow_version_id: None,
        cache_type: entry.cache_type,
        status_code: entry.status,
        request_id: entry.request_id,
        auth_key_id: entry.auth_key_id,
        auth_method: filled(std::mem::take(&mut data.auth_method)),
        tenant_id: entry.tenant_id,
        client_ip: std::mem::take(&mut data.client_ip),
        method: entry.method,
        path: entry.path,
        user_path: entry.user_path,
        session_id: entry.session_id,
        response_id: entry.response_id,
        previous_response_id: entry.previous_response_id,
        stream: entry.stream,
        error_type: entry.error_type,
        error_code: entry.error_code,
        interrupted: data.interrupted,
        attempts,
        guardrails: Vec::new(),
        usage: usage(&data),
        data: AuditDataView {
            user_agent: data.user_agent,
            error_message: entry.error_message,
            error_reason: data.reason,
            query: filled(data.query),
            provider_id: filled(data.provider_id),
            trace_id: data.trace_id,
            request_headers: headers(data.request_headers),
            response_headers: headers(data.response_headers),
            request_body: entry.request_body.and_then(body),
            response_body: entry.response_body.and_then(body),
            request_truncated: data.request_truncated,
            response_truncated: data.response_truncated,
            request_lossy: data.request_lossy,
            response_lossy: data.response_lossy,
        },
        id: entry.id,
    }
}

fn attempt(attempt: Attempt) -> AttemptView {
    AttemptView {
        provider_name: attempt.provider_name,
        model: attempt.model,
        status: attempt.status,
        error: attempt.error.map(|code| code.to_string()),
        duration_ms: ms(i64::try_from(attempt.duration_us).unwrap_or(i64::MAX)),
    }
}

/// Tokens and cost of a call; `None` when nothing was consumed.
fn usage(data: &AuditData) -> Option<AuditUsageView> {
    let tokens = &data.tokens;
    let cost = data.input_cost.zip(data.output_cost).map(|(input, output)| Nanos(input) + Nanos(output));
    (tokens.total() > 0 || cost.is_some_and(|cost| cost.0 != 0)).then(|| AuditUsageView {
        input_tokens: tokens.total_input(),
        cached_input_tokens: tokens.cache_read,
        cache_write_input_tokens: tokens.cache_write(),
        output_tokens: tokens.total_output(),
        reasoning_tokens: tokens.reasoning,
        total_tokens: tokens.total(),
        total_cost: cost.map(Nanos::usd),
        cost_source: data.cost_source.as_str(),
        estimated: data.estimated,
    })
}

/// Joins the values of repeated headers with commas.
fn headers(pairs: Vec<(String, String)>) -> BTreeMap<String, String> {
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in pairs {
        shown
            .entry(name)
            .and_modify(|known| {
                known.push_str(", ");
                known.push_str(&value);
            })
            .or_insert(value);
    }
    shown
}

fn body(text: String) -> Option<Box<RawValue>> {
    let structured = text.starts_with(['{', '[']).then(|| RawValue::from_string(text.clone()).ok()).flatten();
    structured.or_else(|| to_raw_value(&text).ok())
}

pub fn stats(stats: AuditStats) -> AuditStatsView {
    let bucket = |bucket: &store::AuditBucket| AuditBucketView {
        start: record::time(Timestamp::from_seconds(bucket.start)),
        count: bucket.count,
        errors: bucket.errors,
    };
    AuditStatsView {
        count: stats.count,
        errors: stats.errors,
        buckets: stats.buckets.iter().map(bucket).collect(),
        by_status: stats.by_status,
        by_provider: stats.by_provider,
        p50_ms: stats.p50_us.map(ms),
        p95_ms: stats.p95_us.map(ms),
        p99_ms: stats.p99_us.map(ms),
        bucket_seconds: stats.bucket_seconds,
        truncated: stats.truncated,
    }
}

fn ms(micros: i64) -> f64 {
    micros as f64 / 1000.0
}
