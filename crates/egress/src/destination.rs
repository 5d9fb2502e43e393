//! Destinations: a parsed and checked base URL, with the connection pool of its origin.

use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;

use crate::error::EgressError;
use crate::origin::Origin;

pub struct Destination {
    pub(crate) origin: Arc<Origin>,
    base_path: String,
    connect_timeout: Option<Duration>,
}

impl Destination {
    pub(crate) fn new(origin: Arc<Origin>, base_path: String) -> Self {
        Self { origin, base_path, connect_timeout: None }
    }

    /// The same destination with its own connect timeout. Connections are still shared with all other destinations of
    /// the origin.
    #[must_use]
    pub fn connecting_within(&self, limit: Duration) -> Self {
        Self {
            origin: Arc::clone(&self.origin),
            base_path: self.base_path.clone(),
            connect_timeout: Some(limit),
        }
    }

    pub(crate) fn connect_timeout(&self) -> Option<Duration> {
        self.connect_timeout
    }

    /// Without a trailing slash; empty for the root.
    pub fn base_path(&self) -> &str {
        &self.base_path
    }

    pub fn host(&self) -> &str {
        self.origin.host()
    }

    /// `https://host` or `https://host:port`.
    pub fn origin(&self) -> String {
        format!("{}://{}", self.origin.scheme(), self.origin.authority())
    }

    pub(crate) fn target(&self, path_and_query: String) -> Result<PathAndQuery, EgressError> {
        if !path_and_query.starts_with('/') {
            return Err(EgressError::invalid_url("the path must begin with a slash"));
        }
        let whole = if self.base_path.is_empty() {
            path_and_query
        } else {
            [self.base_path.as_str(), &path_and_query].concat()
        };
        PathAndQuery::from_maybe_shared(bytes::Bytes::from(whole))
            .map_err(|_| EgressError::invalid_url("the path is not valid in a URL"))
    }
}

impl std::fmt::Debug for Destination {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Destination({}{})", self.origin(), self.base_path)
    }
}
