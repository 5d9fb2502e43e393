//! Errors of Redis, in words for operators. They never contain the URL, which may have a password.

use std::fmt;

use redis::{ErrorKind, RedisError};

/// Redis does not answer, or the circuit breaker is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redis is not available")
    }
}

impl std::error::Error for Unavailable {}

/// The cause of a failure, and what to do about it.
pub fn describe(error: &RedisError) -> String {
    // Redis answers NOAUTH to a client without a password.
    if error.kind() == ErrorKind::AuthenticationFailed || matches!(error.code(), Some("NOAUTH" | "WRONGPASS"))
    {
        return "Redis rejects the user or password. Check the password in REDIS_URL.".to_owned();
    }
    if error.is_timeout() {
        return "Redis does not answer in time.".to_owned();
    }
    if error.is_connection_refusal() {
        return "The connection to Redis is refused. Check the host and port in REDIS_URL.".to_owned();
    }
    format!("Redis failed: {error}")
}
