//! Filters: each finds its own entries, in the database and in memory.

use domain::clock::Timestamp;
use domain::receipt::Receipt;

use super::{at, everything, exactly, fill, page};
use crate::AuditFilter;
use crate::testing::for_each_backend;

/// Filters and the ids that each of them finds.
fn filters() -> Vec<(AuditFilter, &'static str)> {
    let text = |text: &str| Some(text.to_owned());
    let base = everything();
    vec![
        (
            AuditFilter {
                from: Timestamp::from_seconds(2000),
                until: Timestamp::from_seconds(4000),
                ..base.clone()
            },
            "bc",
        ),
        (AuditFilter { user_path: text("/team"), ..base.clone() }, "abde"),
        (AuditFilter { user_path: text("/team/app"), ..base.clone() }, "ade"),
        (AuditFilter { status: Some(500), ..base.clone() }, "b"),
        (AuditFilter { failed: Some(true), ..base.clone() }, "bf"),
        (AuditFilter { failed: Some(false), ..base.clone() }, "acde"),
        (AuditFilter { failed: Some(true), user_path: text("/team"), ..base.clone() }, "b"),
        (AuditFilter { failed: Some(true), stream: Some(true), ..base.clone() }, "f"),
        (AuditFilter { failed: Some(true), session_id: text("s"), ..base.clone() }, ""),
        (AuditFilter { error_type: text("provider_error"), ..base.clone() }, "b"),
        (AuditFilter { stream: Some(true), ..base.clone() }, "cf"),
        (AuditFilter { stream: Some(false), ..base.clone() }, "abde"),
        (AuditFilter { requested_model: text("100%_o"), ..base.clone() }, "c"),
        (AuditFilter { method: text("GET"), ..base.clone() }, "d"),
        (AuditFilter { path: text("/v1/chat/completions"), ..base.clone() }, "abcdef"),
        (AuditFilter { path: text("/v1/messages"), ..base.clone() }, ""),
        (AuditFilter { auth_key_id: text("key_2"), ..base.clone() }, "d"),
        (AuditFilter { tenant_id: text("other"), ..base.clone() }, ""),
        (AuditFilter { session_id: text("s"), ..base.clone() }, "d"),
        (AuditFilter { session_id: text("s"), method: text("PUT"), ..base.clone() }, ""),
        (AuditFilter { provider: text("x"), ..base.clone() }, "e"),
        (AuditFilter { provider: text("y"), ..base.clone() }, "e"),
        (AuditFilter { provider: text("openai"), ..base.clone() }, "abcdf"),
        (AuditFilter { search: text("it broke"), ..base.clone() }, "e"),
        (AuditFilter { search: text("%_"), ..base.clone() }, "c"),
        (AuditFilter { search: text("REQ_B"), ..base.clone() }, "b"),
        (AuditFilter { search: text("'; DROP TABLE audit; --"), ..base }, ""),
    ]
}

fn calls() -> Vec<Receipt> {
    vec![
        at("a", 1000),
        Receipt {
            user_path: "/team".into(),
            status: 500,
            error_type: Some("provider_error".into()),
            ..at("b", 2000)
        },
        Receipt {
            user_path: "/teams".into(),
            stream: true,
            requested_model: "100%_o".into(),
            ..at("c", 3000)
        },
        Receipt {
            method: "GET".into(),
            auth_key_id: Some("key_2".into()),
            session_id: Some("s".into()),
            ..at("d", 4000)
        },
        Receipt {
            provider: "x".into(),
            provider_name: "y".into(),
            error_message: Some("It BROKE".into()),
            ..at("e", 5000)
        },
        Receipt {
            user_path: "/others".into(),
            stream: true,
            error_type: Some("stream_error".into()),
            ..at("f", 6000)
        },
    ]
}

#[tokio::test]
async fn every_filter_finds_its_own() {
    for_each_backend(|store| async move {
        fill(&store, calls()).await;
        for (filter, expected) in filters() {
            let found = page(&store, &filter).await;
            let ids: String = found.entries.iter().map(|entry| entry.id.as_str()).collect();
            assert_eq!((ids.as_str(), found.total), (expected, exactly(expected.len() as i64)), "{filter:?}");
            assert!(!found.truncated);
            let calls = calls();
            let matching: String =
                calls.iter().filter(|call| filter.matches(call)).map(|call| call.id.as_str()).collect();
            assert_eq!(matching, expected, "in memory: {filter:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn failed_calls_are_found_and_counted_beyond_what_a_page_examines() {
    for_each_backend(|store| async move {
        let status = |n: i64| if n % 150 == 0 { 502 } else { 200 };
        let receipts = (0..400).map(|n| Receipt { status: status(n), ..at(&format!("r{n:03}"), n) });
        fill(&store, receipts.collect()).await;
        let filter = AuditFilter { failed: Some(true), ..everything() };
        let found = page(&store, &filter).await;
        let ids: Vec<&str> = found.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!((ids, found.total, found.truncated), (vec!["r000", "r150", "r300"], exactly(3), false));
        assert_eq!(store.audit().stats(&filter).await.unwrap().count, 3);
    })
    .await;
}
