//! The views of an explanation, as they are serialised. Parts that a call would not reach are null.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::routing::resolve::trail::Step;

#[derive(Serialize, ToSchema)]
pub struct Explanation {
    pub principal: PrincipalView,
    pub request: Option<RequestView>,
    pub resolution: Option<Resolution>,
    /// In the order in which they would be tried.
    pub candidates: Option<Vec<Candidate>>,
    /// The limits of the key that would make the call; null without any.
    pub limits: Option<Vec<LimitView>>,
    pub decision: Decision,
    /// The first that would leave.
    pub upstream_request: Option<UpstreamRequest>,
    pub estimated_cost: Option<EstimatedCost>,
    /// Every budget on the path.
    pub budgets: Option<Vec<BudgetRoom>>,
    /// The output bound would be lowered to what a budget has left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_clamped: Option<Clamped>,
    /// A budget is exhausted and would have this selector serve the call instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downgraded_to: Option<String>,
}

/// An output bound that was lowered.
#[derive(Serialize, ToSchema)]
pub struct Clamped {
    pub asked: u64,
    pub used: u64,
}

/// Who would make the call.
#[derive(Serialize, ToSchema)]
#[schema(as = Principal)]
pub struct PrincipalView {
    /// master_key or api_key
    pub auth_method: &'static str,
    pub auth_key_id: Option<String>,
    pub name: Option<String>,
    pub user_path: String,
    pub scopes: Vec<String>,
    pub provider_pool: Option<String>,
    pub active: bool,
    /// Why it is not active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// What is asked for.
#[derive(Serialize, ToSchema)]
pub struct RequestView {
    /// What lots are drawn from: a call with this X-Request-Id draws the same.
    pub request_id: String,
    pub path: String,
    /// chat, responses, messages, generate, completions, embeddings or rerank
    pub surface: &'static str,
    pub model: Option<String>,
    /// The body's own `provider`.
    pub provider: Option<String>,
    pub stream: bool,
    pub input_tokens_estimate: u64,
    /// As the request bounds it.
    pub max_output: Option<u64>,
}

#[derive(Serialize, ToSchema)]
pub struct Resolution {
    #[schema(value_type = Vec<BTreeMap<String, String>>)]
    pub steps: Vec<Step>,
    pub error: Option<Refusal>,
}

#[derive(Serialize, ToSchema)]
pub struct Candidate {
    /// From 1.
    pub position: usize,
    pub provider_name: String,
    /// The type.
    pub provider: String,
    pub model: String,
    pub selector: String,
    /// In the terms of its group's strategy: calls under way, milliseconds, dollars, or the adaptive score.
    pub score: Option<f64>,
    pub reason: String,
    /// ready, probe, cooling or open
    pub availability: &'static str,
    pub retry_in_ms: Option<u64>,
    pub price_known: bool,
    /// US dollars, at the output asked for.
    pub estimated_cost: Option<f64>,
    /// native, or translated:<format>; null if the target cannot be called.
    pub dialect: Option<String>,
    /// Why the answer is translated and its bytes are not forwarded: formats_differ, resumable_stream or sealed_state.
    /// Absent if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_canonical: Option<&'static str>,
    /// Parameters that the target's format cannot express.
    pub dropped: Vec<String>,
    /// Why it could not serve this call.
    pub error: Option<Refusal>,
}

/// How the key stands with one of its limits. Nothing is taken by an explanation.
#[derive(Serialize, ToSchema)]
pub struct LimitView {
    /// requests_per_minute, requests_per_day, tokens_per_minute, tokens_per_day or max_parallel_requests
    pub scope: &'static str,
    pub limit: u64,
    pub remaining: u64,
    /// Until more remains.
    pub reset_seconds: u64,
    /// The call would be refused by it.
    pub refuses: bool,
}

/// What the call would meet now.
#[derive(Default, Serialize, ToSchema)]
pub struct Decision {
    pub first: Option<String>,
    /// Selectors, each tried when those before it have failed.
    pub would_try: Vec<String>,
    /// The error that the client would receive before anything is sent.
    pub error: Option<Refusal>,
}

#[derive(Serialize, ToSchema)]
pub struct Refusal {
    pub status: u16,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

#[derive(Serialize, ToSchema)]
pub struct UpstreamRequest {
    pub provider_name: String,
    pub method: String,
    /// Null for a model that is built in.
    pub url: Option<String>,
    /// Values that could be credentials are ***.
    pub headers: BTreeMap<String, String>,
    /// As it would be sent; the beginning of it, as a string, where it is too long.
    #[schema(value_type = Object)]
    pub body: Box<RawValue>,
    pub body_truncated: bool,
}

/// What the dearest candidate would take at most.
#[derive(Serialize, ToSchema)]
pub struct EstimatedCost {
    pub currency: &'static str,
    pub input_tokens: u64,
    pub max_output_tokens: u64,
    /// Null where no candidate has a price.
    pub worst: Option<f64>,
}

/// How a budget stands, in US dollars. Figures of budgets above the asker's own path are null.
#[derive(Serialize, ToSchema)]
pub struct BudgetRoom {
    pub user_path: String,
    pub period_label: String,
    pub amount: Option<f64>,
    pub spent: Option<f64>,
    /// Held for calls under way.
    pub reserved: Option<f64>,
    pub remaining: Option<f64>,
    pub period_end: String,
    /// What this call may cost at worst has room in it.
    pub fits: bool,
}

impl Explanation {
    pub(super) fn new(principal: PrincipalView) -> Self {
        Self {
            principal,
            request: None,
            resolution: None,
            candidates: None,
            limits: None,
            decision: Decision::default(),
            upstream_request: None,
            estimated_cost: None,
            budgets: None,
            max_tokens_clamped: None,
            downgraded_to: None,
        }
    }
}
