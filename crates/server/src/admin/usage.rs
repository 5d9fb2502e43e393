//! `/admin/api/v1/usage`: usage and cost reports.

pub mod breakdown;
pub mod daily;
pub mod grouped;
pub mod log;
pub mod me;
pub(super) mod series;
pub mod summary;
pub mod timeseries;

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::money::Nanos;
use http::HeaderMap;
use serde::Serialize;
use store::{Figures, Ledger, UsageFilter};
use utoipa::{IntoParams, ToSchema};

use crate::App;
use crate::authorized::{Authorized, Read, Usage};
use crate::query::{self, Pairs};

/// Query parameters of all reports.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what `query` reads")]
pub struct ReportParameters {
    /// 1 to 365, default 30
    days: Option<i64>,
    /// YYYY-MM-DD, in the request's time zone
    start_date: Option<String>,
    /// YYYY-MM-DD, inclusive
    end_date: Option<String>,
    /// IANA time zone of dates and days, default UTC; wins over the header X-Gateway-Timezone
    timezone: Option<String>,
    /// Only calls below this user path
    user_path: Option<String>,
    /// uncached (default), cached or all
    cache_mode: Option<String>,
    /// Only this model
    model: Option<String>,
    /// Only this provider, by name or type
    provider: Option<String>,
    /// Only this key
    auth_key_id: Option<String>,
}

/// Tokens and cost of one group; costs are in US dollars, null when nothing was priced.
#[derive(Clone, Default, Serialize, ToSchema)]
pub struct Consumption {
    pub requests: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub total_tokens: i64,
    pub input_cost: Option<f64>,
    pub output_cost: Option<f64>,
    pub total_cost: Option<f64>,
    /// The cost that prompt caches of providers saved, below zero if writes to them cost more than reads saved.
    pub prompt_cache_savings: Option<f64>,
}

impl From<&Figures> for Consumption {
    fn from(figures: &Figures) -> Self {
        Self {
            requests: figures.requests(),
            input_tokens: figures.input_tokens(),
            output_tokens: figures.output_tokens(),
            total_tokens: figures.total_tokens(),
            input_cost: figures.input_cost().map(Nanos::usd),
            output_cost: figures.output_cost().map(Nanos::usd),
            total_cost: figures.total_cost().map(Nanos::usd),
            prompt_cache_savings: figures.prompt_cache_savings().map(Nanos::usd),
        }
    }
}

/// The filter of a report. `search` applies to the log only.
fn filter(
    app: &App,
    authorized: &Authorized<Read<Usage>>,
    pairs: &Pairs,
    headers: &HeaderMap,
) -> Result<UsageFilter, Fault> {
    enabled(app)?;
    let filter = query::usage_filter(pairs, headers, authorized, app.gateway.clock.now())?;
    Ok(UsageFilter { search: None, ..filter })
}

/// Limits a calendar report to one (long) day from now: a range far in the future has countless clock changes.
pub(super) fn until_now(app: &App, filter: UsageFilter) -> UsageFilter {
    const DAY: i64 = 25 * 3_600_000_000;
    let tomorrow = Timestamp(app.gateway.clock.now().micros().saturating_add(DAY));
    UsageFilter { until: filter.until.min(tomorrow), ..filter }
}

pub(super) fn ledger(app: &App) -> &Ledger {
    app.refresher.store().ledger()
}

pub fn enabled(app: &App) -> Result<(), Fault> {
    if app.config.usage_enabled {
        return Ok(());
    }
    Err(fault::feature_unavailable("Usage is not recorded: USAGE_ENABLED is false."))
}
