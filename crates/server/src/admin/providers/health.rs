//! Health of provider instances, from their configuration, circuit breakers and model discovery.

use std::time::Duration;

use domain::clock::Timestamp;
use pipeline::routing::inventory::Listing;
use pipeline::routing::routes::Instance;
use serde::Serialize;
use utoipa::ToSchema;

use crate::App;
use crate::admin::record;
use crate::dependencies::providers::{obstacle, was_used};
use pipeline::routing::health::{BreakerState, HealthView};

/// Error rate above which an instance is degraded.
const TOLERATED: f64 = 0.1;

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ProviderHealth {
    /// ok, degraded, down, disabled, incomplete or unknown
    pub state: &'static str,
    /// The worst state of its models: closed, half_open or open
    pub breaker: &'static str,
    /// The mean over its models, 0 to 1
    pub error_rate: f64,
    /// The mean over its models of the average time to the first byte
    pub latency_ewma_ms: Option<f64>,
    /// Null for a tenant that does not own the instance
    pub in_flight: Option<u32>,
    pub last_error: Option<String>,
    /// The last answer of one of its models in this process; null for a tenant that does not own the instance
    pub last_success_at: Option<String>,
    pub last_discovery_at: Option<String>,
    pub model_count: usize,
}

/// Health of a model that calls have used.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ModelHealth {
    pub model: String,
    /// closed, half_open or open
    pub breaker: &'static str,
    /// Time until a probe is allowed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_for_ms: Option<u64>,
    /// Time until the cooldown ends
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooling_for_ms: Option<u64>,
    pub error_rate: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ewma_ms: Option<f64>,
    /// Null for a tenant that does not own the instance
    pub in_flight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// Whether a tenant, or a caller without one, is shown how much an instance is used. The figures of an inherited one are
/// those of all tenants.
pub fn shows_use(instance: &Instance, tenant: Option<&str>) -> bool {
    tenant.is_none() || instance.tenant.as_deref() == tenant
}

/// The health of an instance, and of its models that calls have used, as a tenant sees them.
pub fn of(app: &App, instance: &Instance, tenant: Option<&str>) -> (ProviderHealth, Vec<ModelHealth>) {
    let shows_use = shows_use(instance, tenant);
    let now = app.gateway.clock.tick();
    let seen = instance.health().into_iter().map(|(model, health)| (model, health.view(now)));
    let lived: Vec<(String, HealthView)> = seen.filter(|(_, seen)| was_used(seen)).collect();
    let listing = app.refresher.inventory.listing(instance).unwrap_or_default();
    let views: Vec<&HealthView> = lived.iter().map(|(_, seen)| seen).collect();
    let (state, reason) = match obstacle(instance) {
        Some((state, reason)) => (state, reason),
        None => judge(&views, &listing, instance.core.vendor.answer.is_some()),
    };
    let health = ProviderHealth {
        state,
        breaker: name(views.iter().map(|seen| seen.breaker).max_by_key(|breaker| severity(*breaker))),
        error_rate: share(mean(views.iter().map(|seen| seen.error_rate)).unwrap_or(0.0)),
        latency_ewma_ms: mean(views.iter().filter_map(|seen| seen.latency_ewma.map(milliseconds)))
            .map(tenths),
        in_flight: shows_use.then(|| views.iter().map(|seen| seen.in_flight).sum()),
        last_error: reason,
        last_success_at: last_success(&views)
            .filter(|_| shows_use)
            .map(|at| record::time(back(app.gateway.clock.now(), now.saturating_sub(at)))),
        last_discovery_at: listing.at.map(record::time),
        model_count: instance.deployments.len(),
    };
    (health, lived.iter().map(|(model, seen)| show(model, seen, shows_use)).collect())
}

/// The time of the last success of a model.
fn last_success(views: &[&HealthView]) -> Option<Duration> {
    views.iter().filter_map(|seen| seen.last_success).max()
}

/// Derives the state from calls, which outweigh model discovery; unknown without either.
fn judge(views: &[&HealthView], listing: &Listing, built_in: bool) -> (&'static str, Option<String>) {
    if views.is_empty() {
        let state = match listing {
            _ if built_in => "ok",
            Listing { last_error: Some(_), .. } => "degraded",
            Listing { known: true, .. } => "ok",
            _ => "unknown",
        };
        return (state, listing.last_error.clone());
    }
    let troubled = |seen: &&&HealthView| {
        seen.breaker != BreakerState::Closed || seen.cooling_for.is_some() || seen.error_rate > TOLERATED
    };
    let unavailable = |seen: &&HealthView| seen.breaker == BreakerState::Open || seen.cooling_for.is_some();
    let state = match views.iter().find(troubled) {
        None => "ok",
        Some(_) if views.iter().all(unavailable) => "down",
        Some(_) => "degraded",
    };
    // Current errors take precedence over past ones.
    let last_error = |seen: &&HealthView| seen.last_error.clone();
    let now = views.iter().filter(troubled).find_map(last_error);
    let reason = now.or_else(|| views.iter().find_map(last_error)).or_else(|| listing.last_error.clone());
    (state, reason)
}

fn show(model: &str, seen: &HealthView, shows_use: bool) -> ModelHealth {
    let whole = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    ModelHealth {
        model: model.to_owned(),
        breaker: name(Some(seen.breaker)),
        open_for_ms: seen.open_for.map(whole),
        cooling_for_ms: seen.cooling_for.map(whole),
        error_rate: share(seen.error_rate),
        latency_ewma_ms: seen.latency_ewma.map(milliseconds).map(tenths),
        in_flight: shows_use.then_some(seen.in_flight),
        last_error: seen.last_error.clone(),
    }
}

fn severity(breaker: BreakerState) -> u8 {
    match breaker {
        BreakerState::Closed => 0,
        BreakerState::HalfOpen => 1,
        BreakerState::Open => 2,
    }
}

fn name(breaker: Option<BreakerState>) -> &'static str {
    match breaker {
        None | Some(BreakerState::Closed) => "closed",
        Some(BreakerState::HalfOpen) => "half_open",
        Some(BreakerState::Open) => "open",
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The time so much earlier.
pub fn back(now: Timestamp, by: Duration) -> Timestamp {
    Timestamp(now.micros().saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

pub fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn share(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> HealthView {
        HealthView {
            breaker: BreakerState::Closed,
            open_for: None,
            cooling_for: None,
            error_rate: 0.0,
            latency_ewma: Some(Duration::from_millis(20)),
            in_flight: 0,
            p95_first_byte: None,
            consecutive_failures: 0,
            last_error: None,
            last_success: None,
        }
    }

    fn open() -> HealthView {
        HealthView {
            breaker: BreakerState::Open,
            open_for: Some(Duration::from_secs(3)),
            error_rate: 0.9,
            last_error: Some("connection refused".into()),
            ..quiet()
        }
    }

    fn listing(known: bool, last_error: Option<&str>) -> Listing {
        Listing { known, last_error: last_error.map(str::to_owned), ..Listing::default() }
    }

    #[track_caller]
    fn check(views: &[HealthView], listing: &Listing, expected: (&str, Option<&str>)) {
        let views: Vec<&HealthView> = views.iter().collect();
        let (state, reason) = judge(&views, listing, false);
        assert_eq!((state, reason.as_deref()), expected);
    }

    #[test]
    fn a_state_follows_from_calls_before_lists() {
        let cooling = HealthView { cooling_for: Some(Duration::from_secs(1)), ..quiet() };
        let half_open = HealthView { breaker: BreakerState::HalfOpen, ..quiet() };
        let shaky = HealthView { error_rate: 0.2, ..quiet() };
        let once = HealthView { last_error: Some("it was slow".into()), ..quiet() };
        let fine = listing(true, None);
        let failed = listing(true, Some("it answered 500"));
        check(&[], &fine, ("ok", None));
        check(&[], &listing(false, None), ("unknown", None));
        check(&[], &failed, ("degraded", Some("it answered 500")));
        check(&[quiet()], &listing(false, None), ("ok", None));
        check(&[quiet()], &failed, ("ok", Some("it answered 500")));
        check(&[open(), quiet()], &fine, ("degraded", Some("connection refused")));
        check(&[open()], &fine, ("down", Some("connection refused")));
        check(&[open(), cooling.clone()], &fine, ("down", Some("connection refused")));
        check(&[cooling, quiet()], &fine, ("degraded", None));
        check(&[half_open], &fine, ("degraded", None));
        check(&[shaky], &fine, ("degraded", None));
        check(&[once.clone(), open()], &fine, ("degraded", Some("connection refused")));
        check(&[once], &fine, ("ok", Some("it was slow")));
    }

    #[test]
    fn models_without_calls_are_left_out() {
        let silent = HealthView { latency_ewma: None, ..quiet() };
        assert!(!was_used(&silent));
        assert!(was_used(&quiet()) && was_used(&open()));
        assert!(was_used(&HealthView { in_flight: 1, ..silent }));
    }

    #[test]
    fn a_model_is_shown_in_round_figures() {
        let seen = HealthView {
            error_rate: 0.123_456,
            latency_ewma: Some(Duration::from_micros(12_345)),
            in_flight: 2,
            ..open()
        };
        let shown = serde_json::to_value(show("m", &seen, true)).unwrap();
        let expected = serde_json::json!({"model": "m", "breaker": "open", "open_for_ms": 3000, "error_rate": 0.123,
            "latency_ewma_ms": 12.3, "in_flight": 2, "last_error": "connection refused"});
        assert_eq!(shown, expected);
    }
}
