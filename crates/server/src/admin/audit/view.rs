//! Response types of the audit log.

use std::collections::BTreeMap;
use std::mem::take;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::principal::Principal;
use domain::receipt::{Attempt, AttemptTiming, Audited, GuardrailVerdict};
use domain::receipt_fields;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use store::{AuditEntry, AuditStats};
use utoipa::ToSchema;

use super::journey_view::{JourneyView, filled, journey, ms};
use crate::admin::record;

macro_rules! define_entry {
    ($($(#[$attribute:meta])* $name:ident: $type:ty,)*) => {
        /// A call in the audit log: the fields that are declared for it, and values that are computed from others.
        #[derive(Serialize, ToSchema)]
        pub struct AuditEntryView {
            $($(#[$attribute])* pub $name: $type,)*
            pub timestamp: String,
            pub duration_ms: f64,
            /// Time to the first byte sent to the client.
            pub ttft_ms: Option<f64>,
            /// The model that served the call, as its provider names it.
            pub resolved_model: Option<String>,
            /// The provider's type.
            pub provider: Option<String>,
            /// The provider's instance.
            pub provider_name: Option<String>,
            /// 499 when the client disconnected.
            pub status_code: u16,
            /// master_key, api_key, session or token; null when the caller is unknown
            pub auth_method: Option<String>,
            pub path: String,
            pub attempts: Vec<AttemptView>,
            /// The verdicts of guardrails, those that allow included.
            pub guardrails: Vec<GuardrailVerdict>,
            pub usage: Option<AuditUsageView>,
            /// The name of the key at the time of the call.
            pub auth_key_name: Option<String>,
            /// The decisions about the call; null for callers without a valid key, and for entries of older versions.
            pub journey: Option<JourneyView>,
            pub data: AuditDataView,
        }

        /// An entry, as `reader` may see it.
        pub fn entry(mut entry: AuditEntry, reader: Option<&Principal>) -> AuditEntryView {
            let mut audited = entry.audit.take().unwrap_or_default();
            let mut recorded = audited.journey.take();
            let timings = recorded.as_mut().map(|journey| take(&mut journey.attempts)).unwrap_or_default();
            let auth_key_name = recorded.as_ref().and_then(|journey| journey.key_name.clone());
            let shown = recorded.map(|recorded| journey(&entry, *recorded, &audited.guardrails, reader));
            AuditEntryView {
                timestamp: record::time(entry.at),
                duration_ms: ms(entry.duration_us),
                ttft_ms: entry.first_byte_us.map(ms),
                resolved_model: filled(take(&mut entry.model)),
                provider: filled(take(&mut entry.provider)),
                provider_name: filled(take(&mut entry.provider_name)),
                status_code: entry.status,
                auth_method: filled(take(&mut entry.auth_method)),
                path: filled(audited.path.clone()).unwrap_or_else(|| entry.endpoint.clone()),
                attempts: attempts(take(&mut entry.attempts), timings),
                guardrails: take(&mut audited.guardrails),
                usage: usage(&entry),
                auth_key_name,
                journey: shown,
                data: data(&mut entry, *audited),
                $($name: entry.$name,)*
            }
        }
    };
}
receipt_fields!(entry => define_entry);

#[derive(Serialize, ToSchema)]
pub struct AttemptView {
    pub provider_name: String,
    pub model: String,
    /// 0 when no response was received.
    pub status: u16,
    pub error: Option<String>,
    /// Time until the whole answer; for a stream, until its first content.
    pub duration_ms: f64,
    /// Time until the head of the answer; null without one, and if it is not known.
    pub first_byte_ms: Option<f64>,
    /// Time from the first content of a stream to its end; null for other answers.
    pub streamed_ms: Option<f64>,
    /// Delay from the provider's `Retry-After` header.
    pub retry_after_ms: Option<u64>,
    /// The format that the request was translated to: chat, responses, messages or generate; null if it was not.
    pub translated_to: Option<String>,
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
    /// The cost that an answer from the cache saved; null for other answers.
    pub saved_cost: Option<f64>,
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
    #[schema(value_type = Value)]
    pub request_body: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value)]
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

fn data(entry: &mut AuditEntry, audited: Audited) -> AuditDataView {
    AuditDataView {
        user_agent: take(&mut entry.user_agent),
        error_message: entry.error_message.take(),
        error_reason: audited.reason,
        query: filled(audited.query),
        provider_id: filled(take(&mut entry.provider_id)),
        trace_id: entry.trace.take().map(|trace| trace.trace_id),
        request_headers: headers(audited.request_headers),
        response_headers: headers(audited.response_headers),
        request_body: audited.request_body.and_then(body),
        response_body: audited.response_body.and_then(body),
        request_truncated: audited.request_truncated,
        response_truncated: audited.response_truncated,
        request_lossy: audited.request_lossy,
        response_lossy: audited.response_lossy,
    }
}

fn attempts(attempts: Vec<Attempt>, timings: Vec<AttemptTiming>) -> Vec<AttemptView> {
    let timings = timings.into_iter().chain(std::iter::repeat_with(AttemptTiming::default));
    attempts.into_iter().zip(timings).map(|(taken, timing)| attempt(taken, timing)).collect()
}

fn attempt(attempt: Attempt, timing: AttemptTiming) -> AttemptView {
    AttemptView {
        provider_name: attempt.provider_name,
        model: attempt.model,
        status: attempt.status,
        error: attempt.error.map(|code| code.to_string()),
        duration_ms: ms(attempt.duration_us),
        first_byte_ms: timing.first_byte_us.map(ms),
        streamed_ms: timing.streamed_us.map(ms),
        retry_after_ms: timing.retry_after_ms,
        translated_to: timing.translated_to,
    }
}

/// Tokens and cost of a call; `None` when nothing was consumed.
fn usage(entry: &AuditEntry) -> Option<AuditUsageView> {
    let tokens = &entry.usage.tokens;
    let cost = entry.total_cost();
    (tokens.total() > 0 || cost.is_some_and(|cost| cost.0 != 0)).then(|| AuditUsageView {
        input_tokens: tokens.total_input(),
        cached_input_tokens: tokens.cache_read,
        cache_write_input_tokens: tokens.cache_write(),
        output_tokens: tokens.total_output(),
        reasoning_tokens: tokens.reasoning,
        total_tokens: tokens.total(),
        total_cost: cost.map(Nanos::usd),
        cost_source: entry.cost_source.as_str(),
        estimated: entry.usage.estimated,
        saved_cost: entry.saved_cost.map(Nanos::usd),
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
        p50_ms: stats.p50_us.map(i64::unsigned_abs).map(ms),
        p95_ms: stats.p95_us.map(i64::unsigned_abs).map(ms),
        p99_ms: stats.p99_us.map(i64::unsigned_abs).map(ms),
        bucket_seconds: stats.bucket_seconds,
        truncated: stats.truncated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of a receipt that an entry does not show, by reason. The audit log does not store them either, except
    /// for the endpoint.
    const LEFT_OUT: &[(&str, &[&str])] = &[
        ("the path contains it", &["endpoint"]),
        (
            "in the usage log",
            &["run_id", "pricing_version", "raw_usage", "cache_miss", "prompt_cache_savings"],
        ),
        ("in the ledger only", &["resumed", "unbooked"]),
    ];

    #[test]
    fn a_field_is_shown_or_left_out_for_a_reason() {
        testkit::assert_shown_except(LEFT_OUT, |receipt| {
            serde_json::to_string(&entry(receipt.clone(), None)).unwrap()
        });
    }

    #[test]
    fn verdicts_of_guardrails_are_shown() {
        let receipt = testkit::complete_receipt();
        let verdicts = receipt.audit.as_ref().unwrap().guardrails.clone();
        assert!(!verdicts.is_empty());
        assert_eq!(entry(receipt, None).guardrails, verdicts);
    }

    #[test]
    fn a_journey_is_shown_with_what_was_reserved_settled_and_released() {
        let receipt = domain::receipt::Receipt {
            cost: Some(domain::money::Cost { input: Nanos(12_800_000), output: Nanos(0) }),
            ..testkit::complete_receipt()
        };
        let shown = entry(receipt.clone(), Some(&Principal::Master));
        assert_eq!(shown.attempts[0].retry_after_ms, Some(30_000));
        assert_eq!(shown.attempts[1].translated_to.as_deref(), Some("messages"));
        let journey = serde_json::to_value(shown.journey).unwrap();
        let budget = serde_json::json!({"reserved": 0.0212, "settled": 0.0128, "released": 0.0084,
            "budgets": [{"user_path": "/search", "period_label": "daily", "remaining": 18.8}],
            "max_tokens_clamped": {"asked": 4096, "used": 812}});
        assert_eq!(journey["budget"], budget);
        assert_eq!(journey["resolution"]["steps"], serde_json::json!([{"kind": "alias", "name": "smart"}]));
        assert_eq!(journey["cache"], serde_json::json!({"status": "miss", "reason": "not_found"}));
        let hidden = serde_json::to_value(entry(receipt, None).journey).unwrap();
        assert_eq!(hidden["budget"]["budgets"][0]["remaining"], serde_json::Value::Null);
    }
}
