//! The settings of the gateway that apply to calls: the default layer of a call's `EffectivePolicy`.

use std::sync::Arc;
use std::time::Duration;

use domain::resources::workflow::WorkflowFeatures;
pub use wire::codec::PromptCacheMode;

use crate::services::audit;
use crate::services::embedder::Embedder;
use crate::services::response_cache::{ResponseCache, SharedCache};
use crate::services::semantic_cache::{EntryStorage, SemanticCache, SemanticLimits};

/// The settings that apply to calls: limits on size and time, and switches.
#[derive(Clone, Debug)]
pub struct Policy {
    pub body_limit: u64,
    /// Most bytes of request bodies that are held at the same time.
    pub body_memory_limit: u64,
    pub body_timeout: Duration,
    pub stream_heartbeat: Duration,
    pub first_event_timeout: Duration,
    pub stream_idle_timeout: Duration,
    pub request_timeout: Duration,
    /// The largest complete response that is accepted from a provider.
    pub answer_limit: usize,
    /// Whether usage is recorded.
    pub accounting: bool,
    /// The largest single event in a stream.
    pub event_limit: usize,
    /// Whether parameters that a target does not support are refused instead of dropped.
    pub strict_translation: bool,
    /// Whether a stream continues at another target if its provider fails in the middle.
    pub resume_streams: bool,
    /// The lifetime of stored responses.
    pub response_ttl: Duration,
    /// The lifetime of stored replies to calls with an `Idempotency-Key`.
    pub idempotency_ttl: Duration,
    pub passthrough: PassthroughRules,
    /// The providers to which clients may send a credential of their own: types, for the vendor's own address, or
    /// `type@origin`.
    pub client_credentials: Vec<String>,
    pub retries: Retries,
    pub fallback: Fallback,
    /// The largest share of calls that is hedged; 0 hedges none.
    pub hedge_max_share: f64,
    /// Whether models without an override of their own may be used.
    pub models_enabled_by_default: bool,
    /// Whether `/v1/models` only lists aliases, combos and pools.
    pub keep_only_aliases: bool,
    /// The audit log settings.
    pub audit: audit::Rules,
    /// The response cache settings.
    pub cache: CachePolicy,
    /// The help with the prompt caches of providers.
    pub prompt_cache: PromptCacheMode,
    /// Whether the guardrails of workflows inspect calls.
    pub guardrails: bool,
    /// Whether models without a price are refused.
    pub unpriced_denied: bool,
    /// Whether budgeted calls are refused while the spending cannot be read, or shared budgets cannot be leased.
    pub budgets_closed: bool,
    /// The longest time that a call waits for room in budgets that replicas share.
    pub budget_lease_wait: Duration,
    /// Whether each call is logged at level info.
    pub log_requests: bool,
}

/// Retries at a target that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    pub max: u32,
    /// A provider that asks for a longer wait is not waited for.
    pub longest_wait: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { max: 2, longest_wait: Duration::from_secs(20) }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            body_limit: 10 * 1024 * 1024,
            body_memory_limit: 512 * 1024 * 1024,
            body_timeout: Duration::from_secs(60),
            stream_heartbeat: Duration::from_secs(15),
            first_event_timeout: Duration::from_secs(60),
            stream_idle_timeout: Duration::from_secs(120),
            request_timeout: Duration::from_secs(600),
            answer_limit: 64 * 1024 * 1024,
            accounting: true,
            event_limit: 16 * 1024 * 1024,
            strict_translation: false,
            resume_streams: false,
            response_ttl: Duration::from_secs(30 * 24 * 3600),
            idempotency_ttl: Duration::from_secs(24 * 3600),
            passthrough: PassthroughRules::default(),
            client_credentials: Vec::new(),
            retries: Retries::default(),
            fallback: Fallback::default(),
            hedge_max_share: 0.0,
            models_enabled_by_default: true,
            keep_only_aliases: false,
            audit: audit::Rules::default(),
            cache: CachePolicy::default(),
            prompt_cache: PromptCacheMode::default(),
            guardrails: true,
            unpriced_denied: false,
            budgets_closed: false,
            budget_lease_wait: Duration::from_secs(1),
            log_requests: false,
        }
    }
}

impl Policy {
    /// The features that are on for the gateway.
    pub fn features(&self) -> WorkflowFeatures {
        WorkflowFeatures {
            cache: self.cache.is_on(),
            audit: self.audit.enabled,
            usage: self.accounting,
            budget: true,
            guardrails: self.guardrails,
            fallback: self.fallback.mode != FallbackMode::Off,
        }
    }
}

/// Response cache settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachePolicy {
    /// Whether identical calls are answered from the cache.
    pub enabled: bool,
    /// The lifetime of cached answers.
    pub ttl: Duration,
    pub scope: CacheScope,
    /// The most bytes of all cached answers together; the semantic cache has as many of its own.
    pub max_bytes: u64,
    pub semantic: SemanticPolicy,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self {
            enabled: false,
            ttl: Duration::from_secs(3600),
            scope: CacheScope::default(),
            max_bytes: 64 * 1024 * 1024,
            semantic: SemanticPolicy::default(),
        }
    }
}

impl CachePolicy {
    /// Whether one of the two layers is on.
    pub fn is_on(&self) -> bool {
        self.enabled || self.semantic.enabled
    }

    /// The cache for identical calls, in front of that in Redis if there is one; `None` if it is off.
    pub fn open(&self, shared: Option<SharedCache>) -> Option<Arc<ResponseCache>> {
        self.enabled.then(|| Arc::new(ResponseCache::new(self.max_bytes, shared)))
    }

    /// The cache for similar calls; `None` if it is off.
    pub fn open_semantic(&self, embedder: Embedder, storage: EntryStorage) -> Option<Arc<SemanticCache>> {
        let SemanticPolicy { enabled, max_entries, store_timeout, .. } = self.semantic;
        let limits = SemanticLimits { max_entries, max_bytes: self.max_bytes, store_timeout };
        enabled.then(|| Arc::new(SemanticCache::new(limits, embedder, storage)))
    }
}

/// Settings of the semantic cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SemanticPolicy {
    /// Whether similar calls are compared.
    pub enabled: bool,
    pub mode: SemanticMode,
    /// The lowest similarity of calls that get each other's answers.
    pub threshold: f64,
    /// The lifetime of answers.
    pub ttl: Duration,
    /// The share of served hits that is compared with a new answer.
    pub recheck: f64,
    /// The lowest share of words that calls have in common; 0 demands none.
    pub prompt_similarity: f64,
    pub max_entries: usize,
    /// The longest time that a call waits for the vector of its text.
    pub embedding_timeout: Duration,
    /// The longest time that a call waits for a store outside the process.
    pub store_timeout: Duration,
}

impl Default for SemanticPolicy {
    fn default() -> Self {
        Self {
            enabled: false,
            mode: SemanticMode::default(),
            threshold: 0.95,
            ttl: Duration::from_secs(3600),
            recheck: 0.01,
            prompt_similarity: 0.0,
            max_entries: 10_000,
            embedding_timeout: Duration::from_millis(100),
            store_timeout: Duration::from_millis(200),
        }
    }
}

/// The use of answers to similar calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SemanticMode {
    /// They are recorded and compared, and not served.
    #[default]
    Shadow,
    Serve,
}

impl SemanticMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shadow => "shadow",
            Self::Serve => "serve",
        }
    }
}

/// The callers that share cached answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheScope {
    /// Those of one user path.
    #[default]
    UserPath,
    /// Those that use one key.
    Key,
    /// Those of one tenant.
    Tenant,
    /// All callers.
    Global,
}

/// Passthrough settings.
#[derive(Clone, Debug)]
pub struct PassthroughRules {
    pub enabled: bool,
    /// Provider instances and types that are served; empty means all.
    pub providers: Vec<String>,
    /// Drops a leading `v1`, or a leading segment equal to the base URL's last one, from the endpoint.
    pub drop_version: bool,
    /// Allows work whose cost no answer reports on user paths with a budget.
    pub unmetered: bool,
}

impl Default for PassthroughRules {
    fn default() -> Self {
        Self { enabled: true, providers: Vec::new(), drop_version: true, unmetered: false }
    }
}

/// The source of fallback targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallbackMode {
    /// A single target, without fallback.
    Off,
    /// Combos, pools, priorities and the configured rules.
    #[default]
    Manual,
    /// In addition, the same model at other instances, then models of the same family.
    Auto,
}

/// Fallback targets for calls whose own targets have all failed.
#[derive(Clone, Debug, Default)]
pub struct Fallback {
    pub mode: FallbackMode,
    /// Selector → the selectors that it falls back to.
    pub rules: Vec<(String, Vec<String>)>,
}
