//! The receipt: the record of one call, written for every call. It passes through the journal and is booked in the
//! ledger.

mod call_decisions;
mod fields;
mod guardrail_verdict;
mod opening;

use serde::{Deserialize, Serialize};

use crate::caveat::Caveat;
use crate::fault::FaultCode;
use crate::money::{Cost, Nanos};
use crate::receipt_fields;

pub use call_decisions::{
    AttemptTiming, BudgetBalance, BudgetReservation, CallDecisions, LimitCount, MOST_TARGETS, RouteStep,
    WorkflowVersion,
};
pub use guardrail_verdict::{GuardedSubject, GuardrailVerdict, Verdict};
pub use opening::{Opening, OpeningField, OpeningRef};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    ModelPricing,
    ProviderReported,
    /// The client paid for the call itself, by its own credential.
    Client,
    #[default]
    None,
}

impl CostSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelPricing => "model_pricing",
            Self::ProviderReported => "provider_reported",
            Self::Client => "client",
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

macro_rules! define_receipt {
    ($($(#[$attribute:meta])* $name:ident: $type:ty,)*) => {
        /// The complete record of one call.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Receipt {
            $($(#[$attribute])* pub $name: $type,)*
            /// Data for the audit log only; absent when the call is not audited.
            pub audit: Option<Box<Audited>>,
        }

        impl Receipt {
            /// A copy with other audit data.
            fn with_audit(&self, audit: Option<Box<Audited>>) -> Self {
                Self { $($name: Clone::clone(&self.$name),)* audit }
            }
        }
    };
}
receipt_fields!(all => define_receipt);

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
    /// The verdicts of guardrails, those that allow included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<GuardrailVerdict>,
    /// The decisions about the call; absent for callers without a valid key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journey: Option<Box<CallDecisions>>,
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
        let had_request = self.request_body.is_some() || !self.request_headers.is_empty();
        let had_response = self.response_body.is_some() || !self.response_headers.is_empty();
        Self {
            request_truncated: self.request_truncated || had_request,
            response_truncated: self.response_truncated || had_response,
            ..self.outline()
        }
    }

    /// A copy without headers and bodies.
    fn outline(&self) -> Self {
        Self {
            path: self.path.clone(),
            query: self.query.clone(),
            reason: self.reason.clone(),
            thread: self.thread.clone(),
            parent: self.parent.clone(),
            guardrails: self.guardrails.clone(),
            journey: self.journey.clone(),
            request_truncated: self.request_truncated,
            response_truncated: self.response_truncated,
            request_lossy: self.request_lossy,
            response_lossy: self.response_lossy,
            ..Self::default()
        }
    }
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

    /// True if the answer came from the response cache, so that the call cost nothing.
    pub fn is_from_cache(&self) -> bool {
        !self.cache_type.is_empty()
    }

    /// True if the gateway itself rejected the call, so that it was never sent to a provider.
    pub fn is_refused(&self) -> bool {
        self.status >= 400 && self.attempts.is_empty() && self.provider_name.is_empty()
    }

    /// The path as the client sent it, without the query, as far as it is known; else the route.
    pub fn path(&self) -> &str {
        let sent = self.audit.as_deref().map(|audited| &*audited.path);
        sent.filter(|path| !path.is_empty()).unwrap_or(&self.endpoint)
    }

    /// A copy without headers and bodies for the live audit log; `None` if the call is not audited.
    pub fn audit_outline(&self) -> Option<Self> {
        let audited = self.audit.as_deref()?;
        Some(self.with_audit(Some(Box::new(audited.outline()))))
    }

    pub fn total_cost(&self) -> Option<Nanos> {
        self.cost.map(Cost::total)
    }

    /// Adds a caveat to a call that consumed tokens and has no cost. An answer from the cache needs no price.
    pub fn flag_unpriced(&mut self) {
        if self.cost.is_none() && !self.is_from_cache() && self.usage.tokens.total() > 0 {
            Caveat::Unpriced.add_to(&mut self.usage.caveat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::{Tokens, Usage};

    #[test]
    fn answers_of_providers_without_a_cost_are_flagged() {
        let caveat = |cache_type: &str, input: u64, cost: Option<Cost>| {
            let usage = Usage { tokens: Tokens { input, ..Tokens::default() }, ..Usage::default() };
            let mut receipt = Receipt { cache_type: cache_type.into(), usage, cost, ..Receipt::default() };
            receipt.flag_unpriced();
            receipt.usage.caveat
        };
        assert_eq!(caveat("", 1, None).as_deref(), Some(Caveat::Unpriced.as_str()));
        assert_eq!(caveat("", 0, None), None);
        assert_eq!(caveat("", 1, Some(Cost::default())), None);
        assert_eq!(caveat("exact", 1, None), None);
    }
}
