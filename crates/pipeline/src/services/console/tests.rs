//! Tests of the feed: order, ids, missed events, and the cost of watchers for a call.

use std::sync::Arc;
use std::time::Duration;

use domain::clock::{Clock as _, Timestamp};
use domain::receipt::Receipt;
use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::SystemClock;
use tokio_util::task::TaskTracker;

use super::{CAPACITY, Console, MAX_BATCH, Notice};

fn receipt(request_id: impl Into<String>) -> Box<Receipt> {
    Box::new(Receipt { request_id: request_id.into(), ..Receipt::default() })
}

fn console_with(events: usize) -> Console {
    let console = Console::default();
    (1..=events).for_each(|number| console.settled(&receipt(number.to_string())));
    console
}

fn ids(batch: &super::Batch) -> Vec<u64> {
    batch.events.iter().map(|entry| entry.id).collect()
}

#[test]
fn ids_count_up_from_one_and_the_order_is_that_of_the_events() {
    let console = console_with(0);
    assert_eq!(console.last_id(), 0);
    let empty = console.read(0);
    assert!(empty.events.is_empty() && empty.missed == 0 && empty.position == 0 && !empty.restarted);
    let console = console_with(3);
    let batch = console.read(1);
    assert_eq!((ids(&batch), batch.missed, batch.position), (vec![2, 3], 0, 3));
    for entry in &batch.events {
        let shown: Value = serde_json::from_str(entry.json()).unwrap();
        assert_eq!(shown["request_id"], entry.id.to_string());
    }
    let none = console.read(3);
    assert_eq!((ids(&none), none.missed, none.position), (vec![], 0, 3));
}

#[test]
fn an_overtaken_reader_gets_the_number_of_missed_events() {
    let console = console_with(CAPACITY + 20);
    let batch = console.read(5);
    assert_eq!((batch.missed, batch.events.len()), (15, MAX_BATCH));
    assert_eq!((batch.events[0].id, batch.position), (21, 20 + MAX_BATCH as u64));
    let all = console.read_all(5);
    assert_eq!((all.missed, all.events.len(), all.position), (15, CAPACITY, console.last_id()));
    assert_eq!(console.read(20).missed, 0);
}

#[test]
fn an_id_of_the_future_belongs_to_another_process() {
    let console = console_with(CAPACITY + 1);
    let batch = console.read(1_000_000);
    assert!(batch.restarted);
    assert_eq!((batch.missed, batch.events[0].id), (1, 2));
    assert!(!console.read(console.last_id()).restarted);
}

#[test]
fn an_id_of_an_earlier_process_is_known_for_one() {
    let console = Console::after(1000);
    (0..3).for_each(|_| console.settled(&receipt("")));
    for (after, restarted, ids) in [
        (7, true, vec![1001, 1002, 1003]),
        (999, true, vec![1001, 1002, 1003]),
        (0, false, vec![1001, 1002, 1003]),
        (1000, false, vec![1001, 1002, 1003]),
        (1002, false, vec![1003]),
        (1004, true, vec![1001, 1002, 1003]),
    ] {
        let batch = console.read(after);
        let found: Vec<u64> = batch.events.iter().map(|entry| entry.id).collect();
        assert_eq!((batch.restarted, batch.missed, found), (restarted, 0, ids), "{after}");
    }
}

#[test]
fn every_kind_of_event_has_its_shape() {
    let console = Console::default();
    let settled = Receipt {
        at: Timestamp::from_seconds(1_767_225_600),
        request_id: "r\n1".into(),
        duration_us: 1_500_900,
        first_byte_us: Some(300_000),
        client_ip: "192.0.2.7".into(),
        user_agent: "agent".into(),
        error_message: Some("words".into()),
        ..Receipt::default()
    };
    console.settled(&settled);
    let at = Timestamp::from_seconds(1_767_225_602);
    let fallback = Notice::Fallback {
        request_id: "r1".into(),
        from: "a/m".into(),
        to: "b/m".into(),
        reason: "upstream_error".into(),
    };
    console.notice(at, fallback);
    console.notice(at, Notice::Breaker { provider_name: "a".into(), model: "m".into(), state: "half_open" });
    let batch = console.read(0);
    let texts: Vec<&str> = batch.events.iter().map(|entry| entry.json()).collect();
    assert!(texts.iter().all(|text| !text.contains('\n')));
    let shown: Vec<Value> = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(
        shown[0],
        json!({"id": 1, "event": "request", "at": "2026-01-01T00:00:01.500Z", "request_id": "r\n1", "method": "",
            "path": "", "requested_model": "", "provider_name": "", "model": "", "status": 0, "stream": false,
            "duration_ms": 1500, "ttft_ms": 300, "overhead_us": 0, "attempts": 0, "user_path": "", "input_tokens": 0,
            "output_tokens": 0, "total_cost": null, "cache_type": ""})
    );
    assert_eq!(
        shown[1],
        json!({"id": 2, "event": "fallback", "at": "2026-01-01T00:00:02.000Z", "request_id": "r1", "from": "a/m",
            "to": "b/m", "reason": "upstream_error"})
    );
    assert_eq!(
        shown[2],
        json!({"id": 3, "event": "breaker", "at": "2026-01-01T00:00:02.000Z", "provider_name": "a", "model": "m",
            "state": "half_open"})
    );
    let names: Vec<&str> = batch.events.iter().map(|entry| entry.name()).collect();
    assert_eq!(names, ["request", "fallback", "breaker"]);
}

/// Fields of a receipt that the event of a call does not contain, by reason.
const LEFT_OUT: &[(&str, &[&str])] = &[
    (
        "the event never contains client addresses or message text",
        &["client_ip", "user_agent", "error_message", "subject"],
    ),
    (
        "the request id identifies the call",
        &["id", "provider_id", "response_id", "previous_response_id", "trace"],
    ),
    ("another field of the event implies it", &["provider", "auth_method", "error_type"]),
    ("too long for a line of the console; the logs contain it", &["raw_usage", "audit"]),
    ("a detail of the usage log", &["tenant_id", "session_id", "run_id", "cost_source", "pricing_version"]),
    ("a detail of the usage log about caches", &["saved_cost", "cache_miss", "prompt_cache_savings"]),
    (
        "a detail of the audit log or of the ledger",
        &["resumed", "alias_used", "workflow_version_id", "unbooked"],
    ),
    ("the process that ended before the call cannot announce it", &["interrupted"]),
];

#[test]
fn a_field_is_in_the_event_or_left_out_for_a_reason() {
    testkit::assert_shown_except(LEFT_OUT, |receipt| {
        let console = Console::default();
        console.settled(receipt);
        console.read(0).events[0].json().to_owned()
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A reader gets each event once and in order, or learns that it missed it, whatever happens between two reads.
    #[test]
    fn missed_events_are_counted(bursts in proptest::collection::vec(0usize..900, 1..12)) {
        let console = Console::default();
        let (mut position, mut accounted) = (0, 0);
        for burst in bursts {
            (0..burst).for_each(|_| console.settled(&receipt("")));
            let batch = console.read(position);
            prop_assert!(!batch.restarted);
            accounted += batch.missed;
            for entry in &batch.events {
                accounted += 1;
                prop_assert_eq!(entry.id, accounted);
            }
            position = batch.position;
            prop_assert_eq!(position, accounted);
        }
        let rest = console.read_all(position);
        prop_assert_eq!(accounted + rest.missed + rest.events.len() as u64, console.last_id());
    }
}

/// Reads as a subscriber does, until so many events are accounted for or the console closes.
async fn watch(console: Arc<Console>, until: u64) -> u64 {
    let (mut position, mut seen) = (0, 0);
    while seen < until && !console.is_closed() {
        let news = console.listen();
        let batch = console.read(position);
        seen += batch.events.len() as u64 + batch.missed;
        position = batch.position;
        if batch.events.is_empty() && !console.is_closed() {
            news.await;
        }
    }
    seen
}

async fn soon<T>(waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("nobody was woken")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_listener_is_woken_by_an_event() {
    const EVENTS: u64 = 200;
    let (console, tracker) = (Arc::new(Console::default()), TaskTracker::new());
    let watching: Vec<_> = (0..50).map(|_| tracker.spawn(watch(console.clone(), EVENTS))).collect();
    // These are aborted, some of them just after they were notified: the notification must then reach another watcher.
    let leaving: Vec<_> = (0..EVENTS).map(|_| tracker.spawn(watch(console.clone(), u64::MAX))).collect();
    for leaver in leaving {
        console.settled(&receipt(""));
        leaver.abort();
        tokio::task::yield_now().await;
    }
    for watcher in watching {
        assert_eq!(soon(watcher).await.unwrap(), EVENTS);
    }
}

#[tokio::test]
async fn closing_wakes_everybody() {
    let (console, tracker) = (Arc::new(console_with(1)), TaskTracker::new());
    let watching: Vec<_> = (0..10).map(|_| tracker.spawn(watch(console.clone(), u64::MAX))).collect();
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(watching.iter().all(|watcher| !watcher.is_finished()));
    console.close();
    for watcher in watching {
        assert_eq!(soon(watcher).await.unwrap(), 1);
    }
}

/// The median time to record a receipt while all watchers are waiting.
async fn cost(watchers: usize) -> Duration {
    const ROUNDS: u64 = 101;
    let (console, tracker, clock) =
        (Arc::new(Console::default()), TaskTracker::new(), SystemClock::default());
    let watching: Vec<_> = (0..watchers).map(|_| tracker.spawn(watch(console.clone(), ROUNDS))).collect();
    let mut costs = Vec::new();
    for number in 0..ROUNDS {
        // On a single thread, all watchers have read and wait again after a few yields.
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        let receipt = receipt(number.to_string());
        let before = clock.tick();
        console.settled(&receipt);
        costs.push(clock.tick() - before);
    }
    for watcher in watching {
        assert_eq!(soon(watcher).await.unwrap(), ROUNDS);
    }
    costs.sort();
    costs[costs.len() / 2]
}

#[tokio::test]
async fn a_call_costs_the_same_with_a_thousand_listeners() {
    let (alone, watched) = (cost(0).await, cost(1000).await);
    let bound = alone * 10 + Duration::from_micros(5);
    assert!(watched < bound, "{watched:?} with a thousand watching, {alone:?} with none");
}
