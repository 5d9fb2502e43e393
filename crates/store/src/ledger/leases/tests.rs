//! Tests of leases on budgets, on PostgreSQL: nothing is granted beyond the amount, and leases follow their journal.

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::{Cost, Nanos};
use domain::receipt::Receipt;

use super::*;
use crate::testing::{for_each_backend, journal, journal_config, receipt};
use crate::{Drainer, Journal, ShardId, Store};

const START: i64 = 1_800_000_000;
const NOW: Timestamp = Timestamp::from_seconds(START);

fn window(budget: &str) -> LeaseKey {
    LeaseKey { budget: budget.into(), opened: Timestamp::from_seconds(START - 60) }
}

fn need(budget: &str, path: &str, used: i64) -> LeaseNeed {
    let scope = LeaseScope { user_path: path.to_owned(), ..LeaseScope::default() };
    LeaseNeed { key: window(budget), until: Timestamp::from_seconds(START + 3600), scope, used: Nanos(used) }
}

fn ask(budget: &str, need: i64, want: i64) -> LeaseAsk {
    let (need, want) = (Nanos(need), Nanos(want));
    LeaseAsk { path: 1, key: window(budget), amount: Nanos(100), need, want, since: i64::MAX }
}

/// Creates windows with a base of 0.
async fn create(store: &Store, journal: &str, windows: &[(&str, &str)]) {
    let leases = store.ledger().leases();
    let needs: Vec<LeaseNeed> = windows.iter().map(|(budget, path)| need(budget, path, 0)).collect();
    let own = leases.ensure(journal, &needs).await.unwrap();
    assert!(own.iter().all(|lease| lease.left == Nanos::ZERO));
    let change = |(budget, _): &(&str, &str)| BaseChange { key: window(budget), old: None, new: Nanos::ZERO };
    leases.set_bases(&windows.iter().map(change).collect::<Vec<_>>()).await.unwrap();
}

/// The granted and the booked amount of each journal's lease on a window.
async fn rows(store: &Store, budget: &str) -> Vec<(String, i64, i64)> {
    let all = store.ledger().leases().all(NOW).await.unwrap();
    let of = all.into_iter().filter(|lease| &*lease.key.budget == budget);
    of.map(|lease| (lease.journal, lease.granted.0, lease.booked.0)).collect()
}

async fn leased(store: &Store, budget: &str) -> i64 {
    let text = "SELECT leased FROM budget_windows WHERE budget = $1";
    store.database().fetch(text, &[budget.into()]).await.unwrap()[0].get(0).unwrap()
}

async fn on_postgres<F: Future<Output = ()>>(test: impl Fn(Store) -> F) {
    for_each_backend(|store| {
        let running = store.ledger().leases().are_used().then(|| test(store.clone()));
        async {
            if let Some(running) = running {
                running.await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_tables_are_empty_on_sqlite() {
    for_each_backend(|store| async move {
        assert_eq!(store.ledger().leases().all(NOW).await.unwrap(), []);
        store.ledger().leases().close("x").await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_path_is_taken_as_a_whole_or_not_at_all() {
    on_postgres(|store| async move {
        let leases = store.ledger().leases();
        let missing = leases.take("a", &[ask("/", 1, 1)], 2).await.unwrap();
        assert_eq!(missing, [], "no window");
        leases.ensure("a", &[need("/", "/", 0)]).await.unwrap();
        let unread = leases.take("a", &[ask("/", 1, 1)], 2).await.unwrap();
        assert!(!unread[0].is_granted, "the spending is not known");
        create(&store, "a", &[("/", "/"), ("/t", "/t")]).await;

        let taken = leases.take("a", &[ask("/", 10, 30), ask("/t", 60, 0)], 2).await.unwrap();
        let got: Vec<i64> = taken.iter().map(|taken| taken.got.0).collect();
        assert!(taken.iter().all(|taken| taken.is_granted) && got.iter().sum::<i64>() == 90, "{taken:?}");
        let taken = leases.take("b", &[ask("/", 10, 30), ask("/t", 41, 41)], 2).await.unwrap();
        assert!(taken.iter().all(|taken| !taken.is_granted && taken.got == Nanos::ZERO));
        let short = taken.iter().find(|taken| taken.key == window("/t")).unwrap();
        assert_eq!((short.rest.0, short.wanted, short.unanswered), (40, 1, 1));
        let enough = taken.iter().find(|taken| taken.key == window("/")).unwrap();
        assert_eq!((enough.rest.0, enough.unanswered), (70, 1));

        let refill = LeaseAsk { path: 2, ..ask("/", 0, 1000) };
        let taken = leases.take("b", &[ask("/t", 40, 40), refill], 7).await.unwrap();
        assert!(taken.iter().all(|taken| taken.is_granted));
        assert_eq!((leased(&store, "/").await, leased(&store, "/t").await), (40, 100));
        let full = leases.take("b", &[LeaseAsk { path: 2, ..ask("/t", 0, 9) }], 2).await.unwrap();
        assert!(full[0].is_granted && full[0].got == Nanos::ZERO && full[0].wanted == 1, "{full:?}");
    })
    .await;
}

#[tokio::test]
async fn grants_are_durable_whatever_the_default_of_the_server_is() {
    on_postgres(|store| async move {
        let leases = store.ledger().leases();
        create(&store, "a", &[("/", "/")]).await;
        // Records the setting of each transaction. It is off by default on a server of `scripts/postgres.sh`.
        let database = store.database();
        for text in [
            "CREATE TABLE commits (setting TEXT NOT NULL)",
            "CREATE FUNCTION record_commit() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN INSERT INTO commits SELECT current_setting('synchronous_commit'); RETURN NULL; END $$",
            "CREATE TRIGGER commits AFTER INSERT OR UPDATE ON budget_leases \
             FOR EACH ROW EXECUTE FUNCTION record_commit()",
        ] {
            database.execute(text, &[]).await.unwrap();
        }
        leases.take("a", &[ask("/", 10, 10)], 1).await.unwrap();
        leases.ensure("b", &[need("/", "/", 10)]).await.unwrap();
        let rows = database.fetch("SELECT setting FROM commits", &[]).await.unwrap();
        let settings: Vec<String> = rows.iter().map(|row| row.get(0).unwrap()).collect();
        assert!(settings.len() >= 2 && settings.iter().all(|setting| setting == "on"), "{settings:?}");
    })
    .await;
}

#[tokio::test]
async fn giving_back_answers_and_frees() {
    on_postgres(|store| async move {
        let leases = store.ledger().leases();
        create(&store, "a", &[("/", "/")]).await;
        leases.take("a", &[ask("/", 100, 100)], 1).await.unwrap();
        let short = leases.take("b", &[ask("/", 30, 30)], 1).await.unwrap();
        assert_eq!((short[0].is_granted, short[0].wanted, short[0].unanswered), (false, 1, 1));
        let recalled = leases.recalled("a", NOW).await.unwrap();
        assert_eq!((recalled.len(), recalled[0].left.0, recalled[0].answered), (1, 100, 0));

        leases.give("a", &[LeaseGift { key: window("/"), free: Nanos(101) }]).await.unwrap();
        assert_eq!(leased(&store, "/").await, 100, "more than is left");
        leases.give("a", &[LeaseGift { key: window("/"), free: Nanos(70) }]).await.unwrap();
        assert_eq!(leases.recalled("a", NOW).await.unwrap(), []);
        let again = leases.take("b", &[LeaseAsk { since: 1, ..ask("/", 71, 71) }], 1).await.unwrap();
        assert_eq!((again[0].is_granted, again[0].rest.0, again[0].unanswered), (false, 70, 0));
        assert!(leases.take("b", &[ask("/", 70, 70)], 1).await.unwrap()[0].is_granted);
        assert_eq!(rows(&store, "/").await, [("a".to_owned(), 30, 0), ("b".to_owned(), 70, 0)]);
    })
    .await;
}

#[tokio::test]
async fn what_is_used_is_leased_without_condition_and_once() {
    on_postgres(|store| async move {
        let leases = store.ledger().leases();
        create(&store, "a", &[("/", "/")]).await;
        for _ in 0..2 {
            let own = leases.ensure("a", &[need("/", "/", 130)]).await.unwrap();
            assert_eq!((own[0].left.0, own[0].has_base), (130, true));
        }
        assert_eq!(leased(&store, "/").await, 130);
        leases.ensure("a", &[need("/", "/", 20)]).await.unwrap();
        assert_eq!(leases.own("a", NOW).await.unwrap()[0].left.0, 130);
        assert!(!leases.take("b", &[ask("/", 1, 1)], 1).await.unwrap()[0].is_granted);
    })
    .await;
}

fn call(id: &str, path: &str, cost: i64) -> Receipt {
    Receipt {
        at: NOW,
        user_path: path.to_owned(),
        cost: Some(Cost { input: Nanos(cost), output: Nanos::ZERO }),
        ..receipt(id)
    }
}

fn close(journal: &Journal, id: &str, path: &str, cost: i64) {
    journal.close_call(&call(id, path, cost), ShardId::SHARED).unwrap();
}

#[tokio::test]
async fn receipts_are_booked_under_the_leases_of_their_journal() {
    on_postgres(|store| async move {
        let (directory, leases) = (tempfile::tempdir().unwrap(), store.ledger().leases());
        let journal = journal(journal_config(directory.path()));
        create(&store, journal.name(), &[("/", "/"), ("/t", "/t")]).await;
        create(&store, "other", &[("/", "/")]).await;
        leases.take(journal.name(), &[ask("/", 50, 50), ask("/t", 50, 50)], 1).await.unwrap();
        close(&journal, "1", "/t/x", 7);
        close(&journal, "2", "/u", 5);
        Drainer::new(journal.clone(), store.clone()).drain_all().await;
        assert!(rows(&store, "/").await.contains(&(journal.name().to_owned(), 50, 12)));
        assert!(rows(&store, "/").await.contains(&("other".to_owned(), 0, 0)));
        assert_eq!(rows(&store, "/t").await, [(journal.name().to_owned(), 50, 7)]);

        // A receipt that is read again counts once.
        close(&journal, "1", "/t/x", 7);
        Drainer::new(journal.clone(), store.clone()).drain_all().await;
        assert_eq!(rows(&store, "/t").await, [(journal.name().to_owned(), 50, 7)]);
        let reading = store.ledger().spending_and_windows(&[], NOW).await.unwrap();
        let of = reading.windows.iter().find(|figures| figures.key == window("/")).unwrap();
        assert_eq!((of.base, of.booked.0), (Some(Nanos::ZERO), 12));
    })
    .await;
}

#[tokio::test]
async fn a_lease_is_stranded_until_its_journal_is_drained() {
    on_postgres(|store| async move {
        let (directory, leases) = (tempfile::tempdir().unwrap(), store.ledger().leases());
        let dead = journal(journal_config(directory.path()));
        let name = dead.name().to_owned();
        create(&store, &name, &[("/", "/")]).await;
        leases.take(&name, &[ask("/", 100, 100)], 1).await.unwrap();
        close(&dead, "1", "/", 40);
        drop(dead);
        assert!(!leases.take("b", &[ask("/", 1, 1)], 1).await.unwrap()[0].is_granted);

        // As another process reads it: what was leased is in the database alone.
        leases.scopes.forget(&name);
        let live = journal(journal_config(directory.path()));
        Drainer::new(live, store.clone()).drain_all().await;
        assert!(rows(&store, "/").await.contains(&(name, 40, 40)));
        assert_eq!(leased(&store, "/").await, 40);
        let taken = leases.take("b", &[ask("/", 60, 60)], 1).await.unwrap();
        assert!(taken[0].is_granted && taken[0].rest == Nanos::ZERO, "{taken:?}");
    })
    .await;
}

#[tokio::test]
async fn concurrent_takes_grant_the_amount_exactly() {
    on_postgres(|store| async move {
        create(&store, "a", &[("/", "/"), ("/t", "/t")]).await;
        let tasks: Vec<_> = (0..8)
            .map(|number: i64| {
                let leases = store.ledger().leases().clone();
                #[expect(clippy::disallowed_methods, reason = "concurrency is what is tested")]
                tokio::spawn(async move {
                    let mut got = 0;
                    for round in 0..40 {
                        let asks = [ask("/", 1 + (number + round) % 3, 0), ask("/t", 1, 0)];
                        let asks = if round % 2 == 0 { &asks[..] } else { &asks[..1] };
                        let taken = leases.take(&format!("j{number}"), asks, 4).await.unwrap();
                        let of = taken.iter().find(|taken| taken.key == window("/")).unwrap();
                        got += of.got.0;
                        if of.got.0 > 0 && round % 5 == 0 {
                            let gift = LeaseGift { key: window("/"), free: of.got };
                            leases.give(&format!("j{number}"), &[gift]).await.unwrap();
                            got -= of.got.0;
                        }
                    }
                    got
                })
            })
            .collect();
        let mut got = 0;
        for task in tasks {
            got += task.await.unwrap();
        }
        let granted: i64 = rows(&store, "/").await.iter().map(|(_, granted, _)| granted).sum();
        assert_eq!((got, granted, leased(&store, "/").await), (100, 100, 100));
    })
    .await;
}

#[tokio::test]
async fn a_base_is_set_once_and_only_if_it_has_not_changed() {
    on_postgres(|store| async move {
        let leases = store.ledger().leases();
        create(&store, "a", &[("/", "/")]).await;
        let change =
            |old: i64, new: i64| BaseChange { key: window("/"), old: Some(Nanos(old)), new: Nanos(new) };
        leases.set_bases(&[change(0, -20)]).await.unwrap();
        leases.set_bases(&[change(0, 70)]).await.unwrap();
        assert_eq!(leases.figures(NOW).await.unwrap()[0].base, Some(Nanos(-20)));
        assert!(leases.take("a", &[ask("/", 120, 120)], 1).await.unwrap()[0].is_granted);
        let interval = std::time::Duration::from_secs(10);
        assert!(leases.claim_reconciliation(interval).await.unwrap());
        assert!(!leases.claim_reconciliation(interval).await.unwrap());
        leases.prune(Timestamp::from_seconds(START + 3601)).await.unwrap();
        assert_eq!(rows(&store, "/").await, []);
    })
    .await;
}

#[tokio::test]
async fn a_reset_window_takes_the_receipts_after_it() {
    on_postgres(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        let reset = LeaseKey { budget: Arc::from("/"), opened: Timestamp::from_seconds(START - 30) };
        create(&store, journal.name(), &[("/", "/")]).await;
        let later = LeaseNeed { key: reset.clone(), ..need("/", "/", 0) };
        store.ledger().leases().ensure(journal.name(), &[later]).await.unwrap();
        close(&journal, "1", "/", 7);
        let early = Receipt { at: Timestamp::from_seconds(START - 40), ..call("2", "/", 9) };
        journal.close_call(&early, ShardId::SHARED).unwrap();
        Drainer::new(journal, store.clone()).drain_all().await;
        let all = store.ledger().leases().all(NOW).await.unwrap();
        let booked = |key: &LeaseKey| all.iter().find(|lease| lease.key == *key).unwrap().booked.0;
        assert_eq!((booked(&window("/")), booked(&reset)), (9, 7));
    })
    .await;
}
