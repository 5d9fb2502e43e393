//! The ledger on both backends: sums equal rows, filters apply equally to both, each id counts once.

use std::collections::BTreeSet;

use domain::clock::Timestamp;
use domain::money::{Cost, Nanos};
use domain::receipt::{Attempt, Receipt};
use domain::usage::Tokens;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::booking::{self, Booking};
use super::{CacheMode, LogSlice, UsageFilter, UsageSummary, rollup};
use crate::Store;
use crate::testing::{complete_receipt, for_each_backend, receipt};

const START: i64 = 1_800_000_000;

pub(super) async fn book(store: &Store, receipts: Vec<Receipt>) {
    store.ledger().book(&receipts).await.unwrap();
}

pub(super) fn everything() -> UsageFilter {
    UsageFilter::between(Timestamp(0), Timestamp(i64::MAX))
}

/// The totals of the log rows, added up independently.
pub(super) async fn added_up(store: &Store, filter: &UsageFilter) -> UsageSummary {
    let (rows, total) = store.ledger().log(filter, 100_000, 0).await.unwrap();
    assert_eq!(rows.len() as i64, total);
    let mut sum = UsageSummary { total_requests: total, ..UsageSummary::default() };
    let add = |sum: &mut Option<Nanos>, cost: Option<Nanos>| {
        if let Some(cost) = cost {
            *sum = Some(sum.unwrap_or_default() + cost);
        }
    };
    for row in rows {
        let tokens = &row.usage.tokens;
        sum.total_input_tokens += tokens.total_input() as i64;
        sum.total_output_tokens += tokens.total_output() as i64;
        sum.total_tokens += tokens.total() as i64;
        sum.total_cached_input_tokens += tokens.cache_read as i64;
        sum.total_cache_write_input_tokens += tokens.cache_write() as i64;
        sum.total_reasoning_tokens += tokens.reasoning as i64;
        add(&mut sum.total_input_cost, row.cost.map(|cost| cost.input));
        add(&mut sum.total_output_cost, row.cost.map(|cost| cost.output));
        add(&mut sum.total_cost, row.total_cost());
        add(&mut sum.total_prompt_cache_savings, row.cost.and(row.prompt_cache_savings.or(Some(Nanos(0)))));
    }
    sum
}

prop_compose! {
    fn tokens()(n in proptest::array::uniform8(prop_oneof![9 => 0u64..100_000, 1 => Just(u64::MAX)])) -> Tokens {
        Tokens { input: n[0], cache_read: n[1], cache_write_5m: n[2], cache_write_1h: n[3], audio_input: n[4],
                 output: n[5], reasoning: n[6], audio_output: n[7] }
    }
}

prop_compose! {
    pub(super) fn any_receipt()(
        second in 0i64..7200, status in prop_oneof![Just(200u16), Just(429), Just(502)], tokens in tokens(),
        cost in proptest::option::of((0i64..1_000_000_000, 0i64..1_000_000_000)),
        path in prop_oneof![Just("/"), Just("/team"), Just("/team/app"), Just("/teams"), Just("/team0"), Just("/team!")],
        cache in prop_oneof![Just(""), Just("exact")], model in prop_oneof![Just("m-1"), Just("m_1"), Just("M%1")],
    ) -> Receipt {
        let mut made = receipt("");
        made.at = Timestamp::from_seconds(START + second);
        made.status = status;
        made.usage.tokens = tokens;
        made.cost = cost.map(|(input, output)| Cost { input: Nanos(input), output: Nanos(output) });
        made.prompt_cache_savings = made.cost.and((second % 3 > 0).then_some(Nanos(second - 3600)));
        (made.user_path, made.cache_type, made.model) = (path.into(), cache.into(), model.into());
        made
    }
}

prop_compose! {
    fn any_filter()(
        from in prop_oneof![Just(0i64), Just(900), 0i64..7200], length in prop_oneof![Just(3600i64), 0i64..7200],
        path in proptest::option::of(prop_oneof![Just("/"), Just("/team"), Just("/team/"), Just("/none")]),
        cache in prop_oneof![Just(CacheMode::All), Just(CacheMode::Cached), Just(CacheMode::Uncached)],
        model in proptest::option::of(Just("m_1")), search in proptest::option::of(prop_oneof![Just("m_"), Just("M%")]),
    ) -> UsageFilter {
        let base = START - START % 900;
        UsageFilter {
            user_path: path.map(str::to_owned), cache, model: model.map(str::to_owned), search: search.map(str::to_owned),
            ..UsageFilter::between(Timestamp::from_seconds(base + from), Timestamp::from_seconds(base + from + length))
        }
    }
}

#[tokio::test]
async fn a_summary_is_the_sum_of_its_rows() {
    let mut runner = TestRunner::deterministic();
    let mut receipts = proptest::collection::vec(any_receipt(), 500).new_tree(&mut runner).unwrap().current();
    for (index, receipt) in receipts.iter_mut().enumerate() {
        receipt.id = format!("r{index}");
    }
    let filters: Vec<UsageFilter> =
        proptest::collection::vec(any_filter(), 150).new_tree(&mut runner).unwrap().current();
    for_each_backend(|store| {
        let (receipts, filters) = (receipts.clone(), filters.clone());
        async move {
            for chunk in receipts.chunks(137) {
                book(&store, chunk.to_vec()).await;
            }
            assert_eq!(store.ledger().count().await.unwrap(), 500);
            for filter in filters.iter().chain([&everything()]) {
                let summary = store.ledger().summary(filter).await.unwrap();
                assert_eq!(summary, added_up(&store, filter).await, "{filter:?}");
                let expected = receipts.iter().filter(|receipt| fits(filter, receipt)).count();
                assert_eq!(summary.total_requests, expected as i64, "{filter:?}");
            }
        }
    })
    .await;
}

/// The filter, implemented independently of the SQL.
fn fits(filter: &UsageFilter, receipt: &Receipt) -> bool {
    let path = domain::user_path::UserPath::parse(filter.user_path.as_deref().unwrap_or("/")).unwrap();
    let needle = filter.search.as_deref().unwrap_or("").to_lowercase();
    (filter.from..filter.until).contains(&receipt.at)
        && path.covers(&domain::user_path::UserPath::parse(&receipt.user_path).unwrap())
        && filter.model.as_ref().is_none_or(|model| *model == receipt.model)
        && match filter.cache {
            CacheMode::All => true,
            CacheMode::Cached => !receipt.cache_type.is_empty(),
            CacheMode::Uncached => receipt.cache_type.is_empty(),
        }
        && (receipt.model.to_lowercase().contains(&needle) || receipt.provider_id.contains(&needle))
}

#[tokio::test]
async fn a_known_receipt_is_booked_once_alone_and_in_a_crowd() {
    for_each_backend(|store| async move {
        book(&store, vec![receipt("r5")]).await;
        book(&store, (0..200).map(|n| receipt(format!("r{n}"))).collect()).await;
        book(&store, vec![receipt("r1"), receipt("new"), receipt("new")]).await;
        let summary = store.ledger().summary(&everything()).await.unwrap();
        assert_eq!((summary.total_requests, summary.total_tokens), (201, 201 * 120));
        assert_eq!(summary, added_up(&store, &everything()).await);
    })
    .await;
}

#[tokio::test]
async fn nothing_priced_is_not_the_same_as_free() {
    for_each_backend(|store| async move {
        book(&store, vec![Receipt { cost: None, ..receipt("a") }]).await;
        assert_eq!(store.ledger().summary(&everything()).await.unwrap().total_cost, None);
        book(&store, vec![Receipt { cost: Some(Cost::default()), ..receipt("b") }]).await;
        assert_eq!(store.ledger().summary(&everything()).await.unwrap().total_cost, Some(Nanos(0)));
    })
    .await;
}

#[tokio::test]
async fn the_log_is_newest_first_and_shows_the_whole_call() {
    for_each_backend(|store| async move {
        let at =
            |n: i64| Receipt { at: Timestamp::from_seconds(START + n % 7), ..receipt(format!("r{n:02}")) };
        book(&store, (0..30).map(at).collect()).await;
        let (page, total) = store.ledger().log(&everything(), 10, 5).await.unwrap();
        assert_eq!((page.len(), total), (10, 30));
        let mut expected: Vec<_> = (0..30).map(at).map(|receipt| (receipt.at, receipt.id)).collect();
        expected.sort_by(|a, b| b.cmp(a));
        let shown: Vec<_> = page.iter().map(|row| (row.at, row.id.clone())).collect();
        assert_eq!(shown, expected[5..15]);
        let row = &page[0];
        assert_eq!(row.auth_key_id.as_deref(), Some("key_1"));
        assert_eq!((row.tenant_id.as_deref(), row.session_id.as_deref()), (None, None));
        assert_eq!(
            (row.usage.tokens.input, row.usage.tokens.output, row.cost_source.as_str()),
            (100, 20, "model_pricing")
        );
        assert!(row.raw_usage.as_ref().unwrap().get().contains("prompt_tokens"));
    })
    .await;
}

/// Every field that is recorded reads back from its row, whether it has a column or not.
#[tokio::test]
async fn a_row_is_the_whole_receipt() {
    for_each_backend(|store| async move {
        let usual = Receipt { attempts: vec![served("main", "m")], model: "m".into(), ..receipt("usual") };
        let aliased = Receipt { requested_model: String::new(), auth_key_id: None, ..receipt("aliased") };
        let aliased = Receipt { auth_method: "master_key".into(), ..aliased };
        let created = Attempt { status: 201, ..served("other", "n") };
        let created = Receipt { attempts: vec![created], ..receipt("created") };
        for written in [complete_receipt(), usual, aliased, created].map(Box::new) {
            book(&store, vec![Receipt::clone(&written)]).await;
            let (rows, _) = store.ledger().log(&everything(), 10, 0).await.unwrap();
            let read = rows.into_iter().find(|row| row.id == written.id).unwrap();
            let expected = Receipt { audit: None, ..*written };
            assert_eq!(serde_json::to_value(read).unwrap(), serde_json::to_value(expected).unwrap());
        }
    })
    .await;
}

fn served(provider_name: &str, model: &str) -> Attempt {
    Attempt {
        provider_name: provider_name.into(),
        model: model.into(),
        status: 200,
        error: None,
        duration_us: 7,
    }
}

/// A declared field has its column in the migrations, and a column of a table has its field.
#[tokio::test]
async fn the_migrations_have_the_declared_columns() {
    for_each_backend(|store| async move {
        let declared: BTreeSet<String> = booking::columns().map(str::to_owned).collect();
        assert_eq!(declared.len(), booking::WIDTH, "no column is declared twice");
        assert_eq!(columns_of(&store, "usage").await, declared);
        for table in &rollup::TABLES {
            let stored = columns_of(&store, table.name).await;
            assert_eq!(stored, table.columns().collect(), "{}", table.name);
        }
    })
    .await;
}

async fn columns_of(store: &Store, table: &str) -> BTreeSet<String> {
    let database = store.database();
    let text = if database.is_postgres() {
        "SELECT CAST(column_name AS TEXT) FROM information_schema.columns WHERE table_name = $1"
    } else {
        "SELECT name FROM pragma_table_info($1)"
    };
    let rows = database.fetch(text, &[table.into()]).await.unwrap();
    rows.iter().map(|row| row.get::<String>(0).unwrap()).collect()
}

#[tokio::test]
async fn filters_take_names_types_and_keys() {
    for_each_backend(|store| async move {
        book(
            &store,
            vec![
                Receipt { provider: "anthropic".into(), provider_name: "eu".into(), ..receipt("a") },
                Receipt { auth_key_id: None, provider_id: "MSG_100%".into(), ..receipt("b") },
            ],
        )
        .await;
        let count = async |change: fn(&mut UsageFilter)| {
            let mut filter = everything();
            change(&mut filter);
            let (rows, total) = store.ledger().log(&filter, 10, 0).await.unwrap();
            assert_eq!(rows.len() as i64, total);
            total
        };
        assert_eq!(count(|filter| filter.provider = Some("eu".into())).await, 1);
        assert_eq!(count(|filter| filter.provider = Some("anthropic".into())).await, 1);
        assert_eq!(count(|filter| filter.auth_key_id = Some("key_1".into())).await, 1);
        assert_eq!(count(|filter| filter.auth_key_id = Some(String::new())).await, 1, "the master key");
        assert_eq!(count(|filter| filter.search = Some("msg_1".into())).await, 1);
        assert_eq!(count(|filter| filter.search = Some("100%".into())).await, 1);
        assert_eq!(
            count(|filter| filter.search = Some("%".into())).await,
            1,
            "a percent sign stands for itself"
        );
        assert_eq!(count(|filter| filter.search = Some("REQ_A".into())).await, 1);
        assert_eq!(count(|filter| filter.model = Some("\0".into())).await, 0);
        assert_eq!(count(|filter| filter.until = filter.from).await, 0);
    })
    .await;
}

#[tokio::test]
async fn hostile_text_and_figures_are_booked_too() {
    for_each_backend(|store| async move {
        let mut hostile = receipt("a\0b");
        hostile.requested_model = "x\0y' OR 1=1 --".into();
        hostile.user_agent = "\0".into();
        hostile.duration_us = u64::MAX;
        hostile.usage.tokens.output = u64::MAX;
        hostile.cost = Some(Cost { input: Nanos(i64::MAX), output: Nanos(i64::MIN) });
        book(&store, vec![hostile]).await;
        assert_eq!(
            store.ledger().summary(&everything()).await.unwrap(),
            added_up(&store, &everything()).await
        );
    })
    .await;
}

#[tokio::test]
async fn old_rows_go_and_their_sums_stay() {
    for_each_backend(|store| async move {
        let at = |n: i64| Receipt { at: Timestamp::from_seconds(START + n), ..receipt(format!("r{n}")) };
        book(&store, (0..100).map(at).collect()).await;
        assert_eq!(store.ledger().delete_before(Timestamp::from_seconds(START + 40), 7).await.unwrap(), 40);
        assert_eq!(store.ledger().count().await.unwrap(), 60);
        assert_eq!(
            store.ledger().log(&everything(), 5, 0).await.unwrap().1,
            60,
            "the log counts what it can show"
        );
        assert_eq!(store.ledger().summary(&everything()).await.unwrap().total_requests, 100);
    })
    .await;
}

#[test]
fn only_what_a_receipt_calls_booked_is_booked() {
    for auth_method in ["", "api_key"] {
        let receipt = Receipt { auth_method: auth_method.into(), ..receipt("a\"b\u{e9}") };
        let booking = Booking::of(&receipt).unwrap();
        assert_eq!(booking.is_some(), receipt.is_booked());
        assert!(booking.is_none_or(|booking| *booking.id == *receipt.id));
    }
}

/// Pages by offset and by cursor return every row once and in order, with any gaps in time.
#[tokio::test]
async fn pages_are_the_whole_log() {
    let mut runner = TestRunner::deterministic();
    let gaps = proptest::collection::vec(prop_oneof![8 => 0i64..300, 1 => 0i64..200_000], 300);
    let gaps = gaps.new_tree(&mut runner).unwrap().current();
    for_each_backend(|store| {
        let gaps = gaps.clone();
        async move {
            let mut second = START;
            let mut receipts = Vec::new();
            for (number, gap) in gaps.iter().enumerate() {
                second += gap;
                let model = if number % 17 == 0 { "rare" } else { "m" }.to_owned();
                let at = Timestamp::from_seconds(second);
                receipts.push(Receipt { at, model, ..receipt(format!("r{:03}", (number * 7) % 300)) });
            }
            book(&store, receipts.clone()).await;
            receipts.sort_by(|one, other| (other.at, &other.id).cmp(&(one.at, &one.id)));
            for model in [None, Some("rare".to_owned())] {
                let filter = UsageFilter { model: model.clone(), ..everything() };
                let fitting =
                    receipts.iter().filter(|receipt| model.as_ref().is_none_or(|m| *m == receipt.model));
                let expected: Vec<&str> = fitting.map(|receipt| &*receipt.id).collect();
                for offset in [0, 1, 7, expected.len() - 3, expected.len(), 1000] {
                    let slice = LogSlice { limit: 5, offset: offset as i64, after: None, with_total: true };
                    let page = store.ledger().page(&filter, &slice).await.unwrap();
                    let ids: Vec<&str> = page.rows.iter().map(|row| &*row.id).collect();
                    let wanted: Vec<&str> = expected.iter().skip(offset).take(5).copied().collect();
                    assert_eq!((ids, page.total), (wanted, Some(expected.len() as i64)), "{offset}");
                    assert_eq!(page.next.is_some(), offset + 5 < expected.len(), "{offset}");
                }
                let mut slice = LogSlice { limit: 11, with_total: true, ..LogSlice::default() };
                let mut seen = Vec::new();
                loop {
                    let page = store.ledger().page(&filter, &slice).await.unwrap();
                    assert_eq!(page.total, Some(expected.len() as i64));
                    seen.extend(page.rows.into_iter().map(|row| row.id));
                    slice.after = page.next;
                    if slice.after.is_none() {
                        break;
                    }
                }
                assert_eq!(seen, expected);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_search_pages_too() {
    for_each_backend(|store| async move {
        let at = |n: i64| Receipt { at: Timestamp::from_seconds(START + n), ..receipt(format!("r{n:02}")) };
        book(&store, (0..30).map(at).collect()).await;
        let filter = UsageFilter { search: Some("req_r1".into()), ..everything() };
        let mut slice = LogSlice { limit: 4, with_total: true, ..LogSlice::default() };
        let mut pages = Vec::new();
        loop {
            let page = store.ledger().page(&filter, &slice).await.unwrap();
            assert_eq!((page.total, page.search_truncated), (Some(10), false));
            pages.push(page.rows.len());
            slice.after = page.next;
            if slice.after.is_none() {
                break;
            }
        }
        assert_eq!(pages, [4, 4, 2]);
        let uncounted = LogSlice { limit: 4, ..LogSlice::default() };
        let page = store.ledger().page(&filter, &uncounted).await.unwrap();
        assert_eq!((page.rows.len(), page.total, page.next.is_some()), (4, None, true));
    })
    .await;
}
