//! The connection to Redis and its circuit breaker. The breaker opens with the first failure; then a background task
//! connects again, and calls fail at once until it has succeeded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::secret::Secret;
use parking_lot::RwLock;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError};
use tokio::sync::Notify;

use crate::error::{Unavailable, describe};
use crate::time_limit::within;

/// The response timeout of an established connection, which is never reached: `within` limits commands, and does not count a
/// pause of this process as silence of Redis.
const NO_TIMEOUT: Duration = Duration::from_secs(3_600);
/// The time between two attempts to connect, and between two checks of an idle connection.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);
/// The least time for a handshake, which no call waits for.
const HANDSHAKE: Duration = Duration::from_secs(1);

/// A handle of the connection; clones share it.
#[derive(Clone)]
pub struct Redis(Arc<Shared>);

struct Shared {
    client: Client,
    timeout: Duration,
    state: RwLock<State>,
    failed: Notify,
    /// Failures since the start, each of which opened the breaker.
    failures: AtomicU64,
}

struct State {
    /// `None` while the breaker is open.
    connection: Option<MultiplexedConnection>,
    /// The number of connections so far: a late failure of an earlier one does not close the present one.
    generation: u64,
    failure: Option<String>,
}

/// The URL cannot be used.
#[derive(Debug)]
pub struct InvalidUrl;

impl Redis {
    /// A client that is not connected yet: see [`Redis::keep_connected`].
    pub fn new(url: &Secret, timeout: Duration) -> Result<Self, InvalidUrl> {
        let client = Client::open(url.reveal()).map_err(|_| InvalidUrl)?;
        let state =
            State { connection: None, generation: 0, failure: Some("Redis is not connected yet.".into()) };
        Ok(Self(Arc::new(Shared {
            client,
            timeout,
            state: RwLock::new(state),
            failed: Notify::new(),
            failures: AtomicU64::new(0),
        })))
    }

    /// The time limit of every call.
    pub fn timeout(&self) -> Duration {
        self.0.timeout
    }

    pub fn is_up(&self) -> bool {
        self.0.state.read().connection.is_some()
    }

    /// The reason why Redis is not available; `None` if it is.
    pub fn failure(&self) -> Option<String> {
        self.0.state.read().failure.clone()
    }

    /// Failures since the start.
    pub fn failures(&self) -> u64 {
        self.0.failures.load(Ordering::Relaxed)
    }

    /// Connects, and again after each failure; checks the connection regularly, so that a frozen server is noticed without
    /// calls. Runs until the process ends.
    pub async fn keep_connected(self) {
        loop {
            if self.is_up() {
                tokio::select! {
                    () = self.0.failed.notified() => {}
                    () = tokio::time::sleep(PROBE_INTERVAL) => { let _ = self.ping().await; }
                }
            } else {
                self.connect().await;
                if !self.is_up() {
                    tokio::time::sleep(PROBE_INTERVAL).await;
                }
            }
        }
    }

    /// Tries to connect, for a limited time.
    pub async fn connect(&self) {
        let limit = self.0.timeout.max(HANDSHAKE);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(limit))
            .set_response_timeout(Some(limit));
        let connecting = self.0.client.get_multiplexed_async_connection_with_config(&config);
        match tokio::time::timeout(limit, connecting).await {
            Ok(Ok(mut connection)) => {
                connection.set_response_timeout(NO_TIMEOUT);
                let mut state = self.0.state.write();
                state.connection = Some(connection);
                state.generation += 1;
                state.failure = None;
                tracing::info!("connected to Redis");
            }
            Ok(Err(error)) => self.not_connected(describe(&error)),
            Err(_) => self.not_connected("Redis does not answer in time.".to_owned()),
        }
    }

    fn not_connected(&self, reason: String) {
        let mut state = self.0.state.write();
        // The same failure again is not reported again.
        if state.failure.as_ref() != Some(&reason) {
            tracing::warn!(reason, "cannot connect to Redis");
            state.failure = Some(reason);
        }
    }

    async fn ping(&self) -> Result<(), Unavailable> {
        self.limited(async |mut connection| redis::cmd("PING").exec_async(&mut connection).await).await
    }

    /// Runs a command within the time limit. A failure opens the breaker.
    pub(crate) async fn limited<T>(
        &self,
        command: impl AsyncFnOnce(MultiplexedConnection) -> Result<T, RedisError>,
    ) -> Result<T, Unavailable> {
        let (connection, generation) = {
            let state = self.0.state.read();
            (state.connection.clone().ok_or(Unavailable)?, state.generation)
        };
        match within(self.0.timeout, command(connection)).await {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(self.open_breaker(generation, describe(&error))),
            None => Err(self.open_breaker(generation, "Redis does not answer in time.".to_owned())),
        }
    }

    /// Opens the breaker, unless this or another failure of the connection has done so.
    fn open_breaker(&self, generation: u64, reason: String) -> Unavailable {
        let mut state = self.0.state.write();
        if state.generation == generation && state.connection.take().is_some() {
            tracing::warn!(reason, "Redis failed; connecting again");
            state.failure = Some(reason);
            self.0.failures.fetch_add(1, Ordering::Relaxed);
            self.0.failed.notify_one();
        }
        Unavailable
    }
}
