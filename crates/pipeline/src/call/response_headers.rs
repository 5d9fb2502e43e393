//! The response headers of a call, and the refusal of a call with its headers.

use std::sync::Arc;

use domain::fault::Fault;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::call::arrival::RequestId;
use crate::call::cache_use::CacheUse;
use crate::routing::routes::Deployment;

pub const PROVIDER: HeaderName = HeaderName::from_static("x-gateway-provider");
pub const MODEL: HeaderName = HeaderName::from_static("x-gateway-model");
pub const ATTEMPTS: HeaderName = HeaderName::from_static("x-gateway-attempts");
pub const CACHE: HeaderName = HeaderName::from_static("x-gateway-cache");
/// The short form of [`CACHE`], as other proxies send it.
pub const X_CACHE: HeaderName = HeaderName::from_static("x-cache");
pub const OVERHEAD: HeaderName = HeaderName::from_static("x-gateway-overhead-us");
pub const COST: HeaderName = HeaderName::from_static("x-gateway-cost-usd");
pub const DROPPED: HeaderName = HeaderName::from_static("x-gateway-dropped-params");
pub const CLAMPED: HeaderName = HeaderName::from_static("x-gateway-max-tokens-clamped");
pub const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A fault, with the response headers of the call it ended.
pub struct Refused {
    pub fault: Fault,
    pub headers: HeaderMap,
}

/// The headers of every inference answer, as far as they are known.
pub fn headers(
    request_id: &RequestId,
    deployment: Option<&Arc<Deployment>>,
    attempts: usize,
    cache: &CacheUse,
    overhead_us: u64,
) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(12);
    headers.insert(REQUEST_ID, request_id.header());
    if let Some(deployment) = deployment {
        headers.insert(PROVIDER, deployment.provider_header.clone());
        headers.insert(MODEL, deployment.model_header.clone());
    }
    headers.insert(ATTEMPTS, HeaderValue::from(attempts));
    cache.write(&mut headers);
    headers.insert(OVERHEAD, HeaderValue::from(overhead_us));
    headers
}
