//! Converts the decisions about a call into the views of an explanation. Credentials are masked here.

use std::sync::Arc;
use std::time::Duration;

use domain::fault::Fault;
use domain::money::{Cost, Nanos};
use domain::principal::Principal;
use domain::receipt::GuardrailVerdict;
use domain::scope::Scope;
use domain::user_path::UserPath;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::value::RawValue;
use wire::vendors::Vendor;

use super::view::{
    BudgetRoom, Candidate, Clamped, Decision, EstimatedCost, ExplainedCache, ExplainedGuardrails,
    ExplainedSemanticCache, ExplainedWorkflow, LimitView, PrincipalView, Refusal, RequestView,
    UpstreamRequest,
};
use crate::accounting::reservation::Reservation;
use crate::budgets::{Clamp, Headroom};
use crate::cache::CachePreview;
use crate::call::arrival::Arrival;
use crate::call::cache_use::{MissReason, SemanticDetails, ShadowReason};
use crate::call::context::CallContext;
use crate::call::receive::Call;
use crate::dispatch::{Dialect, DryRun, RequestPreview, TargetOutlook};
use crate::guardrails::CallGuardrails;
use crate::rate_limit::{self, LimitStatus};
use crate::routing::choose::{Candidate as _, Ranked, SelectionContext};
use crate::routing::health::Availability;
use crate::routing::resolve::Plan;
use crate::routing::routes::Deployment;
use crate::services::webhooks;

/// Most bytes shown of a body.
const BODY_LIMIT: usize = 64 * 1024;
const MASK: &str = "***";
/// Headers that the gateway sets itself. All others are the operator's, and may hold a credential.
const PLAIN: [HeaderName; 6] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::CONTENT_TYPE,
    header::USER_AGENT,
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("openai-beta"),
];

/// The workflow that applies to a call.
pub fn workflow(context: &CallContext) -> Option<ExplainedWorkflow> {
    let workflow = context.workflow()?;
    let effective_features = context.gateway().features().restricted_by(context.policy().features);
    let version = workflow.version.as_ref();
    Some(ExplainedWorkflow {
        id: workflow.id.clone(),
        name: version.map(|version| version.name.clone()),
        version: version.map(|version| version.version),
        effective_features,
    })
}

/// The verdict of the response cache.
pub fn cache(preview: CachePreview) -> ExplainedCache {
    ExplainedCache {
        status: preview.status.as_str(),
        miss_reason: preview.miss_reason.map(MissReason::as_str),
        layers: preview.layers.as_str(),
        key: preview.key,
        ttl_seconds: preview.ttl.as_secs(),
        semantic: preview.semantic.map(semantic_cache),
        guardrails_hash: preview.guardrails_hash,
    }
}

fn semantic_cache(details: SemanticDetails) -> ExplainedSemanticCache {
    let SemanticDetails { key, params_hash, ttl_seconds, threshold, prompt_similarity, .. } = details;
    ExplainedSemanticCache {
        key,
        params_hash,
        ttl_seconds,
        threshold,
        prompt_similarity,
        score: details.score,
        word_overlap: details.word_overlap,
        shadow: details.shadow.map(ShadowReason::as_str),
    }
}

/// The guardrails that apply to a call, with their verdicts on the request.
pub fn guardrails(guardrails: &CallGuardrails, verdicts: Vec<GuardrailVerdict>) -> ExplainedGuardrails {
    ExplainedGuardrails {
        request: verdicts,
        answer: guardrails.names_on_answers(),
        record: guardrails.names_on_records(),
    }
}

pub fn principal(principal: &Principal) -> PrincipalView {
    let key = principal.key();
    PrincipalView {
        auth_method: principal.auth_method(),
        auth_key_id: key.map(|key| key.id.to_string()),
        name: key.map(|key| key.name.to_string()),
        user_path: principal.own_path().map_or("/", UserPath::as_str).to_owned(),
        scopes: principal.scopes().iter().map(Scope::to_string).collect(),
        provider_pool: key.and_then(|key| key.provider_pool.as_deref().map(str::to_owned)),
        active: true,
        reason: None,
    }
}

pub fn request(call: &Call, arrival: &Arrival, selection: &SelectionContext) -> RequestView {
    let request = &call.request;
    RequestView {
        request_id: arrival.request_id.as_str().to_owned(),
        path: arrival.endpoint.to_owned(),
        surface: call.surface.name(),
        model: request.model.clone(),
        provider: request.provider_hint.clone(),
        stream: call.stream,
        input_tokens_estimate: selection.input_tokens,
        max_output: request.max_output,
    }
}

pub fn refusal(fault: &Fault) -> Refusal {
    Refusal {
        status: fault.status,
        kind: fault.kind.as_str(),
        code: fault.code.to_string(),
        message: fault.message.clone(),
        param: fault.param.clone(),
        retry_after_ms: fault.retry_after.map(millis),
    }
}

pub fn budget(room: &Headroom, with_figures: bool) -> BudgetRoom {
    let Headroom { status, fits } = room;
    let figure = |amount: Nanos| with_figures.then(|| amount.usd());
    BudgetRoom {
        user_path: status.rule.key.user_path.as_str().to_owned(),
        period_label: status.rule.key.period.label(),
        amount: figure(status.rule.amount),
        spent: figure(status.spent),
        reserved: figure(status.reserved),
        remaining: figure(status.remaining()),
        period_end: webhooks::time(status.period_end),
        fits: *fits,
    }
}

pub fn clamp(clamp: &Clamp) -> Clamped {
    Clamped { asked: clamp.asked, used: clamp.used }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
}

pub fn candidate(
    place: usize,
    ranked: &Ranked<Arc<Deployment>>,
    outlook: &TargetOutlook,
    selection: &SelectionContext,
) -> Candidate {
    let deployment = &ranked.choice;
    let target = &deployment.target;
    let (availability, until) = match outlook.availability {
        Availability::Ready => ("ready", None),
        Availability::Probe => ("probe", None),
        Availability::Cooling { until, .. } => ("cooling", Some(until)),
        Availability::Open { until } => ("open", Some(until)),
    };
    let cost = deployment.cost(selection.input_tokens, selection.output_tokens);
    Candidate {
        position: place + 1,
        provider_name: target.instance.to_string(),
        provider: target.provider_type.to_string(),
        model: target.model.to_string(),
        selector: target.selector(),
        score: ranked.score.filter(|score| score.is_finite()),
        reason: ranked.reason.to_string(),
        availability,
        retry_in_ms: until.map(|until| millis(until.saturating_sub(selection.now))),
        price_known: deployment.price().is_some(),
        credential: deployment.client_credential.as_ref().map(|_| "client"),
        estimated_cost: cost.map(|nanos| Nanos(nanos).usd()),
        dialect: outlook.dialect.map(|dialect| match dialect {
            Dialect::Native => "native".to_owned(),
            Dialect::Translated(format, _) => format!("translated:{}", format.name()),
        }),
        why_canonical: outlook.dialect.and_then(|dialect| match dialect {
            Dialect::Native => None,
            Dialect::Translated(_, why) => Some(why.name()),
        }),
        dropped: outlook.dropped.names().to_vec(),
        error: outlook.fault.as_ref().map(refusal),
    }
}

pub fn decision(plan: &Plan, dry_run: &DryRun) -> Decision {
    let selector = |place: &usize| plan.deployments[*place].target.selector();
    Decision {
        first: dry_run.would_try.first().map(selector),
        would_try: dry_run.would_try.iter().map(selector).collect(),
        error: dry_run.fault.as_ref().map(refusal),
    }
}

pub fn upstream_request(preview: RequestPreview, plan: &Plan) -> UpstreamRequest {
    let deployment = &plan.deployments[preview.place];
    let (body, body_truncated) = body(&preview.body);
    UpstreamRequest {
        provider_name: deployment.target.instance.to_string(),
        method: preview.method.to_string(),
        url: preview.url,
        headers: headers(&preview.headers, deployment.instance.vendor),
        body,
        body_truncated,
    }
}

fn headers(headers: &HeaderMap, vendor: &Vendor) -> std::collections::BTreeMap<String, String> {
    let fixed = |name: &HeaderName, value: &HeaderValue| {
        vendor.headers.iter().any(|(known, fixed_value)| name == known && value == fixed_value)
    };
    let show = |(name, value): (&HeaderName, &HeaderValue)| {
        let plain = !value.is_sensitive() && (PLAIN.contains(name) || fixed(name, value));
        let value = value.to_str().ok().filter(|_| plain).unwrap_or(MASK);
        (name.to_string(), value.to_owned())
    };
    headers.iter().map(show).collect()
}

/// The body as JSON, or its beginning as a string if it is too long or not JSON; and whether it was truncated.
fn body(bytes: &[u8]) -> (Box<RawValue>, bool) {
    let whole = (bytes.len() <= BODY_LIMIT)
        .then(|| std::str::from_utf8(bytes).ok())
        .flatten()
        .and_then(|text| RawValue::from_string(text.to_owned()).ok());
    match whole {
        Some(whole) => (whole, false),
        None => {
            let start = String::from_utf8_lossy(&bytes[..bytes.len().min(BODY_LIMIT)]);
            (serde_json::value::to_raw_value(&*start).unwrap_or_default(), bytes.len() > BODY_LIMIT)
        }
    }
}

pub fn limit(status: &LimitStatus) -> LimitView {
    LimitView {
        scope: status.bound.name(),
        limit: status.limit,
        remaining: status.remaining,
        reset_seconds: rate_limit::seconds(status.reset),
        refuses: status.wait.is_some(),
    }
}

pub fn cost(reservation: &Reservation) -> EstimatedCost {
    EstimatedCost {
        currency: "USD",
        input_tokens: reservation.usage.tokens.input,
        max_output_tokens: reservation.usage.tokens.output,
        worst: reservation.cost.map(|cost: Cost| cost.total().usd()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn possible_credentials_are_masked() {
        let vendor = wire::vendors::list().iter().find(|vendor| !vendor.headers.is_empty()).unwrap();
        let (fixed, fixed_value) = vendor.headers[0];
        let mut secret = HeaderValue::from_static("Bearer sk-1");
        secret.set_sensitive(true);
        let map = HeaderMap::from_iter([
            (header::AUTHORIZATION, secret),
            (HeaderName::from_static("x-tenant-token"), HeaderValue::from_static("t0k3n")),
            (HeaderName::from_static(fixed), HeaderValue::from_static(fixed_value)),
            (header::ACCEPT, HeaderValue::from_static("application/json")),
        ]);
        let shown = headers(&map, vendor);
        assert_eq!((&*shown["authorization"], &*shown["x-tenant-token"]), (MASK, MASK));
        assert_eq!((&*shown[fixed], &*shown["accept"]), (fixed_value, "application/json"));
        let own = HeaderMap::from_iter([(HeaderName::from_static(fixed), HeaderValue::from_static("sk-2"))]);
        assert_eq!(&*headers(&own, vendor)[fixed], MASK);
    }

    #[test]
    fn a_long_body_is_cut() {
        let (whole, cut) = body(br#"{"a": [1,2]}"#);
        assert_eq!((whole.get(), cut), (r#"{"a": [1,2]}"#, false));
        let long = format!("{{\"a\":\"{}\"}}", "é".repeat(BODY_LIMIT));
        let (start, cut) = body(long.as_bytes());
        let start: String = serde_json::from_str(start.get()).unwrap();
        assert!(cut && start.starts_with("{\"a\":\"é") && start.len() <= BODY_LIMIT + 3);
        let (odd, cut) = body(b"not json");
        assert_eq!((odd.get(), cut), ("\"not json\"", false));
    }
}
