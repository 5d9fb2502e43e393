//! The receipt: the record of one call, written for every call. It passes through the journal and is booked in the
//! ledger.

use serde::{Deserialize, Serialize};

use crate::caveat::Caveat;
use crate::clock::Timestamp;
use crate::fault::{FaultCode, FaultKind};
use crate::money::{Cost, Nanos};
use crate::usage::Usage;

/// An opening record as written to the journal, borrowed from its receipt.
#[derive(Clone, Copy, Debug)]
pub struct OpeningRef<'a> {
    pub id: &'a str,
    pub request_id: &'a str,
    pub at: Timestamp,
    pub endpoint: &'a str,
    pub requested_model: &'a str,
    pub model: &'a str,
    pub provider: &'a str,
    pub provider_name: &'a str,
    pub user_path: &'a str,
    pub auth_key_id: Option<&'a str>,
    pub tenant_id: Option<&'a str>,
    pub run_id: Option<&'a str>,
    pub stream: bool,
    pub reserved: &'a Usage,
    pub reserved_cost: Option<Cost>,
    pub unbooked: bool,
    pub audited: bool,
    pub follow: Option<&'a str>,
}

/// The record written before a call is sent to a provider; after a crash, the only trace of the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The receipt id: a UUIDv7 as text.
    pub id: String,
    pub request_id: String,
    pub at: Timestamp,
    pub endpoint: String,
    pub requested_model: String,
    pub model: String,
    pub provider: String,
    pub provider_name: String,
    pub user_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_key_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// The agent run of the call (`X-Run-Id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(default)]
    pub stream: bool,
    /// The usage charged if the call is never completed.
    #[serde(default)]
    pub reserved: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_cost: Option<Cost>,
    /// True if usage is not recorded: the call is only for the audit log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unbooked: bool,
    /// True if the call gets an entry in the audit log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audited: bool,
    /// The id of the background response that the call started. The provider is polled for its result, also by a
    /// process that takes over the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<String>,
}

impl Opening {
    pub fn as_ref(&self) -> OpeningRef<'_> {
        OpeningRef {
            id: &self.id,
            request_id: &self.request_id,
            at: self.at,
            endpoint: &self.endpoint,
            requested_model: &self.requested_model,
            model: &self.model,
            provider: &self.provider,
            provider_name: &self.provider_name,
            user_path: &self.user_path,
            auth_key_id: self.auth_key_id.as_deref(),
            tenant_id: self.tenant_id.as_deref(),
            run_id: self.run_id.as_deref(),
            stream: self.stream,
            reserved: &self.reserved,
            reserved_cost: self.reserved_cost,
            unbooked: self.unbooked,
            audited: self.audited,
            follow: self.follow.as_deref(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    ModelPricing,
    ProviderReported,
    #[default]
    None,
}

impl CostSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelPricing => "model_pricing",
            Self::ProviderReported => "provider_reported",
            Self::None => "none",
        }
    }
}

/// One attempt at one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attempt {
    pub provider_name: String,
    pub model: String,
    /// The upstream's status; 0 when none was received.
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<FaultCode>,
    pub duration_us: u64,
}

/// The complete record of one call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    pub id: String,
    pub request_id: String,
    pub at: Timestamp,
    pub method: String,
    /// The route, e.g. `/v1/chat/completions`.
    pub endpoint: String,
    pub requested_model: String,
    /// The model that served the call, as its provider names it; empty when none did.
    pub model: String,
    /// The provider type.
    pub provider: String,
    /// The provider instance.
    pub provider_name: String,
    /// The provider's id of the response.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider_id: String,
    pub user_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_key_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The agent run of the call (`X-Run-Id`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// `master_key` or `api_key`; empty when the caller was not authenticated.
    pub auth_method: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_ip: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_agent: String,
    /// `exact`, `semantic` or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cache_type: String,
    pub stream: bool,
    /// The status sent to the client; 499 when it disconnected.
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    pub duration_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_us: Option<u64>,
    /// Time the gateway itself spent before the first byte.
    pub overhead_us: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// Number of times an interrupted stream was resumed, on another target or on the same one.
    #[serde(skip_serializing_if = "is_zero")]
    pub resumed: u32,
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    pub cost_source: CostSource,
    /// The provider's usage object, unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_usage: Option<Box<serde_json::value::RawValue>>,
    /// True if the process ended before the call did; the call is booked at its reservation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The version of the price used for the cost, unless it is the catalogue price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pricing_version: Option<String>,
    /// True if the requested name was an alias.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alias_used: bool,
    /// The response id sent to the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The id of the response that this one continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// True if usage is not recorded: the receipt is for the audit log only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unbooked: bool,
    /// Data for the audit log only; absent when the call is not audited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Box<Audited>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

/// Audit data of a call: headers and bodies, already redacted and truncated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Audited {
    /// The path as the client sent it, without the query; empty when it equals the route.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// The internal reason of a rejection, which is not disclosed to the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Hash of the conversation in the request, without instructions and thinking; the next turn has it as its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Hash of the conversation before the last turn of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_truncated: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub response_truncated: bool,
    /// True if the body is not valid UTF-8: invalid sequences were replaced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_lossy: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub response_lossy: bool,
}

impl Audited {
    /// A copy without headers and bodies; those that were present are marked as truncated.
    pub fn without_bodies(&self) -> Self {
        Self {
            path: self.path.clone(),
            query: self.query.clone(),
            reason: self.reason.clone(),
            thread: self.thread.clone(),
            parent: self.parent.clone(),
            request_headers: Vec::new(),
            response_headers: Vec::new(),
            request_body: None,
            response_body: None,
            request_truncated: self.request_truncated
                || self.request_body.is_some()
                || !self.request_headers.is_empty(),
            response_truncated: self.response_truncated
                || self.response_body.is_some()
                || !self.response_headers.is_empty(),
            request_lossy: self.request_lossy,
            response_lossy: self.response_lossy,
        }
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// W3C trace context, present when the caller sent one or traces are exported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceContext {
    pub trace_id: String,
    pub span_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// The flags of `traceparent`; the lowest bit is "sampled". Not stored.
    #[serde(skip)]
    pub flags: u8,
    /// The `tracestate` sent by the caller.
    #[serde(skip)]
    pub state: Option<String>,
}

impl Receipt {
    /// True if the call is booked as usage: only calls of an authenticated caller are, and only where usage is
    /// recorded. All others are for the audit log and the metrics.
    pub fn is_booked(&self) -> bool {
        !self.unbooked && !self.auth_method.is_empty()
    }

    /// True if the gateway itself rejected the call, so that it was never sent to a provider.
    pub fn is_refused(&self) -> bool {
        self.status >= 400 && self.attempts.is_empty() && self.provider_name.is_empty()
    }

    /// The opening record, written before the call is sent to its target.
    pub fn opening<'a>(&'a self, reserved: &'a Usage, reserved_cost: Option<Cost>) -> OpeningRef<'a> {
        OpeningRef {
            id: &self.id,
            request_id: &self.request_id,
            at: self.at,
            endpoint: &self.endpoint,
            requested_model: &self.requested_model,
            model: &self.model,
            provider: &self.provider,
            provider_name: &self.provider_name,
            user_path: &self.user_path,
            auth_key_id: self.auth_key_id.as_deref(),
            tenant_id: self.tenant_id.as_deref(),
            run_id: self.run_id.as_deref(),
            stream: self.stream,
            reserved,
            reserved_cost,
            unbooked: self.unbooked,
            audited: self.audit.is_some(),
            follow: None,
        }
    }

    pub fn total_cost(&self) -> Option<Nanos> {
        self.cost.map(Cost::total)
    }

    /// Adds a caveat to a call that consumed tokens and has no cost.
    pub fn flag_unpriced(&mut self) {
        if self.cost.is_none() && self.usage.tokens.total() > 0 {
            Caveat::Unpriced.add_to(&mut self.usage.caveat);
        }
    }

    /// The receipt of an opening without a close: charged at its reservation and marked as interrupted.
    pub fn interrupted(opening: Opening) -> Self {
        let mut receipt = Self {
            id: opening.id,
            request_id: opening.request_id,
            at: opening.at,
            method: "POST".into(),
            endpoint: opening.endpoint,
            requested_model: opening.requested_model,
            model: opening.model,
            provider: opening.provider,
            provider_name: opening.provider_name,
            user_path: opening.user_path,
            auth_method: if opening.auth_key_id.is_some() { "api_key" } else { "master_key" }.into(),
            auth_key_id: opening.auth_key_id,
            tenant_id: opening.tenant_id,
            run_id: opening.run_id,
            stream: opening.stream,
            status: 500,
            error_type: Some(FaultKind::Internal.as_str().into()),
            error_code: Some(FaultCode::Interrupted.to_string()),
            usage: Usage { estimated: true, ..opening.reserved },
            cost: opening.reserved_cost,
            cost_source: if opening.reserved_cost.is_some() {
                CostSource::ModelPricing
            } else {
                CostSource::None
            },
            interrupted: true,
            unbooked: opening.unbooked,
            audit: opening.audited.then(Box::default),
            ..Self::default()
        };
        receipt.flag_unpriced();
        receipt
    }
}
