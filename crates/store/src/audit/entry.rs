//! Audit log entries, built from receipts.

use domain::clock::Timestamp;
use domain::receipt::{Attempt, Audited, CostSource, Receipt};
use domain::usage::Tokens;
use serde::{Deserialize, Serialize};

use crate::journal_record::Recorded;

#[derive(Clone, Debug, Default)]
pub struct AuditEntry {
    pub at: Timestamp,
    pub id: String,
    pub request_id: String,
    pub method: String,
    /// The path as the client sent it, without the query.
    pub path: String,
    /// The route.
    pub endpoint: String,
    pub requested_model: String,
    /// The model that served the call; empty when none did.
    pub model: String,
    /// The provider type.
    pub provider: String,
    /// The provider instance.
    pub provider_name: String,
    pub user_path: String,
    pub auth_key_id: Option<String>,
    pub tenant_id: Option<String>,
    pub session_id: Option<String>,
    pub response_id: Option<String>,
    pub previous_response_id: Option<String>,
    pub thread: Option<String>,
    pub parent: Option<String>,
    pub cache_type: String,
    pub status: u16,
    pub stream: bool,
    pub error_type: Option<String>,
    pub error_code: Option<String>,
    pub error_message: Option<String>,
    pub duration_us: i64,
    pub first_byte_us: Option<i64>,
    pub overhead_us: i64,
    pub data: AuditData,
    pub request_body: Option<String>,
    pub response_body: Option<String>,
}

/// Fields that cannot be filtered by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditData {
    pub auth_method: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_ip: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_agent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// The internal reason of a rejection, which was not disclosed to the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alias_used: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    pub tokens: Tokens,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// In nano-dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_cost: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_cost: Option<i64>,
    pub cost_source: CostSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_truncated: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub response_truncated: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_lossy: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub response_lossy: bool,
}

impl AuditEntry {
    /// Builds an entry; `None` if the receipt is not for the audit log.
    pub fn of(receipt: &Receipt) -> Option<Self> {
        let audited = receipt.audit.as_deref()?;
        Some(Self {
            request_body: audited.request_body.clone(),
            response_body: audited.response_body.clone(),
            ..Self::outline(receipt)?
        })
    }

    /// Builds an entry without bodies.
    pub fn outline(receipt: &Receipt) -> Option<Self> {
        let audited = receipt.audit.as_deref()?;
        Some(Self {
            at: receipt.at,
            id: receipt.id.clone(),
            request_id: receipt.request_id.clone(),
            method: receipt.method.clone(),
            path: if audited.path.is_empty() { receipt.endpoint.clone() } else { audited.path.clone() },
            endpoint: receipt.endpoint.clone(),
            requested_model: receipt.requested_model.clone(),
            model: receipt.model.clone(),
            provider: receipt.provider.clone(),
            provider_name: receipt.provider_name.clone(),
            user_path: receipt.user_path.clone(),
            auth_key_id: receipt.auth_key_id.clone(),
            tenant_id: receipt.tenant_id.clone(),
            session_id: receipt.session_id.clone(),
            response_id: receipt.response_id.clone(),
            previous_response_id: receipt.previous_response_id.clone(),
            thread: audited.thread.clone(),
            parent: audited.parent.clone(),
            cache_type: receipt.cache_type.clone(),
            status: receipt.status,
            stream: receipt.stream,
            error_type: receipt.error_type.clone(),
            error_code: receipt.error_code.clone(),
            error_message: receipt.error_message.clone(),
            duration_us: micros(receipt.duration_us),
            first_byte_us: receipt.first_byte_us.map(micros),
            overhead_us: micros(receipt.overhead_us),
            data: AuditData::of(receipt, audited),
            request_body: None,
            response_body: None,
        })
    }

    /// Reads the entry from a journal record, if it has one.
    pub(crate) fn read(text: &str) -> Result<Option<Self>, serde_json::Error> {
        Ok(Recorded::read_audited(text)?.as_ref().and_then(Self::of))
    }
}

impl AuditData {
    fn of(receipt: &Receipt, audited: &Audited) -> Self {
        Self {
            auth_method: receipt.auth_method.clone(),
            client_ip: receipt.client_ip.clone(),
            user_agent: receipt.user_agent.clone(),
            provider_id: receipt.provider_id.clone(),
            query: audited.query.clone(),
            reason: audited.reason.clone(),
            alias_used: receipt.alias_used,
            interrupted: receipt.interrupted,
            attempts: receipt.attempts.clone(),
            tokens: receipt.usage.tokens,
            estimated: receipt.usage.estimated,
            input_cost: receipt.cost.map(|cost| cost.input.0),
            output_cost: receipt.cost.map(|cost| cost.output.0),
            cost_source: receipt.cost_source,
            trace_id: receipt.trace.as_ref().map(|trace| trace.trace_id.clone()),
            request_headers: audited.request_headers.clone(),
            response_headers: audited.response_headers.clone(),
            request_truncated: audited.request_truncated,
            response_truncated: audited.response_truncated,
            request_lossy: audited.request_lossy,
            response_lossy: audited.response_lossy,
        }
    }
}

fn micros(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
