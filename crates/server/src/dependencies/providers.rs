//! The readiness of provider instances, from their configuration, circuit breakers and cooldowns.

use pipeline::routing::health::{BreakerState, HealthView};
use pipeline::routing::routes::Instance;

use super::{DEGRADED, DOWN, OK};
use crate::App;

/// The state for `/ready`: ok, degraded or down, by open breakers and cooldowns of used models. `None` for a disabled
/// instance.
pub fn readiness(app: &App, instance: &Instance) -> Option<&'static str> {
    match obstacle(instance) {
        Some(("disabled", _)) => return None,
        Some(_) => return Some(DOWN),
        None => {}
    }
    let now = app.gateway.clock.tick();
    let views = instance.health().into_iter().map(|(_, health)| health.view(now));
    let used: Vec<HealthView> = views.filter(was_used).collect();
    let unavailable =
        used.iter().filter(|seen| seen.breaker == BreakerState::Open || seen.cooling_for.is_some()).count();
    Some(match unavailable {
        0 => OK,
        count if count == used.len() => DOWN,
        _ => DEGRADED,
    })
}

/// The configuration problem that keeps an instance from being called, if any.
pub fn obstacle(instance: &Instance) -> Option<(&'static str, Option<String>)> {
    let provider = &instance.provider;
    if !provider.enabled {
        return Some(("disabled", None));
    }
    if instance.core.vendor.answer.is_some() {
        return None;
    }
    match &instance.core.destination {
        Ok(_) if instance.core.vendor.key_required && provider.api_key.is_none() => {
            Some(("incomplete", Some("its api_key is not set".to_owned())))
        }
        Ok(_) => None,
        Err(reason) if provider.base_url.is_empty() => Some(("incomplete", Some(reason.clone()))),
        Err(reason) => Some(("down", Some(reason.clone()))),
    }
}

/// Whether calls have used the model.
pub fn was_used(seen: &HealthView) -> bool {
    seen.breaker != BreakerState::Closed
        || seen.cooling_for.is_some()
        || seen.error_rate > 0.0
        || seen.latency_ewma.is_some()
        || seen.in_flight > 0
        || seen.last_error.is_some()
}
