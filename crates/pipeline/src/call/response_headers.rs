//! The response headers of a call, and the refusal of a call with its headers.

use std::sync::Arc;

use domain::call::Target;
use domain::fault::Fault;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::call::arrival::RequestId;
use crate::call::cache_use::{CacheStatus, CacheUse};
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

/// Number of headers that an answer usually has in the end. The copies of a map without room for them would grow.
const ROOM: usize = 12;

/// The headers of an answer of a target to the first attempt, without the cache. The values that differ from call to call
/// are replaced in a copy, which takes half the time of making the headers anew.
fn of_target(target: &Target) -> HeaderMap {
    let text =
        |text: &str| HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static("unprintable"));
    let mut headers = HeaderMap::with_capacity(ROOM);
    headers.insert(REQUEST_ID, HeaderValue::from_static(""));
    headers.insert(PROVIDER, text(&target.instance));
    headers.insert(MODEL, text(&target.selector()));
    headers.insert(ATTEMPTS, HeaderValue::from_static("1"));
    CacheUse::default().write(&mut headers);
    headers.insert(OVERHEAD, HeaderValue::from_static("0"));
    headers
}

/// The headers of every inference answer, as far as they are known.
pub fn headers(
    request_id: &RequestId,
    deployment: Option<&Arc<Deployment>>,
    attempts: usize,
    cache: &CacheUse,
    overhead_us: u64,
) -> HeaderMap {
    let made = deployment
        .map(|deployment| deployment.answer_headers.get_or_init(|| of_target(&deployment.target)).clone());
    let is_usual =
        made.is_some() && attempts == 1 && cache.status == CacheStatus::Off && cache.details.is_none();
    let mut headers = made.unwrap_or_default();
    headers.insert(REQUEST_ID, request_id.header());
    if !is_usual {
        headers.insert(ATTEMPTS, HeaderValue::from(attempts));
        cache.write(&mut headers);
    }
    headers.insert(OVERHEAD, HeaderValue::from(overhead_us));
    headers
}
