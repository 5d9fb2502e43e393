//! Tests of a target on a simulated clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use proptest::prelude::*;

use super::{Admission, Availability, BreakerRules, BreakerState, Health, HealthRegistry, Transition};

const FIRST_BYTE: Duration = Duration::from_millis(200);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn target() -> Arc<Health> {
    Arc::new(Health::default())
}

fn admit(health: &Arc<Health>, now: Duration) -> Admission {
    health.admit(now).unwrap_or_else(|refusal| panic!("not admitted at {now:?}: {refusal:?}"))
}

fn refusal(health: &Arc<Health>, now: Duration) -> Availability {
    match health.admit(now) {
        Ok(_) => panic!("admitted at {now:?}"),
        Err(refusal) => refusal,
    }
}

fn fail(health: &Arc<Health>, now: Duration) -> Option<Transition> {
    admit(health, now).failed(now, "upstream_error")
}

fn succeed(health: &Arc<Health>, now: Duration) -> Option<Transition> {
    admit(health, now).succeeded(now, FIRST_BYTE)
}

/// A target whose breaker was opened at that time by five failures.
fn opened(now: Duration) -> Arc<Health> {
    let health = target();
    for _ in 0..4 {
        assert_eq!(fail(&health, now), None);
    }
    assert_eq!(fail(&health, now), Some(Transition::Opened));
    health
}

/// The second at which the breaker opens, for one outcome a second: `x` a failure, `.` a success, `-` none.
fn opens_after(story: &str) -> Option<usize> {
    let health = target();
    story.bytes().enumerate().find_map(|(second, outcome)| {
        let now = at(second as u64);
        let transition = match outcome {
            b'x' => fail(&health, now),
            b'.' => succeed(&health, now),
            _ => None,
        };
        (transition == Some(Transition::Opened)).then_some(second)
    })
}

#[test]
fn failures_in_a_row_and_shares_of_a_window_open() {
    let stories = [
        ("five in a row", "xxxxx", Some(4)),
        ("four, a success, four", "xxxx.xxxx", None),
        ("four, a success, five", "xxxx.xxxxx", Some(9)),
        ("a row has no time limit", "x---------------------------------------x---------x---x---x", Some(58)),
        ("half of twenty is not more than half", ".x.x.x.x.x.x.x.x.x.x.x.x", None),
        ("more than half, but of nineteen", "xx.x.x.x.x.x.x.x.x.", None),
        ("more than half of twenty", "xx.x.x.x.x.x.x.x.x.x", Some(19)),
        ("more than half, too thinly spread", "x-x-.-x-.-x-.-x-.-x-.-x-.-x-.-x-.-x-.-x-.-x", None),
        ("all is well", "..............................", None),
    ];
    for (name, story, expected) in stories {
        assert_eq!(opens_after(story), expected, "{name}: {story}");
    }
}

#[test]
fn calls_outside_the_window_are_not_counted() {
    let health = target();
    for _ in 0..4 {
        for _ in 0..3 {
            fail(&health, at(0));
        }
        succeed(&health, at(0));
    }
    for second in 31..61 {
        succeed(&health, at(second));
        if second % 2 == 0 {
            assert_eq!(fail(&health, at(second)), None, "second {second}");
        }
    }
}

#[test]
fn open_then_one_probe_then_two_successes_close() {
    let health = opened(at(10));
    assert_eq!(health.availability(at(39)), Availability::Open { until: at(40) });
    assert_eq!(refusal(&health, at(39)), Availability::Open { until: at(40) });
    assert_eq!(health.view(at(30)).open_for, Some(at(10)));
    assert_eq!(health.availability(at(40)), Availability::Probe);
    assert_eq!(health.availability(at(40)), Availability::Probe, "a look takes nothing");
    assert_eq!(health.view(at(40)).breaker, BreakerState::HalfOpen);

    let probe = admit(&health, at(40));
    assert_eq!(refusal(&health, at(41)), Availability::Open { until: at(42) }, "the probe is out");
    assert_eq!(probe.succeeded(at(41), FIRST_BYTE), None);
    let second = admit(&health, at(41));
    assert!(health.admit(at(41)).is_err());
    assert_eq!(second.succeeded(at(42), FIRST_BYTE), Some(Transition::Closed));
    assert_eq!(health.availability(at(42)), Availability::Ready);
    assert_eq!(health.view(at(42)).consecutive_failures, 0);
    for _ in 0..4 {
        assert_eq!(fail(&health, at(43)), None, "it starts anew");
    }
    assert_eq!(fail(&health, at(43)), Some(Transition::Opened));
}

#[test]
fn a_failing_probe_opens_again() {
    let health = opened(at(0));
    assert_eq!(succeed(&health, at(30)), None);
    assert_eq!(fail(&health, at(31)), Some(Transition::Opened));
    assert_eq!(health.availability(at(60)), Availability::Open { until: at(61) });
    assert_eq!(succeed(&health, at(61)), None, "the success before counts no more");
    assert_eq!(succeed(&health, at(61)), Some(Transition::Closed));
}

#[test]
fn a_dropped_probe_is_given_back() {
    let health = opened(at(0));
    for _ in 0..3 {
        drop(admit(&health, at(30)));
        assert_eq!(health.availability(at(30)), Availability::Probe);
    }
}

#[test]
fn clients_that_leave_change_nothing() {
    let health = target();
    for _ in 0..4 {
        fail(&health, at(0));
    }
    let before = health.view(at(0));
    for _ in 0..100 {
        drop(admit(&health, at(0)));
    }
    assert_eq!(health.view(at(0)), before);
    assert_eq!(fail(&health, at(0)), Some(Transition::Opened), "nor do they end a row");
}

#[test]
fn late_results_from_before_a_state_change_are_ignored() {
    let health = target();
    let hanging: Vec<_> = (0..10).map(|_| admit(&health, at(0))).collect();
    for _ in 0..5 {
        fail(&health, at(1));
    }
    assert_eq!(hanging[0].succeeded(at(2), FIRST_BYTE), None, "an old answer does not close");
    succeed(&health, at(31));
    assert_eq!(hanging[1].failed(at(31), "late"), None, "nor an old failure open");
    assert_eq!(succeed(&health, at(31)), Some(Transition::Closed));
    for old in &hanging[2..] {
        assert_eq!(old.failed(at(60), "upstream_timeout"), None);
    }
    assert_eq!(health.availability(at(60)), Availability::Ready);
}

#[test]
fn streams_that_die_under_way_are_failures() {
    let health = target();
    for call in 1..=5 {
        let admission = admit(&health, at(call));
        assert_eq!(admission.succeeded(at(call), FIRST_BYTE), None);
        let expected = (call == 5).then_some(Transition::Opened);
        assert_eq!(admission.failed(at(call), "stream_broken"), expected, "call {call}");
        assert_eq!(admission.failed(at(call), "again"), None, "told once");
    }
    assert_eq!(health.view(at(5)).last_error.as_deref(), Some("stream_broken"));
}

#[test]
fn a_probe_that_outlasts_another_opening_stays_the_only_one() {
    let health = opened(at(0));
    let first = admit(&health, at(30));
    first.succeeded(at(30), FIRST_BYTE);
    let second = admit(&health, at(30));
    assert_eq!(first.failed(at(31), "stream_broken"), Some(Transition::Opened));
    assert_eq!(refusal(&health, at(70)), Availability::Open { until: at(71) });
    assert_eq!(second.succeeded(at(70), FIRST_BYTE), None);
    assert_eq!(health.availability(at(70)), Availability::Probe);
}

#[test]
fn a_cooldown_is_extended_and_never_shortened() {
    let health = target();
    health.cool_down(at(0), at(20), false);
    health.cool_down(at(1), at(5), false);
    assert_eq!(refusal(&health, at(19)), Availability::Cooling { until: at(20), busy: false });
    health.cool_down(at(1), at(29), false);
    assert_eq!(health.view(at(20)).cooling_for, Some(at(10)));
    assert_eq!(health.availability(at(30)), Availability::Ready);
    succeed(&health, at(30));
    assert_eq!(health.view(at(30)).cooling_for, None);
}

#[test]
fn of_cooldown_and_breaker_the_longer_counts() {
    let health = opened(at(0));
    health.cool_down(at(0), at(10), false);
    assert_eq!(health.availability(at(5)), Availability::Open { until: at(30) });
    health.cool_down(at(0), at(60), false);
    assert_eq!(health.availability(at(5)), Availability::Cooling { until: at(60), busy: false });
    assert_eq!(health.availability(at(60)), Availability::Probe);
}

#[test]
fn rules_can_be_set_at_any_time() {
    let health = target();
    fail(&health, at(0));
    health.settings(BreakerRules { failures: 2, open_for: at(3), successes: 1, ..BreakerRules::default() });
    assert_eq!(fail(&health, at(0)), Some(Transition::Opened));
    assert_eq!(succeed(&health, at(3)), Some(Transition::Closed));
}

#[test]
fn health_figures_follow_the_reports() {
    let health = target();
    assert_eq!((health.latency_ewma(), health.p95_first_byte(), health.error_rate()), (None, None, 0.0));
    for millis in 1..=19 {
        admit(&health, at(0)).succeeded(at(0), Duration::from_millis(millis));
    }
    assert_eq!(health.p95_first_byte(), None, "below 20");
    admit(&health, at(0)).succeeded(at(0), Duration::from_millis(20));
    assert_eq!(health.p95_first_byte(), Some(Duration::from_millis(19)));
    for millis in 1001..=1128 {
        admit(&health, at(0)).succeeded(at(0), Duration::from_millis(millis));
    }
    assert_eq!(health.p95_first_byte(), Some(Duration::from_millis(1122)), "of the last 128");
    let latency = health.latency_ewma().unwrap().as_millis();
    assert!((1100..1128).contains(&latency), "{latency}");

    fail(&health, at(0));
    let rate = health.error_rate();
    assert!(rate > 0.05 && rate < 0.2, "{rate}");
    assert!(health.error_rate_at(at(60)) < rate / 5.0, "it is forgiven in time");
    let (one, two) = (admit(&health, at(0)), admit(&health, at(0)));
    assert_eq!(health.in_flight(), 2);
    drop((one, two));
    assert_eq!(health.view(at(0)).in_flight, 0);
}

#[test]
fn many_threads_get_one_probe() {
    let health = opened(at(0));
    let (probing, probes, go) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (health, probing, probes, go) = (&health, &probing, &probes, &go);
            scope.spawn(move || {
                while !go.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                for round in 0..5_000u64 {
                    let now = at(30 + round * 40);
                    let Ok(admission) = health.admit(now) else { continue };
                    assert_eq!(probing.fetch_add(1, Ordering::SeqCst), 0, "two probes at once");
                    probes.fetch_add(1, Ordering::Relaxed);
                    std::thread::yield_now();
                    probing.fetch_sub(1, Ordering::SeqCst);
                    if (round + thread) % 3 == 0 {
                        drop(admission);
                    } else {
                        admission.failed(now, "still down");
                    }
                }
            });
        }
        go.store(true, Ordering::Release);
    });
    assert!(probes.into_inner() > 1_000);
    assert_eq!(health.in_flight(), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Admit,
    Succeed(usize),
    Fail(usize),
    Drop(usize),
    Cool(u64),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Admit),
        2 => (0usize..8).prop_map(Step::Succeed),
        4 => (0usize..8).prop_map(Step::Fail),
        1 => (0usize..8).prop_map(Step::Drop),
        1 => (0u64..10).prop_map(Step::Cool),
        3 => (0u64..40).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// In any order of steps, at most one probe is in flight, no call is admitted during a wait, `availability` agrees
    /// with `admit`, and calls in flight are counted.
    #[test]
    fn never_more_than_one_probe(steps in steps()) {
        let health = target();
        let mut now = Duration::ZERO;
        // Admitted calls, and whether each is a probe that has not reported yet.
        let mut calls: Vec<(Admission, bool)> = Vec::new();
        for step in steps {
            match step {
                Step::Admit => {
                    let look = health.availability(now);
                    match health.admit(now) {
                        Ok(admission) => {
                            prop_assert!(look.admits());
                            calls.push((admission, look == Availability::Probe));
                        }
                        Err(refusal) => {
                            prop_assert_eq!(refusal, look);
                            let (Availability::Open { until } | Availability::Cooling { until, .. }) = refusal else {
                                return Err(TestCaseError::fail("refused though there"));
                            };
                            prop_assert!(until > now);
                        }
                    }
                }
                Step::Succeed(index) => if let Some((admission, probe)) = calls.get_mut(index) {
                    *probe = false;
                    let transition = admission.succeeded(now, FIRST_BYTE);
                    prop_assert_ne!(transition, Some(Transition::Opened));
                },
                Step::Fail(index) => if let Some((admission, probe)) = calls.get_mut(index) {
                    *probe = false;
                    let opened = admission.failed(now, "x").is_some();
                    prop_assert!(!opened || !health.availability(now).admits());
                },
                Step::Drop(index) => if index < calls.len() {
                    drop(calls.swap_remove(index));
                },
                Step::Cool(seconds) => {
                    health.cool_down(now, at(seconds), false);
                }
                Step::Wait(seconds) => now += at(seconds),
            }
            let probes = calls.iter().filter(|(_, probe)| *probe).count();
            prop_assert!(probes <= 1, "{} probes", probes);
            prop_assert_eq!(health.in_flight() as usize, calls.len());
            if probes == 1 {
                prop_assert!(!health.availability(now).admits());
            }
        }
        drop(calls);
        // The probe is never lost: after all waits, the target is ready or the probe is free.
        prop_assert!(health.availability(now + at(1000)).admits());
    }
}

#[test]
fn a_detached_registry_shows_the_health_of_targets_and_changes_nothing() {
    let registry = HealthRegistry::default();
    let health = registry.instance("a").listed("m");
    let detached = registry.detached();
    assert!(Arc::ptr_eq(&detached.instance("a").listed("m"), &health));
    let strict = BreakerRules { failures: 1, ..BreakerRules::default() };
    detached.instance("a").apply_rules(&health, strict);
    fail(&health, at(1));
    assert!(health.availability(at(1)).admits(), "the rules in force need five failures");
    detached.forget("a");
    detached.instance("a").listed("other");
    assert!(Arc::ptr_eq(&registry.instance("a").listed("m"), &health));
    assert!(!Arc::ptr_eq(&detached.instance("a").listed("m"), &health));
}
