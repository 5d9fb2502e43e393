//! Rate limits of keys. A request is counted once its caller is known, its tokens when it is admitted; the tokens are
//! corrected when the call is settled.

mod bucket;
mod counts;
mod limit_kind;
mod limiter;
mod live_replicas;
mod permit;
mod rate_limit_headers;
mod shared;
mod token_estimates;
mod user_paths;
mod window;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use domain::clock::Clock;
use domain::fault::{self, Fault};
use domain::principal::{KeyFacts, Principal};

use permit::RequestShare;

pub use counts::LimitStatus;
pub use limit_kind::{LimitKind, TokenDemand, Unit};
pub use limiter::Limiter;
pub use live_replicas::LiveReplicas;
pub use permit::{Account, Permit};
pub use rate_limit_headers::{RateLimitHeaders, refusal, seconds};
pub use shared::SharedLimits;
pub use user_paths::{PATHS_PER_KEY, UserPaths};

/// The reason why a call is refused.
#[derive(Debug)]
pub enum Refusal {
    Limit(LimitStatus),
    /// Redis does not answer, and calls are refused without it.
    NotShared,
}

impl From<LimitStatus> for Refusal {
    fn from(status: LimitStatus) -> Self {
        Self::Limit(status)
    }
}

/// The error for a call that is refused because Redis does not answer.
pub fn not_shared() -> Fault {
    const RETRY: Duration = Duration::from_secs(1);
    let message =
        "Rate limits cannot be checked: Redis does not answer, and LIMITS_FAIL is closed. Retry in 1 s.";
    fault::feature_unavailable(message).retry_after(RETRY)
}

/// Counts a request. `None` for a caller without limits; [`refusal`] is the error for the limit that refuses the call. A
/// call waits for Redis only if replicas share limits through it, and its key has no lease.
pub async fn admit(
    limiter: &Limiter,
    principal: &Principal,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Permit>, Refusal> {
    let Some(key) = limited(principal) else { return Ok(None) };
    let permit = match limiter.shared() {
        None => limiter.admit(key, clock)?,
        // Boxed, because most calls do not need this future and should not carry its size.
        Some(shared) => Box::pin(limiter.admit_shared(shared, key, clock)).await?,
    };
    Ok(Some(permit))
}

/// The permit of a call that takes tokens and is not counted as a request; `None` for a caller without limits.
pub fn join(limiter: &Limiter, principal: &Principal, clock: &Arc<dyn Clock>) -> Option<Permit> {
    limited(principal).map(|key| limiter.join(key, clock))
}

/// The limits of a key as they apply to its next call.
pub struct LimitPreview {
    pub statuses: Vec<LimitStatus>,
    /// The refusal by a request limit, which comes before every other check.
    pub request_refused: Option<Fault>,
    /// The refusal by a token limit, which comes last, after the budgets.
    pub tokens_refused: Option<Fault>,
}

/// The limits as they apply to the caller's next call, and their refusals. Nothing is counted.
pub fn preview(limiter: &Limiter, principal: &Principal, now: Duration) -> Option<LimitPreview> {
    let statuses = limiter.look(limited(principal)?, now);
    let refused = |of_tokens: bool| {
        let concerned = |status: &LimitStatus| (status.bound.unit() == Unit::Tokens) == of_tokens;
        counts::longest_wait(statuses.iter().copied().filter(concerned)).map(|status| refusal(&status))
    };
    let (request_refused, tokens_refused) = (refused(false), refused(true));
    Some(LimitPreview { statuses, request_refused, tokens_refused })
}

/// The rate limit headers of a call that takes nothing.
pub fn rate_limit_headers(limiter: &Limiter, key: &Arc<KeyFacts>, now: Duration) -> Option<RateLimitHeaders> {
    limiter.account(key).tightest(0, now)
}

pub fn limited(principal: &Principal) -> Option<&Arc<KeyFacts>> {
    principal.key().filter(|key| !key.rate_limits.is_unlimited())
}
