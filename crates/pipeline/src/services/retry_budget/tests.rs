//! Tests of the retry and hedge budgets.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{HedgeBudget, RetryBudget};

#[test]
fn three_retries_are_always_allowed() {
    let budget = RetryBudget::default();
    let retries: Vec<_> = (0..3).map(|_| budget.try_retry(1).unwrap()).collect();
    assert!(budget.try_retry(1).is_none());
    drop(retries);
    assert!(budget.try_retry(1).is_some());
}

#[test]
fn a_fifth_of_the_calls_under_way_may_be_retries() {
    let budget = RetryBudget::default();
    let mut retries: Vec<_> = std::iter::from_fn(|| budget.try_retry(100)).collect();
    assert_eq!(retries.len(), 20);
    retries.truncate(10);
    assert!(budget.try_retry(50).is_none());
    retries.pop();
    assert!(budget.try_retry(50).is_some());
}

#[test]
fn retries_are_counted_exactly_under_concurrency() {
    let budget = RetryBudget::default();
    let under_way = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    let guards: Vec<_> = (0..4).map_while(|_| budget.try_retry(40)).collect();
                    let held = guards.len() as u32;
                    assert!(under_way.fetch_add(held, Ordering::SeqCst) + held <= 8);
                    under_way.fetch_sub(held, Ordering::SeqCst);
                    drop(guards);
                }
            });
        }
    });
    assert_eq!(std::iter::from_fn(|| budget.try_retry(40)).map(std::mem::forget).count(), 8);
}

#[test]
fn hedges_stay_within_their_share() {
    let budget = HedgeBudget::default();
    assert!(!budget.try_hedge(0.1));
    (0..9).for_each(|_| budget.call());
    assert!(!budget.try_hedge(0.1));
    budget.call();
    assert!(budget.try_hedge(0.1));
    assert!(!budget.try_hedge(0.1));
    assert!(!budget.try_hedge(0.0));
}

#[test]
fn a_long_calm_saves_up_no_storm() {
    let budget = HedgeBudget::default();
    (0..100_000).for_each(|_| budget.call());
    let burst = (0..10_000).filter(|_| budget.try_hedge(0.1)).count();
    assert!((51..=102).contains(&burst), "{burst}");
}

#[test]
fn the_share_holds_under_concurrency() {
    let budget = HedgeBudget::default();
    let (calls, hedges) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    calls.fetch_add(1, Ordering::SeqCst);
                    budget.call();
                    if budget.try_hedge(0.05) {
                        let hedges = hedges.fetch_add(1, Ordering::SeqCst) + 1;
                        let calls = calls.load(Ordering::SeqCst);
                        assert!(f64::from(hedges) <= 0.05 * f64::from(calls), "{hedges} of {calls}");
                    }
                }
            });
        }
    });
    let hedges = hedges.into_inner();
    println!("hedges: {hedges} of 80000 calls at a share of 5 %");
    assert!(hedges > 3_500, "the share can be used: {hedges}");
}
