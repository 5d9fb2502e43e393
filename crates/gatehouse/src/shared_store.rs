//! Redis, through which replicas share rate limits and cached answers.

use std::sync::Arc;

use domain::ids::Entropy;
use pipeline::rate_limit::{Limiter, LiveReplicas, SharedLimits};
use pipeline::services::response_cache::{ResponseCache, SharedCache};
use redis_client::Redis;
use tokio_util::task::TaskTracker;

use crate::settings::{FailMode, Settings, SettingsFault};

/// Connects to Redis, if the settings name one. A start does not depend on it: a background task connects later.
pub async fn connect(settings: &Settings) -> Result<Option<Redis>, String> {
    let Some(url) = &settings.redis.url else { return Ok(None) };
    let redis = Redis::new(url, settings.redis.timeout)
        .map_err(|_| "REDIS_URL is not an address such as redis://:password@host:6379/0.".to_owned())?;
    redis.connect().await;
    Ok(Some(redis))
}

/// The rate limits, shared through Redis if there is one.
pub fn limiter(settings: &Settings, redis: Option<&Redis>, entropy: &Arc<dyn Entropy>) -> Limiter {
    let fails_closed = settings.redis.limits_fail == FailMode::Closed;
    let shared = redis.map(|redis| SharedLimits::new(redis.clone(), entropy.clone(), fails_closed));
    Limiter::new(LiveReplicas::default(), shared)
}

/// The response cache, shared through Redis if there is one.
pub fn response_cache(max_bytes: u64, redis: Option<&Redis>, tasks: &TaskTracker) -> Arc<ResponseCache> {
    let shared = redis.map(|redis| SharedCache::new(redis.clone(), tasks.clone()));
    Arc::new(ResponseCache::new(max_bytes, shared))
}

/// A fault if a setting has no effect without Redis.
pub fn missing(settings: &Settings) -> Option<SettingsFault> {
    let is_useless = settings.redis.limits_fail == FailMode::Closed && settings.redis.url.is_none();
    let message = "has no effect without redis.url (REDIS_URL)";
    is_useless.then(|| SettingsFault::new("redis.limits_fail (LIMITS_FAIL)", message))
}
