//! Tests that limits hold in every stretch of time, and that a call is admitted after the wait that was reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use domain::principal::KeyFacts;
use domain::resources::auth_key::RateLimits;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use domain::usage::Tokens;

use super::bucket::{Charge, TokenBucket};
use super::counts::{Counts, LimitStatus};
use super::limit_kind::{DAY, LimitKind, MINUTE};
use super::limiter::Limiter;
use super::rate_limit_headers::refusal;
use super::token_estimates::TokenEstimates;
use super::{Refusal, TokenDemand};

const MICRO: Duration = Duration::from_micros(1);

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn demand(model: &str, prompt: u64, max_output: Option<u64>) -> TokenDemand {
    TokenDemand { model: model.into(), prompt, max_output }
}

fn tokens(input: u64, cache_read: u64, output: u64) -> Tokens {
    Tokens { input, cache_read, output, ..Tokens::default() }
}

fn at(now: Duration) -> Arc<dyn Clock> {
    Arc::new(Stopped(now))
}

/// A clock that always shows the same time.
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
        searchable: Default::default(),
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

fn length(bound: LimitKind) -> Duration {
    match bound {
        LimitKind::RequestsPerMinute | LimitKind::TokensPerMinute => MINUTE,
        _ => DAY,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_window_holds_more_requests_than_its_limit_and_waiting_helps(
        per_minute in option::of(1u64..12), per_day in option::of(1u64..48),
        arrivals in vec((prop_oneof![0u64..1000, 0u64..3_000_000, 0u64..90_000_000, 0u64..40_000_000_000], any::<bool>(), any::<bool>()), 1..120),
        start in 0u64..1_000_000_000,
    ) {
        let limits = RateLimits { requests_per_minute: per_minute, requests_per_day: per_day, ..RateLimits::default() };
        let (mut counts, mut now) = (Counts::default(), Duration::from_micros(start));
        let mut admitted: Vec<Duration> = Vec::new();
        let taken = |admitted: &[Duration], from: Duration, to: Duration| {
            admitted.iter().filter(|at| (from..to).contains(*at)).count() as u64
        };
        for (gap, patient, given_back) in arrivals {
            now += Duration::from_micros(gap);
            let mut first = counts.admit_request(&limits, now);
            if let Err(status) = first {
                let LimitStatus { bound, limit, .. } = status;
                let reach = length(bound) + length(bound) / 600;
                let near = taken(&admitted, (now + MICRO).saturating_sub(reach), now + MICRO);
                prop_assert!(near >= limit, "{status:?} refused for nothing");
                if !patient {
                    continue;
                }
                now += status.wait.unwrap() - MICRO;
                prop_assert!(counts.admit_request(&limits, now).is_err(), "the wait is longer than needed");
                now += MICRO;
                first = counts.admit_request(&limits, now);
            }
            prop_assert!(first.is_ok(), "{first:?} after waiting as told");
            counts.leave();
            if given_back {
                counts.uncount_request(now);
            } else {
                admitted.push(now);
            }
        }
        for (bound, limit) in [(LimitKind::RequestsPerMinute, per_minute), (LimitKind::RequestsPerDay, per_day)] {
            let Some(limit) = limit else { continue };
            for at in &admitted {
                let held = taken(&admitted, *at, *at + length(bound));
                prop_assert!(held <= limit, "{held} of {limit} {}", bound.name());
            }
        }
    }

    /// In any T minutes, a bucket admits at most limit × (T + 1) tokens, plus the estimate of the call that was
    /// admitted last, plus the excess of calls over their estimates.
    #[test]
    fn a_bucket_admits_no_more_than_its_limit_and_the_excess_over_estimates(
        limit in 1u64..5000,
        calls in vec((prop_oneof![Just(0u64), 0u64..2_000_000, 0u64..90_000_000], 0u64..9000, 0u64..9000, 0u64..200_000_000), 1..60),
    ) {
        struct Call { at: Duration, estimate: u64, real: u64 }
        let (mut bucket, mut now) = (TokenBucket::default(), seconds(1));
        bucket.set_limit(limit);
        let mut under_way: Vec<(Duration, Charge, u64)> = Vec::new();
        let mut admitted: Vec<Call> = Vec::new();
        for (gap, estimate, real, lasts) in calls {
            now += Duration::from_micros(gap);
            under_way.sort_by_key(|(ends, ..)| *ends);
            while under_way.first().is_some_and(|(ends, ..)| *ends <= now) {
                let (ends, mut charge, real) = under_way.remove(0);
                bucket.refill(ends);
                bucket.correct(&mut charge, real);
                bucket.close(charge);
            }
            bucket.refill(now);
            prop_assert!(bucket.entries() <= 2 * under_way.len() + 1);
            if !bucket.is_open() {
                let wait = bucket.until_open();
                prop_assert!(wait > Duration::ZERO);
                continue;
            }
            let charge = bucket.charge(estimate);
            under_way.push((now + Duration::from_micros(lasts), charge, real));
            admitted.push(Call { at: now, estimate, real });
        }
        for (from, first) in admitted.iter().enumerate() {
            let (mut sum, mut excess) = (0u128, 0u128);
            for last in &admitted[from..] {
                sum += u128::from(last.real);
                excess += u128::from(last.real.saturating_sub(last.estimate));
                let micros = (last.at - first.at).as_micros();
                let refilled = (u128::from(limit) * micros).div_ceil(60_000_000);
                let most = u128::from(limit) + refilled + u128::from(last.estimate) + excess;
                prop_assert!(sum <= most, "{sum} of {most} in {micros} µs");
            }
        }
    }

    #[test]
    fn a_bucket_settles_to_the_actual_consumption(
        calls in vec((0u64..2000, 0u64..2000, 0u64..2000), 1..40), order in any::<u64>(),
    ) {
        let mut bucket = TokenBucket::default();
        bucket.set_limit(1_000_000);
        let mut under_way: Vec<_> =
            calls.iter().map(|(estimate, so_far, real)| (bucket.charge(*estimate), *so_far, *real)).collect();
        let turn = order as usize % under_way.len();
        under_way.rotate_left(turn);
        for (charge, so_far, real) in &mut under_way {
            bucket.correct(charge, *so_far);
            bucket.correct(charge, *real);
        }
        // Consumption that was reported beyond the estimate is no longer credited.
        let counted = |(estimate, so_far, real): &(u64, u64, u64)| *real.max(&so_far.saturating_sub(*estimate));
        let expected: u64 = calls.iter().map(counted).sum();
        prop_assert_eq!(1_000_000 - bucket.remaining(), expected);
        bucket.refill(MINUTE);
        prop_assert!(bucket.is_full());
    }
}

#[test]
fn a_bucket_admits_above_zero_and_reports_the_wait() {
    let mut bucket = TokenBucket::default();
    bucket.set_limit(600);
    bucket.charge(599);
    assert!(bucket.is_open(), "a call of any size is admitted while something is left");
    bucket.charge(1201);
    assert_eq!((bucket.is_open(), bucket.remaining()), (false, 0));
    assert_eq!((bucket.until_open(), bucket.until_full()), (seconds(120) + MICRO, seconds(180)));
    bucket.refill(seconds(120));
    assert!(!bucket.is_open());
    bucket.refill(seconds(120) + MICRO);
    assert!(bucket.is_open());
    bucket.refill(seconds(150));
    assert_eq!(bucket.remaining(), 300);
}

#[test]
fn refilled_tokens_are_not_credited_twice() {
    let mut bucket = TokenBucket::default();
    bucket.set_limit(1000);
    let mut old = bucket.charge(1000);
    bucket.refill(MINUTE);
    assert_eq!(bucket.remaining(), 1000, "an unsettled call refills away");
    let mut new = bucket.charge(900);
    bucket.correct(&mut old, 10);
    assert_eq!(bucket.remaining(), 100, "the charge of the old call is gone already");
    bucket.correct(&mut new, 100);
    assert_eq!(bucket.remaining(), 900);
}

/// Simulates an agent that always asks for 32,000 output tokens, with mostly cached prompts, under a limit of 20,000
/// tokens a minute.
#[test]
fn a_coding_agent_runs_smoothly_below_its_max_tokens() {
    let limiter = Limiter::default();
    let key = key("agent", tokens_per_minute(20_000));
    let (mut now, mut steps, mut waited) = (seconds(1), 0u32, Duration::ZERO);
    let mut prompt = 20_000;
    // A step: 12 s of thinking and tool use, 3 % of the prompt new, a few hundred tokens of output.
    while now < seconds(1 + 1800) {
        let mut permit = limiter.admit(&key, &at(now)).unwrap();
        let demand = demand("claude", prompt, Some(32_000));
        if let Err(Refusal::Limit(status)) = permit.admit_tokens(demand) {
            waited += status.wait.unwrap();
            now += status.wait.unwrap();
            continue;
        }
        now += seconds(12);
        let fresh = if steps == 0 { prompt } else { prompt * 3 / 100 };
        permit.clock = at(now);
        permit.settle(&tokens(fresh, prompt - fresh, 300 + u64::from(steps % 5) * 200));
        steps += 1;
        prompt = (prompt + 1000).min(150_000);
    }
    assert!(steps >= 135, "{steps} of 150 steps");
    assert!(waited < seconds(180), "{waited:?} of 1800 s waiting");
}

#[test]
fn estimates_follow_the_mean_of_a_key_and_model() {
    let estimates = TokenEstimates::default();
    let key: Arc<str> = "k".into();
    let wanted = demand("m", 10_000, None);
    let cold = estimates.estimate(&key, &wanted, seconds(1));
    assert_eq!(cold, 10_000 + 1024);
    assert_eq!(estimates.estimate(&key, &demand("m", 10_000, Some(100)), seconds(1)), 10_100);
    for step in 0..60 {
        estimates.record(&key, &wanted, 1000, 400, seconds(1 + step));
    }
    let warm = estimates.estimate(&key, &wanted, seconds(61));
    assert!((1400..1430).contains(&warm), "{warm}");
    assert_eq!(estimates.estimate(&key, &demand("other", 10_000, None), seconds(61)), cold);
    assert_eq!(estimates.estimate(&"k2".into(), &wanted, seconds(61)), cold);
    assert_eq!(estimates.estimate(&key, &wanted, seconds(61 + 301)), cold, "forgotten after five minutes");
    for number in 0..20_000 {
        estimates.record(&key, &demand(&format!("m{number}"), 10, None), 1, 1, seconds(400));
    }
    assert!(estimates.len() <= 10_000, "{}", estimates.len());
}

#[test]
fn cache_reads_count_only_if_the_key_enables_it() {
    for (count_cached, expected) in [(false, 10_000 - 150), (true, 10_000 - 950)] {
        let limiter = Limiter::default();
        let limits = RateLimits { count_cached, ..tokens_per_minute(10_000) };
        let key = key("k", limits);
        let mut permit = limiter.admit(&key, &at(seconds(1))).unwrap();
        permit.admit_tokens(demand("m", 1000, Some(32_000))).unwrap();
        permit.settle(&tokens(100, 800, 50));
        assert_eq!(limiter.look(&key, seconds(1))[0].remaining, expected);
    }
}

#[test]
fn tokens_per_day_admit_while_less_than_the_limit_was_used() {
    let limits = RateLimits { tokens_per_day: Some(100), ..RateLimits::default() };
    let mut counts = Counts::default();
    let use_tokens = |counts: &mut Counts, tokens: u64, now: Duration| {
        let mut taken = counts.admit_tokens(&limits, 999, now)?;
        counts.correct(&mut taken, tokens, now);
        Ok::<_, LimitStatus>(())
    };
    use_tokens(&mut counts, 99, seconds(1)).unwrap();
    use_tokens(&mut counts, 500, seconds(2)).expect("whatever its size");
    let refused = use_tokens(&mut counts, 1, seconds(3)).unwrap_err();
    assert_eq!(
        (refused.bound, refused.remaining, refused.wait),
        (LimitKind::TokensPerDay, 0, Some(seconds(86_399)))
    );
    use_tokens(&mut counts, 1, seconds(86_402)).unwrap();
}

#[test]
fn the_limit_that_takes_longest_refuses() {
    let limits = RateLimits { requests_per_day: Some(1), ..per_minute(1) };
    let mut counts = Counts::default();
    counts.admit_request(&limits, seconds(5)).unwrap();
    let refused = counts.admit_request(&limits, seconds(6)).unwrap_err();
    assert_eq!((refused.bound, refused.wait), (LimitKind::RequestsPerDay, Some(seconds(86_399))));
    let fault = refusal(&refused);
    assert_eq!(
        (fault.status, fault.code.as_str(), fault.retry_after),
        (429, "rate_limit_exceeded", refused.wait)
    );
    assert_eq!(fault.message, "Rate limit reached: 1 requests per day for this key. Retry in 86399 s.");
}

#[test]
fn the_tightest_limit_is_reported() {
    let limits =
        RateLimits { tokens_per_minute: Some(1000), max_parallel_requests: Some(1), ..per_minute(4) };
    let mut counts = Counts::default();
    counts.admit_request(&limits, seconds(10)).unwrap();
    let mut taken = counts.admit_tokens(&limits, 900, seconds(10)).unwrap();
    let tightest = |counts: &Counts| {
        let status = counts.tightest(&limits, 1).unwrap();
        (status.bound, status.remaining, status.reset)
    };
    assert_eq!(tightest(&counts), (LimitKind::TokensPerMinute, 100, seconds(54)), "until it is full");
    counts.correct(&mut taken, 10, seconds(10));
    assert_eq!(
        tightest(&counts),
        (LimitKind::RequestsPerMinute, 3, seconds(60)),
        "not the place it holds itself"
    );
    assert_eq!(Counts::default().tightest(&per_minute(4), 1).map(|told| told.reset), Some(Duration::ZERO));
}

#[test]
fn a_request_that_is_uncounted_takes_nothing() {
    let limits = RateLimits { requests_per_day: Some(3), ..per_minute(2) };
    let mut counts = Counts::default();
    let first = counts.admit_request(&limits, seconds(1)).unwrap();
    let second = counts.admit_request(&limits, seconds(1)).unwrap();
    counts.admit_request(&limits, seconds(2)).unwrap_err();
    counts.uncount_request(second);
    counts.admit_request(&limits, seconds(2)).unwrap();
    counts.uncount_request(first);
    let third = counts.admit_request(&limits, seconds(3)).unwrap();
    counts.admit_request(&limits, seconds(3)).unwrap_err();
    counts.uncount_request(third);
    counts.advance(&limits, seconds(100));
    let rest: Vec<u64> = counts.statuses(&limits).map(|status| status.remaining).collect();
    assert_eq!(rest, [2, 2], "one request of the last day is left");
}

#[test]
fn changed_limits_hold_at_once_and_keep_the_counts() {
    let limiter = Limiter::default();
    let of = |requests| key("k", per_minute(requests));
    let _permits: Vec<_> = (0..3).map(|_| limiter.admit(&of(3), &at(seconds(1))).unwrap()).collect();
    assert_eq!(limiter.admit(&of(3), &at(seconds(1))).err().map(|status| status.remaining), Some(0));
    let permit = limiter.admit(&of(4), &at(seconds(2))).unwrap();
    assert_eq!(limiter.look(&of(10), seconds(2))[0].remaining, 6);
    let refused = limiter.admit(&of(1), &at(seconds(3))).err().unwrap();
    assert_eq!((refused.remaining, refused.wait), (0, Some(seconds(59))), "all four have to leave");
    drop(permit);
}

#[test]
fn a_dropped_permit_releases_its_slot_and_tokens() {
    let limiter = Limiter::default();
    let key = key("k", RateLimits { tokens_per_minute: Some(100), ..parallel(1) });
    let remaining = || limiter.look(&key, seconds(1)).iter().map(|one| one.remaining).collect::<Vec<_>>();
    let admit = || {
        let mut permit = limiter.admit(&key, &at(seconds(1))).unwrap();
        permit.admit_tokens(demand("m", 100, Some(0))).unwrap();
        permit
    };
    let permit = admit();
    assert_eq!(remaining(), [0, 0]);
    drop(permit);
    assert_eq!(remaining(), [100, 1]);
    let mut permit = admit();
    permit.consumed(&tokens(20, 0, 0));
    assert_eq!(remaining(), [80, 0]);
    permit.settle(&tokens(20, 0, 10));
    assert_eq!(remaining(), [70, 1]);
}

#[test]
fn idle_keys_are_forgotten() {
    let limiter = Limiter::default();
    let permit = limiter.admit(&key("held", parallel(1)), &at(seconds(1))).unwrap();
    for number in 0..5000 {
        drop(limiter.admit(&key(&format!("k{number}"), per_minute(9)), &at(seconds(2))).unwrap());
    }
    assert_eq!(limiter.len(), 5001);
    let busy = key("busy", per_minute(9));
    for second in 3..180 {
        let _ = limiter.admit(&busy, &at(seconds(second)));
    }
    assert_eq!(limiter.len(), 2);
    assert_eq!(limiter.look(&key("held", parallel(1)), seconds(180))[0].remaining, 0);
    drop(permit);
    let _ = limiter.admit(&busy, &at(seconds(1000)));
    assert_eq!(limiter.len(), 1, "after a silence all are looked at");
}

#[test]
fn a_preview_consumes_nothing() {
    let limiter = Limiter::default();
    let status = limiter.look(&key("k", per_minute(5)), seconds(1))[0];
    assert_eq!((status.remaining, status.reset, status.wait), (5, Duration::ZERO, None));
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
                    match limiter.admit(key, &at(Duration::from_micros(round * 7 + worker))) {
                        Ok(permit) => {
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < PLACES);
                            admitted.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            permit.settle(&Tokens::default());
                        }
                        Err(status) if status.bound == LimitKind::RequestsPerMinute => break,
                        Err(_) => std::thread::yield_now(),
                    }
                }
            });
        }
    });
    assert_eq!(admitted.load(Ordering::SeqCst), 500);
}
