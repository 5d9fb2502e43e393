//! `/admin/api/v1/cache`: the response cache.

pub mod debug;
pub mod overview;
pub mod purge;

use domain::fault::{self, Fault};

use crate::App;

/// Fails while the response cache is off.
fn enabled(app: &App) -> Result<(), Fault> {
    if app.gateway.policy.cache.is_on() {
        return Ok(());
    }
    Err(fault::feature_unavailable(
        "The response cache is off: RESPONSE_CACHE_ENABLED and SEMANTIC_CACHE_ENABLED are false.",
    ))
}
