//! Sums of hits and comparisons on both backends.

use super::*;
use crate::testing::for_each_backend;

const HOUR: i64 = 3600;
const START: i64 = 1_799_971_200;

fn at(second: i64) -> Timestamp {
    Timestamp::from_seconds(START + second)
}

fn checks(shadow_hits: i64, rechecks: i64, disagreements: i64) -> SemanticChecks {
    SemanticChecks { shadow_hits, rechecks, disagreements }
}

#[tokio::test]
async fn sums_are_added_and_read_by_time_and_path() {
    for_each_backend(|store| async move {
        let ledger = store.ledger();
        let add_of = async |tenant: &str, second: i64, path: &str, checks| {
            let (tenant_id, user_path) = (tenant.to_owned(), path.to_owned());
            let sums = SemanticCheckSums { at: at(second), tenant_id, user_path, checks };
            ledger.add_semantic_checks(&[sums]).await.unwrap();
        };
        let add = async |second: i64, path: &str, checks| add_of("", second, path, checks).await;
        add(10, "/a", checks(1, 1, 0)).await;
        add(20, "/a", checks(2, 1, 1)).await;
        add(HOUR, "/a/b", checks(4, 0, 0)).await;
        add(HOUR, "/ab", checks(8, 8, 8)).await;
        let sum = async |from: i64, until: i64, path: Option<&str>| {
            let filter = UsageFilter {
                user_path: path.map(str::to_owned),
                ..UsageFilter::between(at(from), at(until))
            };
            ledger.semantic_checks(&filter).await.unwrap()
        };
        assert_eq!(sum(0, 2 * HOUR, None).await, checks(15, 10, 9));
        assert_eq!(sum(0, 2 * HOUR, Some("/a")).await, checks(7, 2, 1));
        assert_eq!(sum(0, HOUR, Some("/")).await, checks(3, 2, 1));
        assert_eq!(sum(2 * HOUR, 3 * HOUR, None).await, SemanticChecks::default());
        assert_eq!(ledger.delete_semantic_checks_before(at(HOUR)).await.unwrap(), 1);
        assert_eq!(sum(0, 2 * HOUR, None).await, checks(12, 8, 8));
        add_of("acme", HOUR, "/ab", checks(16, 1, 0)).await;
        add_of("acme", HOUR, "/ab", checks(16, 0, 0)).await;
        assert_eq!(sum(0, 2 * HOUR, Some("/ab")).await, checks(40, 9, 8));
        let of_tenant =
            UsageFilter { tenant_id: Some("acme".into()), ..UsageFilter::between(at(0), at(2 * HOUR)) };
        assert_eq!(ledger.semantic_checks(&of_tenant).await.unwrap(), checks(32, 1, 0));
    })
    .await;
}

#[test]
fn a_rate_needs_comparisons() {
    assert_eq!(checks(5, 0, 0).false_hit_rate(), None);
    assert_eq!(checks(5, 4, 1).false_hit_rate(), Some(0.25));
}

#[test]
fn the_interval_of_a_rate_narrows_with_comparisons() {
    assert_eq!(checks(5, 0, 0).false_hit_interval(), None);
    // Values of published tables.
    for (rechecks, disagreements, low, high) in
        [(10, 0, 0.0, 0.2775), (10, 1, 0.0179, 0.4042), (100, 5, 0.0215, 0.1118), (10, 10, 0.7225, 1.0)]
    {
        let (found_low, found_high) = checks(0, rechecks, disagreements).false_hit_interval().unwrap();
        assert!((found_low - low).abs() < 1e-4, "{disagreements} of {rechecks}: {found_low}");
        assert!((found_high - high).abs() < 1e-4, "{disagreements} of {rechecks}: {found_high}");
    }
}
