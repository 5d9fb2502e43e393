//! `/admin/api/v1/usage/log`: individual calls, newest first.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::money::Nanos;
use domain::receipt::Receipt;
use domain::receipt_fields;
use http::HeaderMap;
use serde::Serialize;
use store::{LogPlace, LogSlice};
use utoipa::ToSchema;

use super::ReportParameters;
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Read, Usage};
use crate::fault::Problem;
use crate::query::{self, Pairs};

macro_rules! define_entry {
    ($($(#[$attribute:meta])* $name:ident: $type:ty,)*) => {
        /// A call in the usage log: the fields that are declared for it, and figures that are computed from others.
        #[derive(Serialize, ToSchema)]
        pub struct EntryView {
            $($(#[$attribute])* pub $name: $type,)*
            pub timestamp: String,
            pub status_code: u16,
            pub input_tokens: u64,
            pub cached_input_tokens: u64,
            pub cache_write_input_tokens: u64,
            pub output_tokens: u64,
            pub reasoning_tokens: u64,
            pub total_tokens: u64,
            pub input_cost: Option<f64>,
            pub output_cost: Option<f64>,
            pub total_cost: Option<f64>,
            /// The cost that an answer from the cache saved; null for other answers.
            pub saved_cost: Option<f64>,
            /// The cost that the prompt cache of the provider saved, below zero if writes to it cost more than reads saved;
            /// null if it was not used or its model has no price.
            pub prompt_cache_savings: Option<f64>,
            /// model_pricing, provider_reported or none
            pub cost_source: &'static str,
            pub estimated: bool,
            pub caveat: Option<String>,
            pub raw_usage: serde_json::Value,
        }

        impl From<Receipt> for EntryView {
            fn from(receipt: Receipt) -> Self {
                let tokens = &receipt.usage.tokens;
                let raw_usage = receipt.raw_usage.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok());
                Self {
                    timestamp: record::time(receipt.at),
                    status_code: receipt.status,
                    input_tokens: tokens.total_input(),
                    cached_input_tokens: tokens.cache_read,
                    cache_write_input_tokens: tokens.cache_write(),
                    output_tokens: tokens.total_output(),
                    reasoning_tokens: tokens.reasoning,
                    total_tokens: tokens.total(),
                    input_cost: receipt.cost.map(|cost| cost.input.usd()),
                    output_cost: receipt.cost.map(|cost| cost.output.usd()),
                    total_cost: receipt.total_cost().map(Nanos::usd),
                    saved_cost: receipt.saved_cost.map(Nanos::usd),
                    prompt_cache_savings: receipt.prompt_cache_savings.map(Nanos::usd),
                    cost_source: receipt.cost_source.as_str(),
                    estimated: receipt.usage.estimated,
                    caveat: receipt.usage.caveat,
                    raw_usage: raw_usage.unwrap_or_else(|| serde_json::json!({})),
                    $($name: receipt.$name,)*
                }
            }
        }
    };
}
receipt_fields!(log => define_entry);

#[derive(Serialize, ToSchema)]
pub struct LogView {
    pub entries: Vec<EntryView>,
    /// Absent with `include_total=false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    pub limit: i64,
    pub offset: i64,
    /// Cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Present when only the newest 200,000 calls of the period were searched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub search_truncated: bool,
}

/// Maximum length of a search text.
const LONGEST_SEARCH: usize = 200;

/// List the calls of a period, newest first.
#[utoipa::path(get, path = "/admin/api/v1/usage/log", tag = "usage",
    params(ReportParameters, ("search" = Option<String>, Query, description = "In model, provider, request_id and provider_id"),
        ("limit" = Option<i64>, Query, description = "1 to 200, default 50"), ("offset" = Option<i64>, Query, description = "Default 0"),
        ("cursor" = Option<String>, Query, description = "What `next` of the page before said"),
        ("include_total" = Option<bool>, Query, description = "Whether calls are counted. Default: true")),
    responses((status = 200, description = "The calls", body = LogView), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 503, description = "Usage is off or storage is down")),
    security(("bearer" = ["admin:usage:read"])))]
pub async fn log(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Usage>>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<LogView>, Problem> {
    let mut filter = super::filter(&app, &authorized, &pairs, &headers)?;
    filter.search = query::text(&pairs, "search").map(str::to_owned);
    if filter.search.as_ref().is_some_and(|search| search.len() > LONGEST_SEARCH) {
        let message = format!("'search' must be no longer than {LONGEST_SEARCH} bytes.");
        return Err(fault::invalid_parameter("search", message).into());
    }
    let (limit, offset) = record::page(&pairs, 50, 200)?;
    let after = query::text(&pairs, "cursor").map(place).transpose()?;
    if after.is_some() && offset > 0 {
        return Err(fault::invalid_parameter("offset", "'offset' and 'cursor' exclude each other.").into());
    }
    let with_total = query::boolean(&pairs, "include_total")? != Some(false);
    let slice = LogSlice { limit, offset, after, with_total };
    let page = super::ledger(&app).page(&filter, &slice).await?;
    Ok(Json(LogView {
        entries: page.rows.into_iter().map(EntryView::from).collect(),
        total: page.total,
        limit,
        offset,
        next: page.next.as_ref().map(cursor),
        search_truncated: page.search_truncated,
    }))
}

fn cursor(place: &LogPlace) -> String {
    format!("{:x}.{}", place.at.micros(), place.id)
}

fn place(cursor: &str) -> Result<LogPlace, Fault> {
    let place = cursor.split_once('.').and_then(|(micros, id)| {
        let at = Timestamp(i64::from_str_radix(micros, 16).ok()?);
        Some(LogPlace { at, id: id.to_owned() }).filter(|place| !place.id.contains('\0'))
    });
    place.ok_or_else(|| fault::invalid_parameter("cursor", "'cursor' is not one that a page gave as 'next'."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of a receipt that an entry does not show, by reason.
    const LEFT_OUT: &[(&str, &[&str])] = &[
        (
            "about the request, in the audit log",
            &["method", "auth_method", "client_ip", "user_agent", "alias_used", "workflow_version_id"],
        ),
        ("about the response, in the audit log", &["response_id", "previous_response_id", "trace", "audit"]),
        ("about errors, in the audit log", &["error_type", "error_code", "error_message", "attempts"]),
        (
            "reports show percentiles; single figures are in the audit log",
            &["duration_us", "first_byte_us", "overhead_us"],
        ),
        ("in the ledger only", &["resumed"]),
        ("such a receipt is not in the usage log", &["unbooked"]),
    ];

    #[test]
    fn a_field_is_shown_or_left_out_for_a_reason() {
        testkit::assert_shown_except(LEFT_OUT, |receipt| {
            serde_json::to_string(&EntryView::from(receipt.clone())).unwrap()
        });
    }
}
