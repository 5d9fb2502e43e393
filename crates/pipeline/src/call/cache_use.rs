//! The use of the response cache by a call, as its headers report it.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::call::response_headers::{CACHE, X_CACHE};
use crate::services::response_cache::CacheLayer;

const LAYER: HeaderName = HeaderName::from_static("x-cache-layer");
const MISS_REASON: HeaderName = HeaderName::from_static("x-cache-miss-reason");
const KEY: HeaderName = HeaderName::from_static("x-cache-key");
const TTL: HeaderName = HeaderName::from_static("x-cache-ttl");
const SEMANTIC_KEY: HeaderName = HeaderName::from_static("x-cache-semantic-key");
const SEMANTIC_TTL: HeaderName = HeaderName::from_static("x-cache-semantic-ttl");
const SCORE: HeaderName = HeaderName::from_static("x-cache-semantic-score");
const THRESHOLD: HeaderName = HeaderName::from_static("x-cache-semantic-threshold");
const WORD_OVERLAP: HeaderName = HeaderName::from_static("x-cache-word-overlap");
const PROMPT_SIMILARITY: HeaderName = HeaderName::from_static("x-cache-prompt-similarity");
const SHADOW: HeaderName = HeaderName::from_static("x-cache-shadow");

/// The use of the response cache by a call.
#[derive(Clone, Debug, Default)]
pub struct CacheUse {
    pub status: CacheStatus,
    /// `None` for a hit, and if the cache is off.
    pub reason: Option<MissReason>,
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
    HitSemantic,
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
    /// The most similar call is not similar enough.
    BelowThreshold,
    /// A call is similar, and differs in a number, a name, a negation or another decisive word.
    PromptChanged,
    /// The last text is too long to be compared.
    TooLong,
    /// There is no embedder, or it failed.
    EmbedderFailed,
    /// The embedder took longer than a call waits for it.
    EmbeddingTimeout,
    /// The store of the semantic cache failed.
    StoreFailed,
    /// The store of the semantic cache took longer than a call waits for it.
    StoreTimeout,
}

/// The decision of the cache.
#[derive(Clone, Debug)]
pub struct CacheDetails {
    pub miss_reason: Option<MissReason>,
    /// The layers that are searched: exact, semantic or both.
    pub layers: &'static str,
    /// The key in hexadecimal digits; empty for a call that is not cacheable.
    pub key: String,
    pub ttl_seconds: u64,
    /// Present if similar calls are searched.
    pub semantic: Option<SemanticDetails>,
}

/// The decision of the semantic cache.
#[derive(Clone, Debug, Default)]
pub struct SemanticDetails {
    /// The hash of everything that similar calls have in common, in hexadecimal digits.
    pub key: String,
    /// The hash of the part of it that is the request.
    pub params_hash: String,
    pub ttl_seconds: u64,
    pub threshold: f64,
    pub prompt_similarity: f64,
    /// The similarity of the call that decided; `None` if there is none.
    pub score: Option<f64>,
    /// The share of words that it has in common.
    pub word_overlap: Option<f64>,
    /// Set if an answer was found and is not served.
    pub shadow: Option<ShadowReason>,
}

/// The reason why an answer that was found is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShadowReason {
    /// The mode is `shadow`.
    Shadow,
}

impl ShadowReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shadow => "hit",
        }
    }
}

impl CacheDetails {
    /// The details of a call that has no key.
    pub fn without_key(reason: MissReason, layers: &'static str) -> Self {
        Self { miss_reason: Some(reason), layers, key: String::new(), ttl_seconds: 0, semantic: None }
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
            Self::HitSemantic => "hit-semantic",
        }
    }

    pub fn is_hit(self) -> bool {
        matches!(self, Self::HitExact | Self::HitSemantic)
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
            Self::BelowThreshold => "below_threshold",
            Self::PromptChanged => "prompt_changed",
            Self::TooLong => "too_long",
            Self::EmbedderFailed => "embedder_failed",
            Self::EmbeddingTimeout => "embedding_timeout",
            Self::StoreFailed => "store_failed",
            Self::StoreTimeout => "store_timeout",
        }
    }
}

impl CacheUse {
    /// Reports an answer from the cache.
    pub fn hit(&mut self, layer: CacheLayer) {
        self.status = match layer {
            CacheLayer::Exact => CacheStatus::HitExact,
            CacheLayer::Semantic => CacheStatus::HitSemantic,
        };
        self.reason = None;
        if let Some(details) = &mut self.details {
            details.miss_reason = None;
            if let Some(semantic) = &mut details.semantic {
                semantic.shadow = None;
            }
        }
    }

    /// Sets the reason why there is no answer.
    pub fn set_reason(&mut self, reason: MissReason) {
        self.reason = Some(reason);
        if let Some(details) = &mut self.details {
            details.miss_reason = Some(reason);
        }
    }

    /// The details about similar calls, if the client asked for them.
    pub fn semantic_mut(&mut self) -> Option<&mut SemanticDetails> {
        self.details.as_mut()?.semantic.as_mut()
    }

    /// Writes the headers that report it.
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(CACHE, HeaderValue::from_static(self.status.as_str()));
        let short = match self.status {
            CacheStatus::Off | CacheStatus::Bypass => None,
            CacheStatus::Miss => Some("MISS"),
            CacheStatus::HitExact => Some("HIT (exact)"),
            CacheStatus::HitSemantic => Some("HIT (semantic)"),
        };
        headers.extend(short.map(|short| (X_CACHE, HeaderValue::from_static(short))));
        if let Some(details) = &self.details {
            details.write(headers);
        }
    }
}

impl CacheDetails {
    fn write(&self, headers: &mut HeaderMap) {
        headers.insert(LAYER, HeaderValue::from_static(self.layers));
        headers.insert(TTL, HeaderValue::from(self.ttl_seconds));
        let reason = self.miss_reason.map(|reason| HeaderValue::from_static(reason.as_str()));
        headers.extend(reason.map(|reason| (MISS_REASON, reason)));
        headers.extend(text(KEY, &self.key));
        if let Some(semantic) = &self.semantic {
            semantic.write(headers);
        }
    }
}

impl SemanticDetails {
    fn write(&self, headers: &mut HeaderMap) {
        headers.insert(SEMANTIC_TTL, HeaderValue::from(self.ttl_seconds));
        headers.extend(text(SEMANTIC_KEY, &self.key));
        let figures = [
            (SCORE, self.score),
            (THRESHOLD, Some(self.threshold)),
            (WORD_OVERLAP, self.word_overlap),
            (PROMPT_SIMILARITY, Some(self.prompt_similarity)),
        ];
        for (name, figure) in figures {
            headers.extend(figure.and_then(|figure| text(name, &format!("{figure:.4}"))));
        }
        headers.extend(self.shadow.map(|shadow| (SHADOW, HeaderValue::from_static(shadow.as_str()))));
    }
}

fn text(name: HeaderName, text: &str) -> Option<(HeaderName, HeaderValue)> {
    if text.is_empty() { None } else { Some((name, HeaderValue::from_str(text).ok()?)) }
}
