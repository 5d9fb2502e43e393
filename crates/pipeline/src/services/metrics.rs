//! Prometheus metrics. Metric handles are resolved once per target, so that a call increments counters without label
//! lookups.

pub(crate) mod exposition;
pub(crate) mod process;
mod reason;

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, LazyLock, OnceLock};

use domain::fault::FaultCode;
use domain::receipt::{Attempt, GuardrailVerdict, Receipt};
use parking_lot::Mutex;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use exposition::Readings;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TargetLabels {
    provider: String,
    model: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    provider: String,
    model: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TokenLabels {
    provider: String,
    model: String,
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct AttemptLabels {
    provider: String,
    model: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FailureLabels {
    provider: String,
    model: String,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LimitLabels {
    scope: &'static str,
}

const AGREED: &str = "agreed";
const DISAGREED: &str = "disagreed";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CacheLabels {
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct VerdictLabels {
    guardrail: String,
    subject: &'static str,
    mode: &'static str,
    verdict: &'static str,
}

/// Buckets for durations in seconds; most calls take between a millisecond and two minutes.
#[derive(Clone)]
struct Seconds;

impl MetricConstructor<Histogram> for Seconds {
    fn new_metric(&self) -> Histogram {
        Histogram::new([
            0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
        ])
    }
}

type Money = Counter<f64, AtomicU64>;

/// Log lines that were dropped because standard error was blocked. There is one log per process.
pub static LOG_LINES_DROPPED: LazyLock<Counter> = LazyLock::new(Counter::default);

/// The label of all models that a provider does not list: their names come from clients.
pub const UNLISTED: &str = "other";

/// Metrics of one target, shared by successive snapshots. A target that was never called has none yet.
pub struct TargetMetrics {
    labels: TargetLabels,
    handles: OnceLock<Handles>,
}

struct Handles {
    succeeded: Counter,
    duration: Histogram,
    first_byte: Histogram,
    input_tokens: Counter,
    output_tokens: Counter,
    cached_tokens: Counter,
    cost: Money,
    attempts_ok: Counter,
    attempts_failed: Counter,
}

pub struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    duration: Family<TargetLabels, Histogram, Seconds>,
    first_byte: Family<TargetLabels, Histogram, Seconds>,
    overhead: Histogram,
    tokens: Family<TokenLabels, Counter>,
    cost: Family<TargetLabels, Money>,
    attempts: Family<AttemptLabels, Counter>,
    request_failures: Family<FailureLabels, Counter>,
    upstream_failures: Family<FailureLabels, Counter>,
    refusals: Family<LimitLabels, Counter>,
    cache_lookups: Family<CacheLabels, Counter>,
    semantic_shadow_hits: Counter,
    semantic_rechecks: Family<CacheLabels, Counter>,
    guardrail_verdicts: Family<VerdictLabels, Counter>,
    pub in_flight: Gauge,
    pub journal_failures: Counter,
    pub audit_entries_dropped: Counter,
    targets: Mutex<HashMap<String, Arc<TargetMetrics>>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("gatehouse");
        let metrics = Self {
            requests: Family::default(),
            duration: Family::new_with_constructor(Seconds),
            first_byte: Family::new_with_constructor(Seconds),
            overhead: Histogram::new([
                0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1,
            ]),
            tokens: Family::default(),
            cost: Family::default(),
            attempts: Family::default(),
            request_failures: Family::default(),
            upstream_failures: Family::default(),
            refusals: Family::default(),
            cache_lookups: Family::default(),
            semantic_shadow_hits: Counter::default(),
            semantic_rechecks: Family::default(),
            guardrail_verdicts: Family::default(),
            in_flight: Gauge::default(),
            journal_failures: Counter::default(),
            audit_entries_dropped: Counter::default(),
            targets: Mutex::default(),
            registry: Mutex::new(Registry::default()),
        };
        // Both results are there from the start, so that their ratio has a value.
        for result in [AGREED, DISAGREED] {
            metrics.semantic_rechecks.get_or_create(&CacheLabels { result }).inc_by(0);
        }
        registry.register("requests", "Calls by target and answered status", metrics.requests.clone());
        registry.register(
            "request_duration_seconds",
            "From the first byte in to the last byte out",
            metrics.duration.clone(),
        );
        registry.register(
            "time_to_first_byte_seconds",
            "From the first byte in to the first byte out",
            metrics.first_byte.clone(),
        );
        registry.register(
            "overhead_seconds",
            "Time the gateway itself spent before the first byte",
            metrics.overhead.clone(),
        );
        registry.register("tokens", "Tokens by kind", metrics.tokens.clone());
        registry.register("cost_usd", "Cost of priced calls in US dollars", metrics.cost.clone());
        registry.register("upstream_attempts", "Calls sent to providers", metrics.attempts.clone());
        registry.register(
            "request_failures",
            "Calls that failed, by error code; upstream_error for codes of providers",
            metrics.request_failures.clone(),
        );
        registry.register(
            "upstream_failures",
            "Attempts at providers that failed, by reason",
            metrics.upstream_failures.clone(),
        );
        registry.register(
            "rate_limit_refusals",
            "Calls that were over a limit of their key",
            metrics.refusals.clone(),
        );
        registry.register(
            "cache_lookups",
            "Calls by their use of the response cache, while it is on",
            metrics.cache_lookups.clone(),
        );
        registry.register(
            "semantic_cache_shadow_hits",
            "Answers to similar calls that were found and not served, in the mode shadow",
            metrics.semantic_shadow_hits.clone(),
        );
        registry.register(
            "semantic_cache_rechecks",
            "Answers to similar calls that were compared with new ones, by result: agreed or disagreed",
            metrics.semantic_rechecks.clone(),
        );
        registry.register(
            "guardrail_verdicts",
            "Verdicts of guardrails on requests and answers",
            metrics.guardrail_verdicts.clone(),
        );
        registry.register("requests_in_flight", "Calls being served", metrics.in_flight.clone());
        registry.register(
            "journal_failures",
            "Receipts the journal could not take",
            metrics.journal_failures.clone(),
        );
        registry.register(
            "audit_entries_dropped",
            "Audit entries of callers without a valid key that were not kept because there were too many",
            metrics.audit_entries_dropped.clone(),
        );
        registry.register(
            "log_lines_dropped",
            "Log lines that were dropped because standard error was blocked",
            LOG_LINES_DROPPED.clone(),
        );
        *metrics.registry.lock() = registry;
        metrics
    }
}

impl Metrics {
    /// The metrics of a target, created on first use. Model names come from inventories, never from clients, so the set
    /// stays bounded.
    pub fn target(&self, provider: &str, model: &str) -> Arc<TargetMetrics> {
        let mut targets = self.targets.lock();
        let labels = || TargetLabels { provider: provider.to_owned(), model: model.to_owned() };
        let fresh = || Arc::new(TargetMetrics { labels: labels(), handles: OnceLock::new() });
        targets.entry(format!("{provider}/{model}")).or_insert_with(fresh).clone()
    }

    /// Treats a provider's targets as not called, after its address or credential changed. Counters keep their values.
    pub fn forget(&self, provider: &str) {
        self.targets.lock().retain(|_, target| target.labels.provider != provider);
    }

    /// Provider and model of the targets that were called, sorted.
    pub fn called_targets(&self) -> Vec<(String, String)> {
        let targets = self.targets.lock();
        let called = targets.values().filter(|target| target.handles.get().is_some());
        let mut called: Vec<_> =
            called.map(|target| (target.labels.provider.clone(), target.labels.model.clone())).collect();
        called.sort();
        called
    }

    pub fn attempted(&self, target: &TargetMetrics, attempt: &Attempt) {
        // The gateway itself cancelled it: neither a success nor a failure of the target.
        if attempt.error == Some(FaultCode::Outrun) {
            return;
        }
        let handles = self.handles(target);
        match reason::of_attempt(attempt) {
            None => {
                handles.attempts_ok.inc();
            }
            Some(reason) => {
                handles.attempts_failed.inc();
                let TargetLabels { provider, model } = target.labels.clone();
                self.upstream_failures.get_or_create(&FailureLabels { provider, model, reason }).inc();
            }
        }
    }

    /// Counts a call that was refused by the rate limit of this scope.
    pub fn limited(&self, scope: &'static str) {
        self.refusals.get_or_create(&LimitLabels { scope }).inc();
    }

    /// Counts a call by its use of the response cache.
    pub fn looked_up(&self, result: &'static str) {
        self.cache_lookups.get_or_create(&CacheLabels { result }).inc();
    }

    /// Counts an answer of the semantic cache that is not served.
    pub fn shadow_hit(&self) {
        self.semantic_shadow_hits.inc();
    }

    /// Counts a comparison of an answer of the semantic cache with a new one.
    pub fn rechecked(&self, agrees: bool) {
        let result = if agrees { AGREED } else { DISAGREED };
        self.semantic_rechecks.get_or_create(&CacheLabels { result }).inc();
    }

    /// Counts the verdict of a guardrail. Guardrails are configured, so that their names are few.
    pub fn judged(&self, verdict: &GuardrailVerdict) {
        let labels = VerdictLabels {
            guardrail: verdict.name.clone(),
            subject: verdict.subject.as_str(),
            mode: verdict.mode.as_str(),
            verdict: verdict.verdict.as_str(),
        };
        self.guardrail_verdicts.get_or_create(&labels).inc();
    }

    fn handles<'a>(&self, target: &'a TargetMetrics) -> &'a Handles {
        target.handles.get_or_init(|| self.resolve(&target.labels))
    }

    fn resolve(&self, labels: &TargetLabels) -> Handles {
        let (provider, model) = (&labels.provider, &labels.model);
        let tokens = |kind| {
            let labels = TokenLabels { provider: provider.clone(), model: model.clone(), kind };
            self.tokens.get_or_create_owned(&labels)
        };
        let attempts = |outcome| {
            let labels = AttemptLabels { provider: provider.clone(), model: model.clone(), outcome };
            self.attempts.get_or_create_owned(&labels)
        };
        let requests = RequestLabels { provider: provider.clone(), model: model.clone(), status: 200 };
        Handles {
            succeeded: self.requests.get_or_create_owned(&requests),
            duration: self.duration.get_or_create_owned(labels),
            first_byte: self.first_byte.get_or_create_owned(labels),
            input_tokens: tokens("input"),
            output_tokens: tokens("output"),
            cached_tokens: tokens("cached_input"),
            cost: self.cost.get_or_create_owned(labels),
            attempts_ok: attempts("ok"),
            attempts_failed: attempts("failed"),
        }
    }

    /// Records a settled call. `target` is the one that served it, or that it was last sent to.
    pub fn record(&self, target: Option<&TargetMetrics>, receipt: &Receipt) {
        self.overhead.observe(receipt.overhead_us as f64 / 1e6);
        if let Some(reason) = reason::of_call(receipt) {
            let (provider, model) = target
                .map(|target| (target.labels.provider.clone(), target.labels.model.clone()))
                .unwrap_or_default();
            self.request_failures.get_or_create(&FailureLabels { provider, model, reason }).inc();
        }
        let Some(target) = target else {
            // The model of a cached answer is left out: names that no provider lists would be labels without bound.
            let provider =
                if receipt.is_from_cache() { receipt.provider_name.clone() } else { String::new() };
            let labels = RequestLabels { provider, model: String::new(), status: receipt.status };
            self.requests.get_or_create(&labels).inc();
            return;
        };
        let handles = self.handles(target);
        if receipt.status == 200 {
            handles.succeeded.inc();
        } else {
            let TargetLabels { provider, model } = target.labels.clone();
            self.requests.get_or_create(&RequestLabels { provider, model, status: receipt.status }).inc();
        }
        handles.duration.observe(receipt.duration_us as f64 / 1e6);
        if let Some(first_byte) = receipt.first_byte_us {
            handles.first_byte.observe(first_byte as f64 / 1e6);
        }
        let tokens = &receipt.usage.tokens;
        handles.input_tokens.inc_by(tokens.total_input().saturating_sub(tokens.cache_read));
        handles.cached_tokens.inc_by(tokens.cache_read);
        handles.output_tokens.inc_by(tokens.total_output());
        if let Some(cost) = receipt.total_cost() {
            handles.cost.inc_by(cost.usd().max(0.0));
        }
    }

    /// Renders the exposition text: the registry, followed by `readings`, which are taken at scrape time. They have a
    /// registry of their own, because their names have no common prefix.
    pub(crate) fn render(&self, readings: Readings) -> String {
        let mut scraped = Registry::default();
        scraped.register_collector(Box::new(readings));
        let mut page = String::new();
        let counted = text::encode_registry(&mut page, &self.registry.lock());
        if counted.and_then(|()| text::encode(&mut page, &scraped)).is_err() {
            tracing::error!("metrics encoding failed");
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::exposition::Reading;
    use super::*;

    #[test]
    fn the_metrics_page_has_one_end_marker() {
        let metrics = Metrics::default();
        metrics.record(None, &Receipt { status: 401, ..Receipt::default() });
        let page = metrics.render(Readings(vec![Reading::gauge("gatehouse_journal_lag_bytes", "Lag", 7.0)]));
        assert!(
            page.contains("gatehouse_requests_total{provider=\"\",model=\"\",status=\"401\"} 1"),
            "{page}"
        );
        assert!(page.contains("gatehouse_journal_lag_bytes 7\n"));
        assert_eq!(page.matches("# EOF").count(), 1);
        assert!(page.ends_with("# EOF\n"));
    }
}
