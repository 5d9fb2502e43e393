//! The use of the response cache by a call, as its headers report it.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::call::response_headers::{CACHE, X_CACHE};

const LAYER: HeaderName = HeaderName::from_static("x-cache-layer");
const MISS_REASON: HeaderName = HeaderName::from_static("x-cache-miss-reason");
const KEY: HeaderName = HeaderName::from_static("x-cache-key");
const TTL: HeaderName = HeaderName::from_static("x-cache-ttl");

/// The use of the response cache by a call.
#[derive(Clone, Debug, Default)]
pub struct CacheUse {
    pub status: CacheStatus,
    /// Present if the client asked for it with `X-Cache-Debug: 1`.
    pub details: Option<Box<CacheDetails>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheStatus {
    /// The cache is off for the call.
    #[default]
    Off,
    /// The cache is on and was not searched.
    Bypass,
    Miss,
    HitExact,
}

/// The reason why no answer came from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissReason {
    /// The workflow of the call switches the cache off.
    Disabled,
    /// Calls of this kind are never answered from the cache.
    NotCacheable,
    /// The client asked for a new answer.
    Bypass,
    NotFound,
    Expired,
}

/// The decision of the cache.
#[derive(Clone, Debug)]
pub struct CacheDetails {
    pub miss_reason: Option<MissReason>,
    /// The key in hexadecimal digits; empty for a call that is not cacheable.
    pub key: String,
    pub ttl_seconds: u64,
}

impl CacheDetails {
    /// The details of a call that has no key.
    pub fn without_key(reason: MissReason) -> Self {
        Self { miss_reason: Some(reason), key: String::new(), ttl_seconds: 0 }
    }
}

impl CacheStatus {
    /// The name in the header and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Bypass => "bypass",
            Self::Miss => "miss",
            Self::HitExact => "hit-exact",
        }
    }
}

impl MissReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::NotCacheable => "not_cacheable",
            Self::Bypass => "bypass",
            Self::NotFound => "not_found",
            Self::Expired => "expired",
        }
    }
}

impl CacheUse {
    /// Reports an answer from the cache.
    pub fn hit(&mut self) {
        self.status = CacheStatus::HitExact;
        if let Some(details) = &mut self.details {
            details.miss_reason = None;
        }
    }

    /// Sets the reason why there is no answer.
    pub fn set_reason(&mut self, reason: MissReason) {
        if let Some(details) = &mut self.details {
            details.miss_reason = Some(reason);
        }
    }

    /// Writes the headers that report it.
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(CACHE, HeaderValue::from_static(self.status.as_str()));
        let short = match self.status {
            CacheStatus::Off | CacheStatus::Bypass => None,
            CacheStatus::Miss => Some("MISS"),
            CacheStatus::HitExact => Some("HIT (exact)"),
        };
        headers.extend(short.map(|short| (X_CACHE, HeaderValue::from_static(short))));
        let Some(details) = &self.details else { return };
        headers.insert(LAYER, HeaderValue::from_static("exact"));
        headers.insert(TTL, HeaderValue::from(details.ttl_seconds));
        let reason = details.miss_reason.map(|reason| HeaderValue::from_static(reason.as_str()));
        headers.extend(reason.map(|reason| (MISS_REASON, reason)));
        let key = Some(&details.key).filter(|key| !key.is_empty());
        headers.extend(key.and_then(|key| Some((KEY, HeaderValue::from_str(key).ok()?))));
    }
}
