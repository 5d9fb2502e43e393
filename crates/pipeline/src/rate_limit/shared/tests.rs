//! Tests of leases, and of the shares of replicas.

use std::borrow::Cow;
use std::time::Duration;

use domain::resources::auth_key::RateLimits;
use proptest::prelude::*;

use super::RecentOutage;
use super::operation::{Action, Slots};
use super::shared_key::{KnownUsage, RequestLease, SharedKey, TokenLease};
use crate::rate_limit::counts::{Counts, LocalShare};
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
    let figure =
        |used, reset| KnownUsage { used, reset: seconds(reset), wait: Duration::ZERO, at: seconds(100) };
    key.set_known_usage(LimitKind::RequestsPerMinute, figure(4, 50));
    key.set_known_usage(LimitKind::TokensPerMinute, figure(0, 30));
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

fn outage(since: u64) -> RecentOutage {
    RecentOutage { since: seconds(since), left: seconds(2) }
}

fn usage(used: u64, reset: u64) -> KnownUsage {
    KnownUsage { used, reset: seconds(reset), wait: Duration::ZERO, at: seconds(1) }
}

#[test]
fn without_redis_a_replica_uses_its_leases_and_its_part_of_what_was_left() {
    let (limits, now) = (per_minute(100), seconds(1));
    for (used, leased_units, replicas, room) in
        [(20, 0, 4, 20), (90, 0, 4, 2), (97, 0, 4, 0), (100, 0, 1, 0), (98, 3, 4, 3)]
    {
        let mut key = leased(leased_units);
        key.set_known_usage(LimitKind::RequestsPerMinute, usage(used, 5));
        let used_up = |key: &SharedKey, unit| key.used_up(&limits, unit, (replicas, outage(1)), now);
        for admitted in 0..room {
            assert_eq!(used_up(&key, Unit::Requests), None, "{used}: {admitted} of {room}");
            key.local_admissions.add(Unit::Requests, 1, seconds(1));
        }
        let status = used_up(&key, Unit::Requests).expect("the room is used");
        assert_eq!(status.bound, LimitKind::RequestsPerMinute);
        assert_eq!(used_up(&key, Unit::Tokens), None);
    }
}

#[test]
fn an_unused_limit_leaves_each_replica_its_share() {
    let mut key = SharedKey::in_segment(1);
    key.set_known_usage(LimitKind::RequestsPerMinute, usage(0, 0));
    assert_eq!(key.used_up(&per_minute(3), Unit::Requests, (4, outage(1)), seconds(1)), None);
}

#[test]
fn another_outage_begins_with_nothing_admitted() {
    let limits = per_minute(100);
    let mut key = SharedKey::in_segment(1);
    key.set_known_usage(LimitKind::RequestsPerMinute, usage(60, 30));
    key.local_admissions.add(Unit::Requests, 500, seconds(2));
    let used_up =
        |key: &SharedKey, since| key.used_up(&limits, Unit::Requests, (4, outage(since)), seconds(8));
    assert!(used_up(&key, 2).is_some());
    assert_eq!(used_up(&key, 7), None);
    key.local_admissions.replace(Unit::Requests, (500, 0), seconds(2));
    assert_eq!(used_up(&key, 2), None);
}

#[test]
fn the_last_known_usage_of_a_day_ends_with_its_reset() {
    let limits = RateLimits { requests_per_day: Some(10), ..RateLimits::default() };
    let mut key = SharedKey::in_segment(1);
    key.set_known_usage(LimitKind::RequestsPerDay, usage(10, 3_600));
    let used_up = |now| key.used_up(&limits, Unit::Requests, (4, outage(now)), seconds(now)).is_some();
    assert!(used_up(3_600));
    assert!(!used_up(3_602));
}

#[test]
fn void_leases_are_given_back() {
    let mut key = leased(3);
    key.requests.push_back(RequestLease { units: 0, expires: seconds(10), slots: SLOTS });
    key.leased_limit = Some(60);
    key.tokens = Some(TokenLease { tokens: Some(40), today: None, expires: seconds(10), charged: 5 });
    let returned = key.return_leases();
    assert!(matches!(
        returned.as_slice(),
        [
            Action::GiveBack { slots: SLOTS, units: 3 },
            Action::Correct { per_minute: Some(60), difference: -40, charged: 5, today: 0 },
        ]
    ));
    assert!(key.return_leases().is_empty());
}

#[test]
fn tokens_are_reported_as_they_were_consumed() {
    let limits = RateLimits { tokens_per_minute: Some(1_000), ..RateLimits::default() };
    let reported = |counts: &mut Counts, since| {
        counts.counted_since(seconds(since), false, seconds(20)).tokens_per_minute.tokens
    };
    let mut counts = Counts::default();
    let local = LocalShare { limits: &limits, share: Cow::Borrowed(&limits), replicas: 2, outage: None };
    let mut taken = [10, 11].map(|second| counts.admit_tokens_locally(&local, 100, seconds(second)).unwrap());
    assert_eq!(reported(&mut counts, 10), 200);
    for (taken, consumed) in taken.iter_mut().zip([0, 350]) {
        counts.correct(taken, consumed, seconds(12));
        counts.correct_unreported(taken, consumed);
    }
    assert_eq!(reported(&mut counts, 10), 350, "an estimate is credited, and an excess is added");
    assert_eq!(reported(&mut counts, 12), 250, "after the estimates were reported, the excess remains");
}
