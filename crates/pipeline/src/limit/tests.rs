//! Limits hold in every stretch of time, whoever comes when; and who waits as long as told is let in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::caller::KeyFacts;
use domain::clock::{Clock, Timestamp};
use domain::resources::auth_key::RateLimits;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::bound::{Bound, DAY, Demand, MINUTE};
use super::counts::{Counts, Standing, Taken};
use super::limiter::Limiter;
use super::told::refusal;

const MICRO: Duration = Duration::from_micros(1);

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn exactly(tokens: u64) -> Demand {
    Demand { most: tokens, least: tokens }
}

fn at(now: Duration) -> Arc<dyn Clock> {
    Arc::new(Stopped(now))
}

/// A clock that shows one moment.
struct Stopped(Duration);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn tick(&self) -> Duration {
        self.0
    }
}

fn key(id: &str, rate_limits: RateLimits) -> Arc<KeyFacts> {
    Arc::new(KeyFacts {
        id: id.into(),
        name: id.into(),
        description: Default::default(),
        digest: [0; 32],
        scopes: Vec::new(),
        user_path: None,
        tenant_id: None,
        lists: Default::default(),
        provider_pool: None,
        rate_limits,
        expires_at: None,
        active: true,
    })
}

fn per_minute(requests: u64) -> RateLimits {
    RateLimits { requests_per_minute: Some(requests), ..RateLimits::default() }
}

fn tokens_per_minute(tokens: u64) -> RateLimits {
    RateLimits { tokens_per_minute: Some(tokens), ..RateLimits::default() }
}

fn parallel(places: u64) -> RateLimits {
    RateLimits { max_parallel_requests: Some(places), ..RateLimits::default() }
}

/// Without places: those depend on when calls end.
fn any_limits() -> impl Strategy<Value = RateLimits> {
    let some = || option::of(1u64..12);
    let tokens = || option::of(1u64..3000);
    (some(), some(), tokens(), tokens()).prop_map(|(rpm, rpd, tpm, tpd)| RateLimits {
        requests_per_minute: rpm,
        requests_per_day: rpd.map(|limit| limit * 4),
        tokens_per_minute: tpm,
        tokens_per_day: tpd.map(|limit| limit * 4),
        max_parallel_requests: None,
    })
}

/// How long after the one before, how many tokens, and whether the client waits when it is told to.
fn any_arrivals() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    let gap = prop_oneof![0u64..1000, 0u64..3_000_000, 0u64..90_000_000, 0u64..40_000_000_000];
    vec((gap, 0u64..1500, any::<bool>()), 1..120)
}

struct Admitted {
    at: Duration,
    tokens: u64,
}

fn length(bound: Bound) -> Duration {
    match bound {
        Bound::RequestsPerMinute | Bound::TokensPerMinute => MINUTE,
        _ => DAY,
    }
}

/// What the calls admitted in `[from, to)` took.
fn taken(admitted: &[Admitted], bound: Bound, limit: u64, from: Duration, to: Duration) -> u64 {
    let inside = admitted.iter().filter(|call| (from..to).contains(&call.at));
    inside.map(|call| bound.share(limit, exactly(call.tokens)).most).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_window_holds_more_than_its_limit_and_waiting_helps(
        limits in any_limits(), arrivals in any_arrivals(), start in 0u64..1_000_000_000,
    ) {
        let mut counts = Counts::default();
        let mut admitted: Vec<Admitted> = Vec::new();
        let mut now = Duration::from_micros(start);
        for (gap, tokens, patient) in arrivals {
            now += Duration::from_micros(gap);
            let mut first = counts.admit(&limits, exactly(tokens), now);
            if let Err(standing) = first {
                let Standing { bound, limit, .. } = standing;
                let wait = standing.wait.unwrap();
                let reach = length(bound) + length(bound) / 600;
                let near = taken(&admitted, bound, limit, (now + MICRO).saturating_sub(reach), now + MICRO);
                prop_assert!(near + bound.share(limit, exactly(tokens)).least > limit, "{standing:?} refused for nothing");
                if !patient {
                    continue;
                }
                now += wait - MICRO;
                let early = counts.admit(&limits, exactly(tokens), now);
                prop_assert!(early.is_err(), "{wait:?} was too long");
                now += MICRO;
                first = counts.admit(&limits, exactly(tokens), now);
                prop_assert!(first.is_ok(), "{wait:?} was too short: {first:?}");
            }
            counts.leave(first.unwrap(), tokens, now);
            admitted.push(Admitted { at: now, tokens });
        }
        for bound in Bound::ALL {
            let Some(limit) = bound.of(&limits) else { continue };
            for call in &admitted {
                let held = taken(&admitted, bound, limit, call.at, call.at + length(bound));
                prop_assert!(held <= limit, "{} of {limit} {}", held, bound.name());
            }
        }
    }

    /// However long calls take: neither those that begin within a window nor those that end within it consume more.
    #[test]
    fn calls_that_last_are_within_the_limit(
        calls in vec((0u64..30_000_000, 1u64..600, 0u64..200_000_000), 1..60), limit in 600u64..2000,
    ) {
        let limits = tokens_per_minute(limit);
        let (mut counts, mut now) = (Counts::default(), seconds(1));
        let mut under_way: Vec<(Duration, Taken, u64)> = Vec::new();
        let (mut begun, mut ended) = (Vec::new(), Vec::new());
        let mut end = |under_way: &mut Vec<(Duration, Taken, u64)>, counts: &mut Counts, by: Duration| {
            under_way.sort_by_key(|(at, ..)| *at);
            while under_way.first().is_some_and(|(at, ..)| *at <= by) {
                let (at, taken, tokens) = under_way.remove(0);
                counts.leave(taken, tokens, at);
                ended.push(Admitted { at, tokens });
            }
        };
        for (gap, tokens, lasts) in calls {
            now += Duration::from_micros(gap);
            end(&mut under_way, &mut counts, now);
            if let Ok(taken) = counts.admit(&limits, exactly(tokens), now) {
                under_way.push((now + Duration::from_micros(lasts), taken, tokens));
                begun.push(Admitted { at: now, tokens });
            }
        }
        end(&mut under_way, &mut counts, now + seconds(1000));
        for calls in [&begun, &ended] {
            for call in calls {
                let within = taken(calls, Bound::TokensPerMinute, limit, call.at, call.at + MINUTE);
                prop_assert!(within <= limit, "{within} of {limit}");
            }
        }
        counts.advance(now + seconds(2000));
        prop_assert!(counts.is_idle());
    }

    #[test]
    fn what_was_really_consumed_is_what_counts(
        calls in vec((0u64..2000, 0u64..2000, 0u64..2000, 0u64..200_000), 1..40), order in any::<u64>(),
    ) {
        let limits = tokens_per_minute(1_000_000);
        let (mut counts, mut now, mut under_way) = (Counts::default(), seconds(1), Vec::new());
        for (estimate, so_far, real, gap) in calls {
            now += Duration::from_micros(gap);
            under_way.push((counts.admit(&limits, exactly(estimate), now).unwrap(), so_far, real));
        }
        let used = |counts: &Counts| 1_000_000 - counts.standings(&limits, exactly(0)).next().unwrap().remaining;
        let expected: u64 = under_way.iter().map(|(_, _, real)| real).sum();
        let turn = order as usize % under_way.len();
        under_way.rotate_left(turn);
        for (taken, so_far, real) in &mut under_way {
            counts.correct(taken, *so_far);
            counts.leave(*taken, *real, now);
        }
        prop_assert_eq!(used(&counts), expected);
        counts.advance(now + MINUTE);
        prop_assert!(counts.is_idle());
        prop_assert_eq!(used(&counts), 0);
    }
}

#[test]
fn a_call_without_a_bound_makes_do_with_what_is_left() {
    let limits = tokens_per_minute(1000);
    let unbounded = |sure: u64| Demand { most: sure + 4096, least: sure };
    let mut counts = Counts::default();
    let first = counts.admit(&limits, unbounded(10), seconds(1)).unwrap();
    let beside = counts.admit(&limits, unbounded(10), seconds(1)).unwrap_err();
    assert_eq!((beside.remaining, beside.wait), (0, Some(seconds(1))), "the first holds it all");
    counts.leave(first, 30, seconds(2));
    let mut admitted = 0;
    while let Ok(taken) = counts.admit(&limits, unbounded(10), seconds(2)) {
        counts.leave(taken, 30, seconds(2));
        admitted += 1;
    }
    assert_eq!(admitted, 32, "33 calls of 30 tokens are within 1000");
    let refused = counts.admit(&limits, unbounded(10), seconds(2)).unwrap_err();
    assert_eq!((refused.remaining, refused.wait), (10, Some(seconds(60))));
}

#[test]
fn what_is_under_way_counts_for_as_long_as_it_lasts() {
    let limits = tokens_per_minute(1000);
    let mut counts = Counts::default();
    let long = counts.admit(&limits, exactly(800), seconds(1)).unwrap();
    let refused = counts.admit(&limits, exactly(500), seconds(200)).unwrap_err();
    assert_eq!((refused.remaining, refused.wait), (200, Some(seconds(1))));
    counts.leave(long, 900, seconds(300));
    let refused = counts.admit(&limits, exactly(500), seconds(310)).unwrap_err();
    assert_eq!((refused.remaining, refused.wait), (100, Some(seconds(50))));
    counts.admit(&limits, exactly(500), seconds(360)).unwrap();
}

#[test]
fn a_refused_call_takes_nothing_of_any_limit() {
    let limits = RateLimits { tokens_per_minute: Some(100), requests_per_minute: Some(9), ..parallel(9) };
    let mut counts = Counts::default();
    let taken = counts.admit(&limits, exactly(60), seconds(1)).unwrap();
    counts.leave(taken, 60, seconds(1));
    let before: Vec<Standing> = counts.standings(&limits, exactly(0)).collect();
    let refused = counts.admit(&limits, exactly(41), seconds(1)).unwrap_err();
    assert_eq!(
        (refused.bound, refused.remaining, refused.wait),
        (Bound::TokensPerMinute, 40, Some(seconds(60)))
    );
    assert_eq!(counts.standings(&limits, exactly(0)).collect::<Vec<_>>(), before);
    counts.admit(&limits, exactly(40), seconds(1)).unwrap();
}

#[test]
fn a_call_larger_than_its_limit_passes_an_empty_window() {
    let limits = tokens_per_minute(100);
    let mut counts = Counts::default();
    let taken = counts.admit(&limits, exactly(5000), seconds(1)).unwrap();
    counts.leave(taken, 5000, seconds(1));
    let refused = counts.admit(&limits, exactly(1), seconds(31)).unwrap_err();
    assert_eq!((refused.remaining, refused.wait), (0, Some(seconds(30))));
    counts.admit(&limits, exactly(0), seconds(31)).expect("what takes no tokens is not held up by them");
    counts.admit(&limits, exactly(5000), seconds(61)).unwrap();
}

#[test]
fn the_limit_that_takes_longest_refuses() {
    let limits = RateLimits { requests_per_day: Some(1), ..per_minute(1) };
    let mut counts = Counts::default();
    counts.admit(&limits, exactly(0), seconds(5)).unwrap();
    let refused = counts.admit(&limits, exactly(0), seconds(6)).unwrap_err();
    assert_eq!((refused.bound, refused.wait), (Bound::RequestsPerDay, Some(seconds(86_399))));
    let fault = refusal(&refused, exactly(0));
    assert_eq!((fault.status, &*fault.code, fault.retry_after), (429, "rate_limit_exceeded", refused.wait));
    assert!(fault.message.contains("'requests_per_day'") && fault.message.contains("86399 s"), "{fault}");
}

#[test]
fn the_tightest_limit_is_told() {
    let limits =
        RateLimits { tokens_per_minute: Some(1000), max_parallel_requests: Some(1), ..per_minute(4) };
    let mut counts = Counts::default();
    let mut taken = counts.admit(&limits, exactly(900), seconds(10)).unwrap();
    let tightest = |counts: &Counts| {
        let standing = counts.tightest(&limits, 1).unwrap();
        (standing.bound, standing.remaining, standing.reset)
    };
    assert_eq!(tightest(&counts), (Bound::TokensPerMinute, 100, seconds(1)));
    counts.correct(&mut taken, 10);
    assert_eq!(
        tightest(&counts),
        (Bound::RequestsPerMinute, 3, seconds(60)),
        "not the place it holds itself"
    );
    counts.leave(taken, 10, seconds(11));
    assert_eq!(Counts::default().tightest(&limits, 1).map(|told| told.reset), Some(Duration::ZERO));
}

#[test]
fn changed_limits_hold_at_once_and_keep_the_counts() {
    let limiter = Limiter::default();
    let of = |requests| key("k", per_minute(requests));
    let _permits: Vec<_> =
        (0..3).map(|_| limiter.admit(&of(3), exactly(0), &at(seconds(1))).unwrap()).collect();
    assert_eq!(
        limiter.admit(&of(3), exactly(0), &at(seconds(1))).err().map(|standing| standing.remaining),
        Some(0)
    );
    let permit = limiter.admit(&of(4), exactly(0), &at(seconds(2))).unwrap();
    assert_eq!(limiter.look(&of(10), exactly(0), seconds(2))[0].remaining, 6);
    let refused = limiter.admit(&of(1), exactly(0), &at(seconds(3))).err().unwrap();
    assert_eq!((refused.remaining, refused.wait), (0, Some(seconds(59))), "all four have to leave");
    drop(permit);
}

#[test]
fn a_permit_gives_back_its_place_and_its_tokens_however_it_ends() {
    let limiter = Limiter::default();
    let key = key("k", RateLimits { tokens_per_minute: Some(100), ..parallel(1) });
    let remaining =
        || limiter.look(&key, exactly(0), seconds(1)).iter().map(|one| one.remaining).collect::<Vec<_>>();
    let permit = limiter.admit(&key, exactly(100), &at(seconds(1))).unwrap();
    assert_eq!(remaining(), [0, 0]);
    drop(permit);
    assert_eq!(remaining(), [100, 1]);
    let mut permit = limiter.admit(&key, exactly(100), &at(seconds(1))).unwrap();
    permit.consumed(20);
    assert_eq!(remaining(), [80, 0]);
    permit.settle(30);
    assert_eq!(remaining(), [70, 1]);
}

#[test]
fn idle_keys_are_forgotten() {
    let limiter = Limiter::default();
    let permit = limiter.admit(&key("held", parallel(1)), exactly(0), &at(seconds(1))).unwrap();
    for number in 0..5000 {
        drop(limiter.admit(&key(&format!("k{number}"), per_minute(9)), exactly(0), &at(seconds(2))).unwrap());
    }
    assert_eq!(limiter.len(), 5001);
    let busy = key("busy", per_minute(9));
    for second in 3..180 {
        let _ = limiter.admit(&busy, exactly(0), &at(seconds(second)));
    }
    assert_eq!(limiter.len(), 2);
    assert_eq!(limiter.look(&key("held", parallel(1)), exactly(0), seconds(180))[0].remaining, 0);
    drop(permit);
    let _ = limiter.admit(&busy, exactly(0), &at(seconds(1000)));
    assert_eq!(limiter.len(), 1, "after a silence all are looked at");
}

#[test]
fn a_look_leaves_no_trace() {
    let limiter = Limiter::default();
    let standing = limiter.look(&key("k", per_minute(5)), exactly(0), seconds(1))[0];
    assert_eq!((standing.remaining, standing.reset, standing.wait), (5, Duration::ZERO, None));
    assert!(limiter.is_empty());
}

#[test]
fn racing_calls_do_not_overrun() {
    const PLACES: u64 = 3;
    let limiter = Limiter::default();
    let key = key("k", RateLimits { max_parallel_requests: Some(PLACES), ..per_minute(500) });
    let (admitted, inside) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for worker in 0..8u64 {
            let (limiter, key, admitted, inside) = (&limiter, &key, &admitted, &inside);
            scope.spawn(move || {
                for round in 0.. {
                    match limiter.admit(key, exactly(0), &at(Duration::from_micros(round * 7 + worker))) {
                        Ok(permit) => {
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < PLACES);
                            admitted.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            permit.settle(0);
                        }
                        Err(standing) if standing.bound == Bound::RequestsPerMinute => break,
                        Err(_) => std::thread::yield_now(),
                    }
                }
            });
        }
    });
    assert_eq!(admitted.load(Ordering::SeqCst), 500);
}
