//! Limits hold in every stretch of time, whoever comes when; and who waits as long as told is let in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::caller::KeyFacts;
use domain::resources::auth_key::RateLimits;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::bound::{Bound, DAY, MINUTE};
use super::counts::{Counts, Standing};
use super::limiter::Limiter;
use super::told::refusal;

const MICRO: Duration = Duration::from_micros(1);

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
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
    inside.map(|call| bound.share(limit, call.tokens)).sum()
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
            if let Err(standing) = counts.admit(&limits, tokens, now) {
                let Standing { bound, limit, .. } = standing;
                let wait = standing.wait.unwrap();
                let reach = length(bound) + length(bound) / 600;
                let near = taken(&admitted, bound, limit, (now + MICRO).saturating_sub(reach), now + MICRO);
                prop_assert!(near + bound.share(limit, tokens) > limit, "{standing:?} refused for nothing");
                if !patient {
                    continue;
                }
                now += wait - MICRO;
                let early = counts.admit(&limits, tokens, now);
                prop_assert!(early.is_err(), "{wait:?} was too long");
                now += MICRO;
                let late = counts.admit(&limits, tokens, now);
                prop_assert!(late.is_ok(), "{wait:?} was too short: {late:?}");
            }
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

    #[test]
    fn what_was_really_consumed_is_what_counts(
        calls in vec((0u64..2000, 0u64..2000, 0u64..2000, 0u64..200_000), 1..40), order in any::<u64>(),
    ) {
        let limits = tokens_per_minute(1_000_000);
        let (mut counts, mut now, mut under_way) = (Counts::default(), seconds(1), Vec::new());
        for (estimate, so_far, real, gap) in calls {
            now += Duration::from_micros(gap);
            under_way.push((counts.admit(&limits, estimate, now).unwrap(), so_far, real));
        }
        let used = |counts: &Counts| 1_000_000 - counts.standings(&limits, 0).next().unwrap().remaining;
        let expected: u64 = under_way.iter().map(|(_, _, real)| real).sum();
        let turn = order as usize % under_way.len();
        under_way.rotate_left(turn);
        for (taken, so_far, real) in &mut under_way {
            counts.correct(taken, *so_far);
            counts.correct(taken, *real);
            counts.leave();
        }
        prop_assert_eq!(used(&counts), expected);
        counts.advance(now + MINUTE);
        prop_assert!(counts.is_idle());
        prop_assert_eq!(used(&counts), 0);
        // Who settles after all that is history changes nothing that lasts.
        for (taken, _, real) in &mut under_way {
            counts.correct(taken, *real + 7);
        }
        counts.advance(now + MINUTE);
        prop_assert!(counts.is_idle());
        prop_assert_eq!(used(&counts), 0);
    }
}

#[test]
fn a_refused_call_takes_nothing_of_any_limit() {
    let limits = RateLimits { tokens_per_minute: Some(100), requests_per_minute: Some(9), ..parallel(9) };
    let mut counts = Counts::default();
    counts.admit(&limits, 60, seconds(1)).unwrap();
    let before: Vec<Standing> = counts.standings(&limits, 0).collect();
    let refused = counts.admit(&limits, 41, seconds(1)).unwrap_err();
    assert_eq!(
        (refused.bound, refused.remaining, refused.wait),
        (Bound::TokensPerMinute, 40, Some(seconds(60)))
    );
    assert_eq!(counts.standings(&limits, 0).collect::<Vec<_>>(), before);
    counts.admit(&limits, 40, seconds(1)).unwrap();
}

#[test]
fn a_call_larger_than_its_limit_passes_an_empty_window() {
    let limits = tokens_per_minute(100);
    let mut counts = Counts::default();
    let mut taken = counts.admit(&limits, 5000, seconds(1)).unwrap();
    counts.correct(&mut taken, 5000);
    let refused = counts.admit(&limits, 1, seconds(31)).unwrap_err();
    assert_eq!((refused.remaining, refused.wait), (0, Some(seconds(30))));
    counts.admit(&limits, 0, seconds(31)).expect("what takes no tokens is not held up by them");
    counts.admit(&limits, 5000, seconds(61)).unwrap();
}

#[test]
fn the_limit_that_takes_longest_refuses() {
    let limits = RateLimits { requests_per_day: Some(1), ..per_minute(1) };
    let mut counts = Counts::default();
    counts.admit(&limits, 0, seconds(5)).unwrap();
    let refused = counts.admit(&limits, 0, seconds(6)).unwrap_err();
    assert_eq!((refused.bound, refused.wait), (Bound::RequestsPerDay, Some(seconds(86_399))));
    let fault = refusal(&refused, 0);
    assert_eq!((fault.status, &*fault.code, fault.retry_after), (429, "rate_limit_exceeded", refused.wait));
    assert!(fault.message.contains("'requests_per_day'") && fault.message.contains("86399 s"), "{fault}");
}

#[test]
fn the_tightest_limit_is_told() {
    let limits =
        RateLimits { tokens_per_minute: Some(1000), max_parallel_requests: Some(1), ..per_minute(4) };
    let mut counts = Counts::default();
    let mut taken = counts.admit(&limits, 900, seconds(10)).unwrap();
    let tightest = |counts: &Counts| {
        let standing = counts.tightest(&limits).unwrap();
        (standing.bound, standing.remaining, standing.reset)
    };
    assert_eq!(tightest(&counts), (Bound::TokensPerMinute, 100, seconds(60)));
    counts.correct(&mut taken, 10);
    assert_eq!(
        tightest(&counts),
        (Bound::RequestsPerMinute, 3, seconds(60)),
        "not the place it holds itself"
    );
    counts.leave();
    assert_eq!(Counts::default().tightest(&limits).map(|told| told.reset), Some(Duration::ZERO));
}

#[test]
fn changed_limits_hold_at_once_and_keep_the_counts() {
    let limiter = Limiter::default();
    let of = |requests| key("k", per_minute(requests));
    let _permits: Vec<_> = (0..3).map(|_| limiter.admit(&of(3), 0, seconds(1)).unwrap()).collect();
    assert_eq!(limiter.admit(&of(3), 0, seconds(1)).err().map(|standing| standing.remaining), Some(0));
    let permit = limiter.admit(&of(4), 0, seconds(2)).unwrap();
    assert_eq!(limiter.look(&of(10), 0, seconds(2))[0].remaining, 6);
    let refused = limiter.admit(&of(1), 0, seconds(3)).err().unwrap();
    assert_eq!((refused.remaining, refused.wait), (0, Some(seconds(59))), "all four have to leave");
    drop(permit);
}

#[test]
fn a_permit_gives_back_its_place_and_its_tokens_however_it_ends() {
    let limiter = Limiter::default();
    let key = key("k", RateLimits { tokens_per_minute: Some(100), ..parallel(1) });
    let remaining = || limiter.look(&key, 0, seconds(1)).iter().map(|one| one.remaining).collect::<Vec<_>>();
    let permit = limiter.admit(&key, 100, seconds(1)).unwrap();
    assert_eq!(remaining(), [0, 0]);
    drop(permit);
    assert_eq!(remaining(), [100, 1]);
    let mut permit = limiter.admit(&key, 100, seconds(1)).unwrap();
    permit.consumed(20);
    assert_eq!(remaining(), [80, 0]);
    permit.settle(30);
    assert_eq!(remaining(), [70, 1]);
}

#[test]
fn idle_keys_are_forgotten() {
    let limiter = Limiter::default();
    let permit = limiter.admit(&key("held", parallel(1)), 0, seconds(1)).unwrap();
    for number in 0..5000 {
        drop(limiter.admit(&key(&format!("k{number}"), per_minute(9)), 0, seconds(2)).unwrap());
    }
    assert_eq!(limiter.len(), 5001);
    let busy = key("busy", per_minute(9));
    for second in 3..180 {
        let _ = limiter.admit(&busy, 0, seconds(second));
    }
    assert_eq!(limiter.len(), 2);
    assert_eq!(limiter.look(&key("held", parallel(1)), 0, seconds(180))[0].remaining, 0);
    drop(permit);
    let _ = limiter.admit(&busy, 0, seconds(1000));
    assert_eq!(limiter.len(), 1, "after a silence all are looked at");
}

#[test]
fn a_look_leaves_no_trace() {
    let limiter = Limiter::default();
    let standing = limiter.look(&key("k", per_minute(5)), 0, seconds(1))[0];
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
                    match limiter.admit(key, 0, Duration::from_micros(round * 7 + worker)) {
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
