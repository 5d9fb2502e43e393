//! Pages, single entries, statistics and conversations.

use domain::clock::Timestamp;
use domain::receipt::{Audited, Receipt, TraceContext};
use domain::usage::Usage;

use super::{at, audited, entry, everything, exactly, fill, ids, page, slice};
use crate::testing::{complete_receipt, for_each_backend};
use crate::{AuditFilter, AuditSlice, AuditSort, Store};

#[tokio::test]
async fn an_entry_reads_back_as_the_receipt() {
    for_each_backend(|store| async move {
        let refused = Receipt { auth_method: String::new(), ..audited("refused") };
        for written in [complete_receipt(), refused, audited("b")].map(Box::new) {
            fill(&store, vec![Receipt::clone(&written)]).await;
            let found = entry(&store, &written.id).await;
            let expected = serde_json::to_value(recorded(*written)).unwrap();
            assert_eq!(serde_json::to_value(found).unwrap(), expected);
        }
    })
    .await;
}

/// The receipt as far as an entry records it.
fn recorded(receipt: Receipt) -> Receipt {
    let tokens =
        Usage { tokens: receipt.usage.tokens, estimated: receipt.usage.estimated, ..Usage::default() };
    let trace = |trace: TraceContext| TraceContext { trace_id: trace.trace_id, ..TraceContext::default() };
    let mut audit = receipt.audit.unwrap();
    audit.request_body = audit.request_body.map(|body| body.replace('\0', "\u{fffd}"));
    Receipt {
        run_id: None,
        resumed: 0,
        usage: tokens,
        raw_usage: None,
        pricing_version: None,
        cache_miss: false,
        prompt_cache_savings: None,
        unbooked: false,
        trace: receipt.trace.map(trace),
        audit: Some(audit),
        ..receipt
    }
}

#[tokio::test]
async fn pages_follow_each_other_in_every_order() {
    for_each_backend(|store| async move {
        let receipts: Vec<Receipt> = (0..10)
            .map(|n| Receipt { duration_us: (n * 7 % 10) as u64, ..at(&format!("r{n}"), 1000 + n / 2) })
            .collect();
        fill(&store, receipts).await;
        let oldest = ids(&store).await;
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let audit = store.audit();
            let page =
                audit.page(&everything(), AuditSort::Newest, slice(3, 0, cursor.as_ref())).await.unwrap();
            assert_eq!(page.total, exactly(10));
            seen.extend(page.entries.into_iter().map(|entry| entry.id));
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        seen.reverse();
        assert_eq!(seen, oldest);
        let uncounted = AuditSlice { with_total: false, ..slice(3, 0, None) };
        let page = store.audit().page(&everything(), AuditSort::Newest, uncounted).await.unwrap();
        assert_eq!((page.entries.len(), page.total, page.next.is_some()), (3, None, true));
        let slow = store.audit().page(&everything(), AuditSort::Slowest, slice(3, 1, None)).await.unwrap();
        let durations: Vec<u64> = slow.entries.iter().map(|entry| entry.duration_us).collect();
        assert_eq!((durations, slow.next), (vec![8, 7, 6], None));
        let (pieces, end) = store.audit().piece(&everything(), None).await.unwrap();
        let pieces: Vec<String> = pieces.into_iter().map(|entry| entry.id).collect();
        assert_eq!(end, None);
        assert_eq!(pieces, oldest);
    })
    .await;
}

#[tokio::test]
async fn a_filter_reaches_all_of_the_period_however_much_is_between() {
    for_each_backend(|store| async move {
        // Three entries per timestamp; between the matching ones lie more entries than are examined for one page.
        let path = |n: i64| if n % 90 == 1 { "/team/app" } else { "/others" };
        let receipts =
            (0..400).map(|n| Receipt { user_path: path(n).into(), ..at(&format!("r{n:03}"), n / 3) });
        fill(&store, receipts.collect()).await;
        let filter = AuditFilter { user_path: Some("/team".into()), ..everything() };
        for sort in [AuditSort::Newest, AuditSort::Oldest] {
            let (mut seen, mut cursor, mut pages) = (Vec::new(), None, 0);
            loop {
                let page = store.audit().page(&filter, sort, slice(2, 0, cursor.as_ref())).await.unwrap();
                seen.extend(page.entries.into_iter().map(|entry| entry.id));
                pages += 1;
                assert!(page.next.is_some() || !page.truncated);
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            if sort == AuditSort::Newest {
                seen.reverse();
            }
            assert_eq!(seen, ["r001", "r091", "r181", "r271", "r361"]);
            assert!(pages > 5, "{pages}");
        }
        assert_eq!(newest(&store, &filter).await, ["r361", "r271", "r181", "r091", "r001"]);
        assert_eq!(newest(&store, &everything()).await.len(), 400);
    })
    .await;
}

#[tokio::test]
async fn a_page_without_data_has_no_headers_and_bodies() {
    for_each_backend(|store| async move {
        fill(&store, vec![audited("a")]).await;
        let part = AuditSlice { with_data: false, ..slice(10, 0, None) };
        let page = store.audit().page(&everything(), AuditSort::Newest, part).await.unwrap();
        let whole = entry(&store, "a").await;
        let audit = Audited {
            request_headers: Vec::new(),
            request_body: None,
            response_body: None,
            ..*whole.audit.unwrap()
        };
        assert_eq!((page.entries.len(), page.entries[0].audit.as_deref()), (1, Some(&audit)));
    })
    .await;
}

#[tokio::test]
async fn a_request_id_finds_its_newest_matching_entry() {
    for_each_backend(|store| async move {
        let sent = |id: &str, seconds, path: &str| Receipt {
            request_id: "same".into(),
            user_path: path.into(),
            ..at(id, seconds)
        };
        fill(&store, vec![sent("a", 1, "/team"), sent("b", 2, "/team/app"), sent("c", 3, "/others")]).await;
        let team = AuditFilter { user_path: Some("/team".into()), ..everything() };
        for (request, filter, expected) in
            [("same", everything(), Some("c")), ("same", team, Some("b")), ("other", everything(), None)]
        {
            let found = store.audit().find_by_request(request, &filter).await.unwrap();
            assert_eq!(found.map(|entry| entry.id).as_deref(), expected, "{filter:?}");
        }
    })
    .await;
}

/// The ids of all entries, newest first, read two at a time.
async fn newest(store: &Store, filter: &AuditFilter) -> Vec<String> {
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let (entries, next) = store.audit().newest(filter, 2, cursor.as_ref()).await.unwrap();
        seen.extend(entries.into_iter().map(|entry| entry.id));
        cursor = next;
        if cursor.is_none() {
            return seen;
        }
    }
}

#[tokio::test]
async fn a_session_that_others_use_too_is_found_whole() {
    for_each_backend(|store| async move {
        let session = |id: &str, seconds, key: &str| {
            turn(id, seconds, |receipt, _| {
                receipt.session_id = Some("default".into());
                receipt.auth_key_id = (!key.is_empty()).then(|| key.to_owned());
            })
        };
        let mut turns = vec![session("a", 1, "mine"), session("b", 100, "mine"), session("c", 200, "mine")];
        turns.extend((0..60).map(|n| session(&format!("x{n}"), 80 + n, "other")));
        turns.extend([session("m", 90, ""), session("n", 110, "")]);
        fill(&store, turns).await;
        assert_eq!(conversation(&store, "b", 5).await, "abc");
        assert_eq!(conversation(&store, "m", 5).await, "mn");
        let anchor = entry(&store, "b").await;
        let found = store.audit().conversation(anchor, 5, |_| true).await.unwrap();
        assert!(found.iter().all(|entry| entry.audit.as_ref().unwrap().request_body.is_some()));
        assert!(found.iter().all(|entry| !entry.audit.as_ref().unwrap().request_headers.is_empty()));
    })
    .await;
}

#[tokio::test]
async fn a_paged_export_is_complete() {
    for_each_backend(|store| async move {
        let receipts: Vec<Receipt> = (0..450)
            .map(|n| Receipt {
                status: if n == 333 { 500 } else { 200 },
                ..at(&format!("r{n:03}"), 1000 + n / 7)
            })
            .collect();
        fill(&store, receipts).await;
        for (status, expected) in [(None, 450), (Some(500), 1)] {
            let filter = AuditFilter { status, ..everything() };
            let (mut seen, mut cursor, mut pieces) = (Vec::new(), None, 0);
            loop {
                let (entries, end) = store.audit().piece(&filter, cursor.as_ref()).await.unwrap();
                seen.extend(entries.into_iter().map(|entry| entry.id));
                pieces += 1;
                cursor = end;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!((seen.len(), pieces), (expected, 3));
            assert!(seen.is_sorted());
        }
    })
    .await;
}

#[tokio::test]
async fn the_count_of_a_period_is_that_of_its_rows() {
    for_each_backend(|store| async move {
        let receipts: Vec<Receipt> = (0..40).map(|n| at(&format!("r{n}"), n * 300)).collect();
        fill(&store, receipts).await;
        for (from, until) in
            [(0, 12_000), (900, 1800), (901, 8999), (100, 200), (300, 301), (899, 902), (5, 5)]
        {
            let filter = AuditFilter::between(Timestamp::from_seconds(from), Timestamp::from_seconds(until));
            let expected = (0..40).filter(|n| (from..until).contains(&(n * 300))).count();
            assert_eq!(page(&store, &filter).await.total, exactly(expected as i64), "{from}..{until}");
        }
        let stats = store.audit().stats(&everything()).await.unwrap();
        assert_eq!((stats.count, stats.errors, stats.p50_us, stats.truncated), (40, 0, Some(812_345), false));
        assert_eq!(stats.by_provider["main"], 40);
    })
    .await;
}

fn turn(id: &str, seconds: i64, change: impl FnOnce(&mut Receipt, &mut Audited)) -> Receipt {
    let mut receipt = at(id, seconds);
    let mut audit = receipt.audit.take().unwrap();
    change(&mut receipt, &mut audit);
    Receipt { audit: Some(audit), ..receipt }
}

async fn conversation(store: &Store, anchor: &str, limit: usize) -> String {
    let anchor = entry(store, anchor).await;
    let visible = |entry: &crate::AuditEntry| entry.user_path != "/hidden";
    let found = store.audit().conversation(anchor, limit, visible).await.unwrap();
    found.iter().map(|entry| entry.id.as_str()).collect()
}

#[tokio::test]
async fn conversations_are_found_from_any_of_their_turns() {
    for_each_backend(|store| async move {
        let some = |text: &str| Some(text.to_owned());
        fill(
            &store,
            vec![
                turn("a", 1, |receipt, _| receipt.response_id = some("r1")),
                turn("b", 2, |receipt, _| {
                    (receipt.response_id, receipt.previous_response_id) = (some("r2"), some("r1"))
                }),
                turn("c", 3, |receipt, _| receipt.previous_response_id = some("r2")),
                turn("d", 4, |_, audit| audit.thread = some("t1")),
                turn("e", 5, |_, audit| (audit.thread, audit.parent) = (some("t2"), some("t1"))),
                turn("f", 6, |_, audit| (audit.thread, audit.parent) = (some("t3"), some("t2"))),
                turn("g", 7, |receipt, _| receipt.session_id = some("s")),
                turn("h", 8, |receipt, _| receipt.session_id = some("s")),
                turn("i", 9, |receipt, _| {
                    receipt.session_id = some("s");
                    receipt.auth_key_id = some("another");
                }),
                turn("j", 10, |receipt, _| {
                    receipt.session_id = some("s");
                    receipt.user_path = "/hidden".into();
                }),
                turn("k", 11, |_, _| ()),
            ],
        )
        .await;
        for (anchor, limit, expected) in [
            ("a", 40, "abc"),
            ("b", 40, "abc"),
            ("c", 40, "abc"),
            ("d", 40, "def"),
            ("e", 40, "def"),
            ("f", 40, "def"),
            ("f", 2, "ef"),
            ("f", 1, "f"),
            ("g", 40, "gh"),
            ("h", 40, "gh"),
            ("i", 40, "i"),
            ("k", 40, "k"),
        ] {
            assert_eq!(conversation(&store, anchor, limit).await, expected, "{anchor} {limit}");
        }
    })
    .await;
}
