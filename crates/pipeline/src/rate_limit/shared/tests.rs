//! Tests of leases, and of the shares of replicas.

use std::time::Duration;

use domain::resources::auth_key::RateLimits;
use proptest::prelude::*;

use super::operation::Slots;
use super::shared_key::{Figure, RequestLease, SharedKey, TokenLease};
use crate::rate_limit::counts::Counts;
use crate::rate_limit::limit_kind::{LimitKind, Unit};
use crate::rate_limit::live_replicas::share;

const SLOTS: Slots = Slots { minute: 7, day: -1 };

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn per_minute(requests: u64) -> RateLimits {
    RateLimits { requests_per_minute: Some(requests), ..RateLimits::default() }
}

fn leased(units: u64) -> SharedKey {
    let mut key = SharedKey::in_segment(1);
    key.requests.push_back(RequestLease { units, expires: seconds(10), slots: SLOTS });
    key
}

#[test]
fn a_lease_is_used_up_to_its_units_and_its_end() {
    let limits = per_minute(100);
    let mut key = leased(2);
    assert_eq!(key.take_request(&limits, seconds(9)), Some(SLOTS));
    assert_eq!(key.take_request(&limits, seconds(10)), None, "it has expired");
    assert_eq!(key.take_request(&limits, seconds(9)), Some(SLOTS));
    assert_eq!(key.take_request(&limits, seconds(9)), None, "it is used up");
    let mut key = leased(2);
    assert!(key.expire_requests(seconds(9)).is_empty());
    assert_eq!(key.expire_requests(seconds(10)).iter().map(|lease| lease.units).sum::<u64>(), 2);
}

#[test]
fn a_request_needs_a_place_as_well() {
    let limits = RateLimits { max_parallel_requests: Some(3), ..per_minute(100) };
    let mut key = leased(5);
    assert_eq!(key.take_request(&limits, seconds(1)), None);
    key.free_places = 1;
    assert_eq!(key.take_request(&limits, seconds(1)), Some(SLOTS));
    assert_eq!((key.free_places, key.take_request(&limits, seconds(1))), (0, None));
}

#[test]
fn tokens_are_taken_only_while_the_day_has_some_left() {
    let mut key = SharedKey::in_segment(1);
    let lease = |today| TokenLease { tokens: Some(100), today, expires: seconds(10), charged: 5 };
    key.tokens = Some(lease(Some(0)));
    assert_eq!(key.take_tokens(1, seconds(1)), None);
    key.tokens = Some(lease(Some(1)));
    assert_eq!((key.take_tokens(60, seconds(1)), key.take_tokens(60, seconds(1))), (Some(5), None));
    assert_eq!(key.take_tokens(40, seconds(1)), Some(5));
}

#[test]
fn units_are_leased_for_many_calls_only() {
    let mut key = SharedKey::in_segment(1);
    for _ in 0..7 {
        key.calls.add(1, seconds(5));
    }
    assert_eq!(key.wanted(), 0);
    key.calls.add(1, seconds(5));
    assert_eq!(key.wanted(), 8);
    key.calls.add(1, seconds(6));
    assert_eq!(key.wanted(), 8, "as in the second before");
    key.calls.add(1, seconds(9));
    assert_eq!(key.wanted(), 0);
}

#[test]
fn figures_of_redis_grow_old() {
    let mut key = SharedKey::in_segment(1);
    let limits = RateLimits { tokens_per_minute: Some(600), ..per_minute(10) };
    let figure = |used, reset| Figure { used, reset: seconds(reset), wait: Duration::ZERO, at: seconds(100) };
    key.set_figure(LimitKind::RequestsPerMinute, figure(4, 50));
    key.set_figure(LimitKind::TokensPerMinute, figure(0, 30));
    let remaining = |key: &SharedKey, now| {
        key.statuses(&limits, 0, seconds(now)).map(|status| status.remaining).collect::<Vec<_>>()
    };
    assert_eq!(remaining(&key, 100), [6, 300]);
    assert_eq!(remaining(&key, 115), [6, 450], "the bucket refills");
    assert_eq!(remaining(&key, 160), [10, 600]);
    key.requests.push_back(RequestLease { units: 3, expires: seconds(101), slots: SLOTS });
    assert_eq!(remaining(&key, 100), [9, 300], "leased units are not used yet");
}

#[test]
fn what_was_counted_in_a_segment_is_told_apart() {
    let limits = RateLimits { requests_per_day: Some(1000), ..per_minute(1000) };
    let mut counts = Counts::default();
    counts.begin_segment(1);
    counts.record_request(&limits, seconds(50));
    counts.begin_segment(2);
    // Within the same slot of the day.
    counts.record_request(&limits, seconds(51));
    counts.record_request(&limits, seconds(52));
    let counted = counts.counted_since(seconds(51), false, seconds(53));
    assert_eq!(counted.requests_per_day, [(1_000_000, 2)]);
    assert_eq!(counted.requests_per_minute.iter().map(|(_, amount)| amount).sum::<u64>(), 2);
    let all = counts.counted_since(Duration::ZERO, true, seconds(53));
    assert_eq!(all.requests_per_day.iter().map(|(_, amount)| amount).sum::<u64>(), 3);
}

proptest! {
    #[test]
    fn shares_add_up_to_at_most_the_limit(limit in 0u64..10_000, replicas in 1u32..20) {
        let part = share(&per_minute(limit), replicas).requests_per_minute.unwrap();
        prop_assert!(part * u64::from(replicas) <= limit.max(u64::from(replicas)));
        prop_assert!(part >= limit / u64::from(replicas) && part >= limit.min(1));
        if limit == 0 {
            prop_assert_eq!(part, 0);
        }
    }
}

#[test]
fn without_redis_a_replica_uses_its_leases_and_its_part_of_what_was_left() {
    let (limits, now) = (per_minute(100), seconds(1));
    let figure = |used| Figure { used, reset: seconds(5), wait: Duration::ZERO, at: now };
    for (used, leased_units, replicas, room) in
        [(0, 0, 4, 25), (90, 0, 4, 2), (97, 0, 4, 0), (100, 0, 1, 0), (98, 3, 4, 3)]
    {
        let mut key = leased(leased_units);
        key.set_figure(LimitKind::RequestsPerMinute, figure(used));
        for admitted in 0..room {
            assert_eq!(
                key.used_up(&limits, Unit::Requests, replicas, now),
                None,
                "{used}: {admitted} of {room}"
            );
            key.admit_here(Unit::Requests, 1);
        }
        let status = key.used_up(&limits, Unit::Requests, replicas, now).expect("the room is used");
        assert_eq!(status.bound, LimitKind::RequestsPerMinute);
        assert_eq!(key.used_up(&limits, Unit::Tokens, replicas, now), None);
    }
}
