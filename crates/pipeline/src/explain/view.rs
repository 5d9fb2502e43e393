//! The views of an explanation, as they are serialised. Parts that a call would not reach are null.

use std::collections::BTreeMap;

use domain::receipt::GuardrailVerdict;
use domain::resources::workflow::WorkflowFeatures;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::routing::resolve::trail::Step;

#[derive(Serialize, ToSchema)]
pub struct Explanation {
    pub principal: PrincipalView,
    pub request: Option<RequestView>,
    pub resolution: Option<Resolution>,
    /// The workflow that would apply; null for the managed default.
    pub workflow: Option<ExplainedWorkflow>,
    /// The guardrails that would apply; null without any.
    pub guardrails: Option<ExplainedGuardrails>,
    /// The verdict of the response cache; null if it is off.
    pub cache: Option<ExplainedCache>,
    /// In the order in which they would be tried.
    pub candidates: Option<Vec<Candidate>>,
    /// The limits of the key that would make the call; null without any.
    pub limits: Option<Vec<LimitView>>,
    pub decision: Decision,
    /// The request of the first attempt.
    pub upstream_request: Option<UpstreamRequest>,
    pub estimated_cost: Option<EstimatedCost>,
    /// Every budget on the path.
    pub budgets: Option<Vec<BudgetRoom>>,
    /// The output bound would be lowered to what a budget has left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_clamped: Option<Clamped>,
    /// The selector that would serve the call instead, because a budget is exhausted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downgraded_to: Option<String>,
}

/// The version of a workflow, and the features that it and the gateway leave on.
#[derive(Serialize, ToSchema)]
pub struct ExplainedWorkflow {
    /// The id of the version.
    pub id: String,
    /// Null if the version cannot be read; its calls are refused.
    pub name: Option<String>,
    pub version: Option<u64>,
    pub effective_features: WorkflowFeatures,
}

/// The guardrails of a call.
#[derive(Serialize, ToSchema)]
pub struct ExplainedGuardrails {
    /// The verdicts on the request, in the order of steps and names.
    pub request: Vec<GuardrailVerdict>,
    /// The names of those that would inspect the answer.
    pub answer: Vec<String>,
    /// The names of those that would redact the audit log.
    pub record: Vec<String>,
}

/// The verdict of the response cache. A call that it answers is sent to no target.
#[derive(Serialize, ToSchema)]
pub struct ExplainedCache {
    /// hit-exact, hit-semantic, miss or bypass
    pub status: &'static str,
    /// disabled, not_cacheable, bypass, not_found, expired, below_threshold, prompt_changed, too_long or embedder_failed;
    /// null for a hit.
    pub miss_reason: Option<&'static str>,
    /// The layers that are searched: exact, semantic, both or none
    pub layers: &'static str,
    /// Null if answers to identical calls are not searched.
    pub key: Option<String>,
    pub ttl_seconds: u64,
    /// Null if answers to similar calls are not searched.
    pub semantic: Option<ExplainedSemanticCache>,
    /// A hash of the guardrails of the workflow; part of the key.
    pub guardrails_hash: String,
}

/// The verdict of the semantic cache.
#[derive(Serialize, ToSchema)]
pub struct ExplainedSemanticCache {
    /// The hash of everything that similar calls have in common.
    pub key: String,
    /// The hash of the part of it that is the request.
    pub params_hash: String,
    pub ttl_seconds: u64,
    pub threshold: f64,
    pub prompt_similarity: f64,
    /// The similarity of the call that decided; null if there is none.
    pub score: Option<f64>,
    /// The share of words that it has in common; null if they were not compared.
    pub word_overlap: Option<f64>,
    /// hit in the mode shadow; null if no answer was found, or it is served.
    pub shadow: Option<&'static str>,
}

/// An output bound that was lowered.
#[derive(Serialize, ToSchema)]
pub struct Clamped {
    pub asked: u64,
    pub used: u64,
}

/// The caller.
#[derive(Serialize, ToSchema)]
#[schema(as = Principal)]
pub struct PrincipalView {
    /// master_key, api_key, session or token
    pub auth_method: &'static str,
    pub auth_key_id: Option<String>,
    pub name: Option<String>,
    pub user_path: String,
    pub scopes: Vec<String>,
    pub provider_pool: Option<String>,
    pub active: bool,
    /// The reason if it is not active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// The request.
#[derive(Serialize, ToSchema)]
pub struct RequestView {
    /// The seed of random choices: a call with this X-Request-Id makes the same ones.
    pub request_id: String,
    pub path: String,
    /// chat, responses, messages, generate, completions, embeddings or rerank
    pub surface: &'static str,
    pub model: Option<String>,
    /// The `provider` member of the body.
    pub provider: Option<String>,
    pub stream: bool,
    pub input_tokens_estimate: u64,
    /// The output limit of the request.
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
    /// The figure that its group's strategy ranks by: calls in flight, milliseconds, dollars, or the adaptive score.
    pub score: Option<f64>,
    pub reason: String,
    /// ready, probe, cooling or open
    pub availability: &'static str,
    pub retry_in_ms: Option<u64>,
    pub price_known: bool,
    /// client if the call would be made with the client's own credential, at no cost. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<&'static str>,
    /// In US dollars, for the requested output.
    pub estimated_cost: Option<f64>,
    /// native, or translated:<format>; null if the target cannot be called.
    pub dialect: Option<String>,
    /// The reason why the answer is translated and its bytes are not forwarded: formats_differ, resumable_stream or
    /// sealed_state. Absent if they are forwarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_canonical: Option<&'static str>,
    /// Parameters that the target's format cannot express.
    pub dropped: Vec<String>,
    /// The reason if it cannot serve this call.
    pub error: Option<Refusal>,
}

/// The state of one of the key's limits. An explanation takes nothing from it.
#[derive(Serialize, ToSchema)]
pub struct LimitView {
    /// requests_per_minute, requests_per_day, tokens_per_minute, tokens_per_day or max_parallel_requests
    pub scope: &'static str,
    pub limit: u64,
    pub remaining: u64,
    /// The time until more remains.
    pub reset_seconds: u64,
    /// Whether it would refuse the call.
    pub refuses: bool,
}

/// The outcome of the call.
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

/// The worst-case cost at the most expensive candidate.
#[derive(Serialize, ToSchema)]
pub struct EstimatedCost {
    pub currency: &'static str,
    pub input_tokens: u64,
    pub max_output_tokens: u64,
    /// Null if no candidate has a price.
    pub worst: Option<f64>,
}

/// The state of a budget, in US dollars. Figures of budgets above the path of the asking caller are null.
#[derive(Serialize, ToSchema)]
pub struct BudgetRoom {
    pub user_path: String,
    pub period_label: String,
    pub amount: Option<f64>,
    pub spent: Option<f64>,
    /// Held for calls in flight.
    pub reserved: Option<f64>,
    pub remaining: Option<f64>,
    pub period_end: String,
    /// Whether it has room for the worst-case cost of this call.
    pub fits: bool,
}

impl Explanation {
    pub(super) fn new(principal: PrincipalView) -> Self {
        Self {
            principal,
            request: None,
            resolution: None,
            workflow: None,
            guardrails: None,
            cache: None,
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
