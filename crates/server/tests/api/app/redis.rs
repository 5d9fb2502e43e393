//! Redis for tests: a server of their own, and the parts of a gateway that use it.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::Entropy;
use domain::secret::Secret;
use pipeline::gateway::{Gateway, background};
use pipeline::rate_limit::{Limiter, LiveReplicas, SharedLimits};
use pipeline::services::response_cache::SharedCache;
use redis_client::Redis;
use testkit::RedisServer;
use tokio_util::task::TaskTracker;

use super::TestApp;

/// The settings of Redis.
#[derive(Clone, Debug)]
pub struct RedisConfig {
    pub url: String,
    pub timeout: Duration,
    pub limits_closed: bool,
}

impl RedisConfig {
    pub fn of(url: String) -> Self {
        // Longer than the default, so that a busy machine does not look like a server that is down.
        Self { url, timeout: Duration::from_secs(2), limits_closed: false }
    }
}

/// A server for one test; `None`, with the reason printed, where Redis is not installed.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "whether Redis is installed is known to whoever starts the tests, who is told what is left out"
)]
pub async fn redis_server(password: Option<&'static str>) -> Option<RedisServer> {
    if std::env::var_os("GATEHOUSE_TEST_REDIS_URL").is_none() {
        eprintln!(
            "skipped: GATEHOUSE_TEST_REDIS_URL is not set, so that Redis may be missing. Run through make test."
        );
        return None;
    }
    Some(RedisServer::start(password).await)
}

pub async fn connect(config: Option<&RedisConfig>) -> Option<Redis> {
    let RedisConfig { url, timeout, .. } = config?;
    let redis = Redis::new(&Secret::new(url.clone()), *timeout).unwrap();
    redis.connect().await;
    Some(redis)
}

pub fn limiter(redis: Option<(&RedisConfig, &Redis)>, entropy: &Arc<dyn Entropy>) -> Limiter {
    let shared =
        redis.map(|(config, redis)| SharedLimits::new(redis.clone(), entropy.clone(), config.limits_closed));
    Limiter::new(LiveReplicas::default(), shared)
}

pub fn cache(redis: Option<&Redis>, tasks: &TaskTracker) -> Option<SharedCache> {
    redis.map(|redis| SharedCache::new(redis.clone(), tasks.clone()))
}

/// Starts the background tasks of Redis.
pub fn start(gateway: &Arc<Gateway>) {
    let Some(shared) = gateway.limiter.shared() else { return };
    gateway.tasks.spawn(shared.redis().clone().keep_connected());
    gateway.tasks.spawn(background::keep_sharing_limits(gateway.clone()));
    gateway.tasks.spawn(background::keep_following_purges(gateway.clone()));
}

impl TestApp {
    /// Waits until `/ready` reports this state of the shared store.
    pub async fn wait_for_shared_store(&self, state: &str) {
        for _ in 0..300 {
            let answer = self.get("/ready").anonymous().send().await;
            if answer.json()["shared_store"] == state {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the shared store is not {state} after 15 seconds");
    }
}
