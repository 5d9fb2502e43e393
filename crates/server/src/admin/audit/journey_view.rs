//! The journey of a call, as an entry of the audit log shows it: the decisions in their order.

use domain::money::Nanos;
use domain::principal::Principal;
use domain::receipt::{
    BudgetBalance, CallDecisions, GuardedSubject, GuardrailVerdict, LimitCount, RouteStep,
};
use domain::user_path::UserPath;
use serde::Serialize;
use store::AuditEntry;
use utoipa::ToSchema;

/// The decisions about a call, in the order in which they were made.
#[derive(Serialize, ToSchema)]
pub struct JourneyView {
    /// Null when the caller is unknown.
    pub caller: Option<JourneyCaller>,
    /// Null when the call was refused before its model was resolved.
    pub resolution: Option<JourneyResolution>,
    /// Null for the managed default.
    pub workflow: Option<JourneyWorkflow>,
    /// Null when no guardrail applied.
    pub guardrails: Option<JourneyGuardrails>,
    /// The rate limits of the key at the end of the call; empty without limits.
    pub limits: Vec<LimitCount>,
    /// Null when no budget applied.
    pub budget: Option<JourneyBudget>,
    pub cache: JourneyCache,
    pub reply: JourneyReply,
    /// The gateway's own time until the first byte.
    pub gateway_ms: f64,
    /// The rest of the time; 0 without an attempt.
    pub provider_ms: f64,
}

#[derive(Serialize, ToSchema)]
pub struct JourneyCaller {
    /// master_key, api_key, session or token
    pub auth_method: String,
    pub auth_key_id: Option<String>,
    /// The name of the key at the time of the call.
    pub name: Option<String>,
    /// The key as it is now, redacted; only in a single entry.
    pub redacted_value: Option<String>,
    pub user_path: String,
}

#[derive(Serialize, ToSchema)]
pub struct JourneyResolution {
    /// From the requested name to the targets. Steps inside a combo are left out.
    pub steps: Vec<RouteStep>,
    /// In the order to be tried, at most 8.
    pub targets: Vec<String>,
    pub target_count: u32,
}

#[derive(Serialize, ToSchema)]
pub struct JourneyWorkflow {
    /// The id of the version.
    pub id: String,
    pub name: String,
    pub version: u64,
}

#[derive(Serialize, ToSchema)]
pub struct JourneyGuardrails {
    /// The time of the inspection of the request; null if it was not inspected.
    pub request_ms: Option<f64>,
    /// Those on the request first.
    pub verdicts: Vec<GuardrailVerdict>,
}

/// Amounts in US dollars.
#[derive(Serialize, ToSchema)]
pub struct JourneyBudget {
    /// The most that the call could cost; null when its model has no price.
    pub reserved: Option<f64>,
    /// The cost of the call; null when it has none.
    pub settled: Option<f64>,
    /// Released amount; null if one of the two is not known.
    pub released: Option<f64>,
    /// After the reservation, the least remaining first.
    pub budgets: Vec<JourneyBalance>,
    /// The output limit that a budget lowered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_clamped: Option<LoweredLimit>,
}

#[derive(Serialize, ToSchema)]
pub struct JourneyBalance {
    pub user_path: String,
    pub period_label: String,
    /// Null for budgets above the reader's own path or tenant, and in the live stream.
    pub remaining: Option<f64>,
}

#[derive(Serialize, ToSchema)]
pub struct LoweredLimit {
    pub asked: u64,
    pub used: u64,
}

#[derive(Serialize, ToSchema)]
pub struct JourneyCache {
    /// off, bypass, miss, hit-exact or hit-semantic
    pub status: String,
    /// disabled, not_cacheable, bypass, not_found, expired, below_threshold, prompt_changed, too_long or embedder_failed;
    /// null for a hit, and when it is off.
    pub reason: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct JourneyReply {
    pub status_code: u16,
    pub stream: bool,
    /// As the provider wrote it.
    pub finish_reason: Option<String>,
    pub output_tokens: u64,
    pub total_cost: Option<f64>,
    pub ttft_ms: Option<f64>,
    pub duration_ms: f64,
    pub error_code: Option<String>,
}

/// The journey of an entry, as `reader` may see it; without a reader, the figures of budgets are hidden.
pub fn journey(
    entry: &AuditEntry,
    journey: CallDecisions,
    verdicts: &[GuardrailVerdict],
    reader: Option<&Principal>,
) -> JourneyView {
    let settled = entry.total_cost();
    let gateway_us = entry.overhead_us.min(entry.duration_us);
    let provider_us = if entry.attempts.is_empty() { 0 } else { entry.duration_us - gateway_us };
    JourneyView {
        caller: caller(entry, &journey),
        workflow: journey
            .workflow
            .zip(entry.workflow_version_id.clone())
            .map(|(version, id)| JourneyWorkflow { id, name: version.name, version: version.version }),
        guardrails: guardrails(journey.inspection_us, verdicts),
        limits: journey.limits,
        budget: journey.budget.map(|budget| JourneyBudget {
            reserved: budget.reserved.map(Nanos::usd),
            settled: settled.map(Nanos::usd),
            released: budget
                .reserved
                .zip(settled)
                .map(|(reserved, settled)| Nanos(reserved.0.saturating_sub(settled.0).max(0)).usd()),
            budgets: budget.budgets.into_iter().map(|balance| show_balance(balance, reader)).collect(),
            max_tokens_clamped: budget.clamped.map(|(asked, used)| LoweredLimit { asked, used }),
        }),
        cache: JourneyCache {
            status: filled(journey.cache).unwrap_or_else(|| "off".to_owned()),
            reason: journey.cache_reason,
        },
        reply: JourneyReply {
            status_code: entry.status,
            stream: entry.stream,
            finish_reason: journey.finish_reason,
            output_tokens: entry.usage.tokens.total_output(),
            total_cost: settled.map(Nanos::usd),
            ttft_ms: entry.first_byte_us.map(ms),
            duration_ms: ms(entry.duration_us),
            error_code: entry.error_code.clone(),
        },
        gateway_ms: ms(gateway_us),
        provider_ms: ms(provider_us),
        resolution: (journey.target_count > 0 || !journey.steps.is_empty()).then_some(JourneyResolution {
            steps: journey.steps,
            targets: journey.targets,
            target_count: journey.target_count,
        }),
    }
}

fn caller(entry: &AuditEntry, journey: &CallDecisions) -> Option<JourneyCaller> {
    Some(JourneyCaller {
        auth_method: filled(entry.auth_method.clone())?,
        auth_key_id: entry.auth_key_id.clone(),
        name: journey.key_name.clone(),
        redacted_value: None,
        user_path: entry.user_path.clone(),
    })
}

fn guardrails(inspection_us: Option<u64>, verdicts: &[GuardrailVerdict]) -> Option<JourneyGuardrails> {
    if inspection_us.is_none() && verdicts.is_empty() {
        return None;
    }
    let mut verdicts = verdicts.to_vec();
    verdicts.sort_by_key(|verdict| verdict.subject != GuardedSubject::Request);
    Some(JourneyGuardrails { request_ms: inspection_us.map(ms), verdicts })
}

fn show_balance(balance: BudgetBalance, reader: Option<&Principal>) -> JourneyBalance {
    let is_visible = |reader: &Principal| {
        let covers = |own: &UserPath| UserPath::parse(&balance.user_path).is_ok_and(|path| own.covers(&path));
        reader.own_path().is_none_or(covers) && reader.sees_tenant(balance.tenant.as_deref())
    };
    JourneyBalance {
        remaining: reader.is_some_and(is_visible).then(|| balance.remaining.usd()),
        user_path: balance.user_path,
        period_label: balance.period,
    }
}

/// The text, unless it is empty.
pub fn filled(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Milliseconds of microseconds.
pub fn ms(micros: u64) -> f64 {
    micros as f64 / 1000.0
}
