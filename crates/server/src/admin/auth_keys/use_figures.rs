//! The current use of keys in lists: their rate limits, from memory, and their cost, from one query for all of them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::clock::Timestamp;
use domain::money::Nanos;
use pipeline::rate_limit::{LimitKind, LimitStatus};
use pipeline::snapshot::keys::Keys;
use serde::Serialize;
use store::{Axis, Report, UsageFilter};
use utoipa::ToSchema;

use crate::App;
use crate::admin::record;
use crate::fault::Problem;

/// The days that the cost covers.
const DAYS: i64 = 30;
const DAY_MICROS: i64 = 86_400_000_000;

/// The use of one rate limit.
#[derive(Serialize, ToSchema)]
pub struct LimitUse {
    pub used: u64,
    pub limit: u64,
    /// When more is available; for `tokens_per_minute`, when all is. Null if nothing is used, and for
    /// `max_parallel_requests`.
    pub resets_at: Option<String>,
}

/// The use of the limits that a key has, by name: requests_per_minute, requests_per_day, tokens_per_minute,
/// tokens_per_day and max_parallel_requests. Nothing is counted.
pub fn limit_use(app: &App, keys: &Keys, id: &str, now: Timestamp) -> BTreeMap<&'static str, LimitUse> {
    let Some(key) = keys.by_id(id).filter(|key| !key.rate_limits.is_unlimited()) else {
        return BTreeMap::new();
    };
    let statuses = app.gateway.limiter.look(key, app.gateway.clock.tick());
    statuses.iter().map(|status| (status.bound.name(), show(status, now))).collect()
}

fn show(status: &LimitStatus, now: Timestamp) -> LimitUse {
    let is_timed = status.bound != LimitKind::ParallelRequests && status.reset > Duration::ZERO;
    let reset = i64::try_from(status.reset.as_micros()).unwrap_or(i64::MAX);
    LimitUse {
        used: status.used(),
        limit: status.limit,
        resets_at: is_timed.then(|| record::time(Timestamp(now.micros().saturating_add(reset)))),
    }
}

/// The cost of keys in the last 30 days, in US dollars. Keys without priced calls are missing; all are if usage is not
/// recorded.
pub async fn costs(app: &App, ids: &[&str], now: Timestamp) -> Result<HashMap<String, f64>, Problem> {
    if !app.config.usage_enabled || ids.is_empty() {
        return Ok(HashMap::new());
    }
    let from = Timestamp(now.micros().saturating_sub(DAYS * DAY_MICROS).max(0));
    let until = Timestamp(now.micros().saturating_add(1));
    let only = ids.iter().map(|id| (*id).to_owned()).collect();
    let report = Report {
        only: Some((Axis::AuthKeyId, only)),
        ..Report::of(UsageFilter::between(from, until)).by(&[Axis::AuthKeyId])
    };
    let lines = app.refresher.store().ledger().report(&report).await?;
    let cost = |line: store::Line| {
        Some((line.names.into_iter().next()?, line.figures.total_cost().map(Nanos::usd)?))
    };
    Ok(lines.into_iter().filter_map(cost).collect())
}
