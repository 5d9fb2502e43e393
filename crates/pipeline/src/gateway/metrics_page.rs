//! The `/metrics` page: call counters, and gauges read at scrape time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Gateway;
use crate::routing::health::{BreakerState, Health};
use crate::services::change_signals::{ChangeTrigger, ListenerState};
use crate::services::metrics::exposition::{Reading, ReadingKind, Readings, Sample};
use crate::services::metrics::{UNLISTED, process};

/// Values of the metrics page that the server supplies.
pub struct ServerMetrics {
    pub version: &'static str,
    pub storage_up: bool,
    /// Tasks on the runtimes of the server that have not ended.
    pub tasks: usize,
}

pub fn page(gateway: &Gateway, surroundings: &ServerMetrics) -> String {
    let mut readings = vec![build_info(gateway, surroundings)];
    readings.push(Reading::gauge(
        "gatehouse_storage_up",
        "1 when the database answers, 0 when it does not",
        f64::from(u8::from(surroundings.storage_up)),
    ));
    readings.push(Reading::gauge(
        "gatehouse_tasks",
        "Asynchronous tasks that have not ended: connections, calls and background work",
        surroundings.tasks as f64,
    ));
    readings.extend(redis(gateway));
    readings.extend(journal(gateway));
    readings.push(breakers(gateway));
    readings.push(budgets(gateway));
    readings.extend(replication(gateway));
    readings.extend(budget_leases(gateway));
    readings.extend(process::readings());
    gateway.metrics.render(Readings(readings))
}

fn build_info(gateway: &Gateway, surroundings: &ServerMetrics) -> Reading {
    let labels = vec![
        ("version", surroundings.version.to_owned()),
        ("edition", gateway.capabilities.edition.as_str().to_owned()),
    ];
    let samples = vec![Sample { labels, value: 1.0 }];
    Reading { name: "gatehouse_build", help: "Version and edition", kind: ReadingKind::Info, samples }
}

/// The state of Redis, and where rate limits are decided; nothing without Redis.
fn redis(gateway: &Gateway) -> Vec<Reading> {
    let Some(shared) = gateway.limiter.shared() else { return Vec::new() };
    let flag = |is_set: bool| f64::from(u8::from(is_set));
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let counter = |name, help, samples| Reading { name, help, kind: ReadingKind::Counter, samples };
    let decisions = &shared.decisions;
    let decided = [("lease", &decisions.leased), ("redis", &decisions.redis), ("local", &decisions.local)];
    let samples =
        decided.map(|(by, counter)| Sample { labels: vec![("by", by.to_owned())], value: count(counter) });
    let cache_hits = gateway.response_cache.as_ref().and_then(|cache| Some(cache.shared()?.hits()));
    vec![
        Reading::gauge(
            "gatehouse_redis_up",
            "1 when Redis answers, 0 when it does not",
            flag(shared.redis().is_up()),
        ),
        counter(
            "gatehouse_redis_failures",
            "Failures of Redis, each of which opened its circuit breaker",
            vec![Sample { labels: Vec::new(), value: shared.redis().failures() as f64 }],
        ),
        Reading::gauge(
            "gatehouse_rate_limits_shared",
            "1 when Redis decides about rate limits, 0 when each replica enforces its share",
            flag(shared.is_shared()),
        ),
        counter(
            "gatehouse_rate_limit_decisions",
            "Decisions about rate limits: from a lease, by Redis, or by this process alone",
            samples.into(),
        ),
        counter(
            "gatehouse_cache_shared_hits",
            "Cached answers that were found in Redis",
            vec![Sample { labels: Vec::new(), value: cache_hits.unwrap_or(0) as f64 }],
        ),
    ]
}

fn journal(gateway: &Gateway) -> [Reading; 4] {
    let (lag, damaged) = (gateway.journal.lag(), gateway.journal.damaged());
    let dropped = gateway.traces.as_ref().map_or(0, |traces| traces.dropped.get());
    let gauge = |name, help, value: u64| Reading::gauge(name, help, value as f64);
    [
        gauge(
            "gatehouse_journal_lag_bytes",
            "Bytes of the journal that storage does not have yet",
            lag.bytes,
        ),
        gauge(
            "gatehouse_journal_lag_records",
            "Records of the journal that storage does not have yet",
            lag.records,
        ),
        gauge(
            "gatehouse_journal_damaged_records",
            "Records that could not be read back since the start",
            damaged,
        ),
        gauge("gatehouse_trace_spans_dropped", "Trace spans dropped since the start", dropped),
    ]
}

/// Circuit breaker states of the targets that were called. Models that no provider lists share the label `other`,
/// because their names come from clients; it shows the worst state among them.
fn breakers(gateway: &Gateway) -> Reading {
    let now = gateway.clock.tick();
    let targets = gateway.metrics.called_targets().into_iter();
    let samples = targets.map(|(provider, model)| {
        let value = worst_state(gateway, &provider, &model, now);
        Sample { labels: vec![("provider", provider), ("model", model)], value }
    });
    let help = "Circuit breaker of a target: 0 closed, 1 half open, 2 open";
    let samples = samples.collect();
    Reading { name: "gatehouse_circuit_breaker_state", help, kind: ReadingKind::Gauge, samples }
}

fn worst_state(gateway: &Gateway, provider: &str, model: &str, now: Duration) -> f64 {
    let state = |health: &Health| match health.view(now).breaker {
        BreakerState::Closed => 0.0,
        BreakerState::HalfOpen => 1.0,
        BreakerState::Open => 2.0,
    };
    let instance = gateway.target_health.instance(provider);
    let unlisted = if model == UNLISTED { instance.unlisted_models() } else { Vec::new() };
    unlisted.iter().map(|(_, health)| state(health)).fold(state(&instance.listed(model)), f64::max)
}

/// The live replicas, the connection for change notices, and how changes were found.
fn replication(gateway: &Gateway) -> [Reading; 3] {
    let signals = &gateway.change_signals;
    let is_polling = signals.listener() == ListenerState::Down;
    let found = ChangeTrigger::ALL.into_iter().map(|trigger| {
        let labels = vec![("trigger", trigger.as_str().to_owned())];
        Sample { labels, value: signals.found(trigger) as f64 }
    });
    [
        Reading::gauge(
            "gatehouse_replicas",
            "Live processes on the database, this one included",
            f64::from(gateway.limiter.live_replicas().get()),
        ),
        Reading::gauge(
            "gatehouse_change_listener_up",
            "0 while changes of other replicas are found by polling alone, else 1",
            f64::from(u8::from(!is_polling)),
        ),
        Reading {
            name: "gatehouse_replica_changes",
            help: "Times that changes of documents or sessions were found in storage",
            kind: ReadingKind::Counter,
            samples: found.collect(),
        },
    ]
}

fn budgets(gateway: &Gateway) -> Reading {
    let statuses = gateway.budgets.statuses(gateway.clock.now());
    let samples = statuses.iter().map(|status| {
        let key = &status.rule.key;
        let mut labels =
            vec![("user_path", key.user_path.as_str().to_owned()), ("period", key.period.label())];
        labels.extend(key.tenant.clone().map(|tenant| ("tenant", tenant)));
        let amount = (status.rule.amount.0 as f64).max(1.0);
        Sample { labels, value: (status.spent + status.reserved).0 as f64 / amount }
    });
    let help = "Share of a budget that is spent or reserved in its current period";
    Reading { name: "gatehouse_budget_use_ratio", help, kind: ReadingKind::Gauge, samples: samples.collect() }
}

/// The leases on budgets that replicas share; all 0 if they are not shared.
fn budget_leases(gateway: &Gateway) -> [Reading; 8] {
    let leases = gateway.budgets.lease_summary(gateway.clock.tick()).unwrap_or_default();
    let counter = |name, help, value: u64| Reading::counter(name, help, value as f64);
    [
        Reading::gauge(
            "gatehouse_budget_leases_up",
            "1 unless the leases on budgets cannot be renewed",
            f64::from(u8::from(!leases.is_failing)),
        ),
        Reading::gauge(
            "gatehouse_budget_lease_windows",
            "Budget windows with a lease of this process",
            leases.windows as f64,
        ),
        Reading::gauge(
            "gatehouse_budget_lease_granted_usd",
            "Leased by this process and not in the ledger yet",
            leases.granted.usd(),
        ),
        Reading::gauge(
            "gatehouse_budget_lease_free_usd",
            "Leased by this process and neither held nor spent",
            leases.free.usd(),
        ),
        Reading::gauge(
            "gatehouse_budget_lease_waiting",
            "Calls that wait for room in a shared budget",
            leases.waiting as f64,
        ),
        counter(
            "gatehouse_budget_lease_statements",
            "Statements about leases, without those that book receipts",
            leases.statements,
        ),
        counter(
            "gatehouse_budget_lease_waits",
            "Calls that did not fit into the lease of this process",
            leases.waits,
        ),
        counter(
            "gatehouse_budget_lease_refusals",
            "Waiting calls for which no replica had room",
            leases.refusals,
        ),
    ]
}
