//! The receipt: one per call, whatever happened to it. The journal carries it, the ledger books it.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::money::{Cost, Nanos};
use crate::usage::Usage;

/// An opening as it is written, borrowed from the receipt it belongs to.
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

/// Written when a call is about to leave for a provider: after a crash it is what remains of the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The receipt's id: a UUIDv7 in text.
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
    /// The agent run that the call belongs to (`X-Run-Id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(default)]
    pub stream: bool,
    /// What the call is charged if nothing more is ever heard of it.
    #[serde(default)]
    pub reserved: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_cost: Option<Cost>,
    /// Usage is not recorded: the call is only for the audit log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unbooked: bool,
    /// The audit log wants an entry of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audited: bool,
    /// The id of the background response that the call started: its provider is asked for the end of it, also by the
    /// process that takes the journal over.
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

/// The caveat of a call that has no cost because its model has no price.
pub const UNPRICED: &str = "unpriced";
/// The caveat of a call that several targets served, each at its own price.
pub const RESUMED: &str = "resumed";
/// Another provider had begun to answer the same call.
pub const LOST: &str = "an answer was lost";

/// One try at one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attempt {
    pub provider_name: String,
    pub model: String,
    /// The upstream's status; 0 when none was received.
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub duration_us: u64,
}

/// The whole account of one call.
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
    /// The model that served, as its provider names it; empty when none did.
    pub model: String,
    /// The provider's type.
    pub provider: String,
    /// The provider's instance.
    pub provider_name: String,
    /// The upstream's own id for its answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider_id: String,
    pub user_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_key_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The agent run that the call belongs to (`X-Run-Id`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// `master_key`, `api_key`; empty when the caller was never known.
    pub auth_method: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_ip: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_agent: String,
    /// `exact`, `semantic` or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cache_type: String,
    pub stream: bool,
    /// What the client was answered; 499 when it went away.
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
    /// How often another target, or the same again, went on with a stream that had broken off.
    #[serde(skip_serializing_if = "is_zero")]
    pub resumed: u32,
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    pub cost_source: CostSource,
    /// The upstream's usage object, as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_usage: Option<Box<serde_json::value::RawValue>>,
    /// The process ended before the call did; booked at what was reserved.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Which price the cost was made with, when it is not the catalogue's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pricing_version: Option<String>,
    /// The requested name was an alias.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alias_used: bool,
    /// The id the client knows its response by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The response it goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// Usage is not recorded: the receipt is for the audit log alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unbooked: bool,
    /// What only the audit log keeps; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Box<Audited>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

/// What was said, as far as it is kept: redacted and cut to size before it gets here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Audited {
    /// As the client wrote it, without its query; empty when the route says it all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// What the client is not told about its refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Stands for everything said in the request; the next turn of the conversation names it as its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Stands for everything said before the last turn of the model.
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
    /// The body is not text: what could not be read is replaced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_lossy: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub response_lossy: bool,
}

impl Audited {
    /// The same without what takes room; what is missing is marked.
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

/// W3C trace context, when the caller sent one or traces are exported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceContext {
    pub trace_id: String,
    pub span_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// The flags of `traceparent`; the lowest bit is "sampled". Only of use while the call runs.
    #[serde(skip)]
    pub flags: u8,
    /// The caller's `tracestate`.
    #[serde(skip)]
    pub state: Option<String>,
}

impl Receipt {
    /// Only calls of a known caller are booked as usage, where usage is recorded; the rest is for the audit and the metrics.
    pub fn is_booked(&self) -> bool {
        !self.unbooked && !self.auth_method.is_empty()
    }

    /// Whether the gateway refused the call itself: it never left for a provider.
    pub fn is_refused(&self) -> bool {
        self.status >= 400 && self.attempts.is_empty() && self.provider_name.is_empty()
    }

    /// What is noted when the call leaves for its target.
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

    /// Says of a call that consumed something and has no cost that it is so for want of a price.
    pub fn flag_unpriced(&mut self) {
        if self.cost.is_none() && self.usage.tokens.total() > 0 {
            let caveat = &mut self.usage.caveat;
            *caveat = Some(match caveat.take() {
                Some(said) => format!("{said}; {UNPRICED}"),
                None => UNPRICED.to_owned(),
            });
        }
    }

    /// What an opening without a close becomes: charged at its reservation and marked.
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
            error_type: Some("internal_error".into()),
            error_code: Some("interrupted".into()),
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
